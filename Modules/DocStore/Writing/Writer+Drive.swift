import CRDTCore
import Failpoints

/// Who executes writes to a store.
package enum StoreDrive: Hashable, Sendable {
  /// A thread of the store's own.
  case thread
  /// The user of the store, one thread at a time, in steps: for tests that control the order of events.
  case manual
}

/// How far the transactions that share a commit have come.
package enum CommitStage: Int, Comparable, CaseIterable, Sendable {
  /// Their bodies have run; a crash loses them.
  case executed
  /// They are durable, and neither listeners nor callers have been informed.
  case committed
  /// Listeners and callers have been informed.
  case announced

  package static func < (a: CommitStage, b: CommitStage) -> Bool { a.rawValue < b.rawValue }
}

extension Writer {
  /// Advances to `stage` the batch in progress, or otherwise a new batch of what waits.
  ///
  /// - Returns: `false` when nothing waits, the batch in progress has already reached the stage, or another
  ///   step is in progress.
  func step(upTo stage: CommitStage) -> Bool {
    guard !isStepping else { return false }
    isStepping = true
    let hasMoved = advance(to: stage)
    isStepping = false
    // A listener or a caller may have closed the store, and could not wait for that.
    if hasMoved, batch == nil, queue.withLock({ $0.isClosing }) { close(waits: true) }
    return hasMoved
  }

  /// Executes everything that waits.
  func drive() { while step(upTo: .announced) {} }

  private func advance(to stage: CommitStage) -> Bool {
    if let batch, batch.stage >= stage { return false }
    if batch == nil {
      guard let job = queue.withLock({ $0.take() }) else { return false }
      batch = execute(job)
      if let batch, StoreDefect.toldBeforeDurable.isPlanted {
        publish(to: batch.environment)
        announce(batch)
      }
    }
    if let batch, batch.stage == .executed, stage >= .committed {
      batch.stage = .committed
      if !commit(batch) { self.batch = nil }
    }
    if let batch, stage == .announced {
      if !StoreDefect.toldBeforeDurable.isPlanted { announce(batch) }
      self.batch = nil
    }
    if batch == nil { queue.withLock { $0.idle() } }
    return true
  }
}
