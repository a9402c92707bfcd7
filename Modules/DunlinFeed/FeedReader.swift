public import DocStore
import Synchronization

/// Reads the changes of one database, in the order of its log and at least once.
///
/// Only one task at a time may use it. It ends when it is released.
public final class FeedReader: Sendable {
  private enum Mode {
    /// Starts after a position that has not been checked yet.
    case starting(FeedPosition)
    case log(FeedLogReader)
    /// Receives commits from memory, after this one.
    case live(FeedLogReader.Progress)
  }

  private struct State {
    var mode: Mode
    var matcher: FeedMatcher
    var commit: FeedCommit?
  }

  /// The queries that select the documents.
  public let filter: FeedFilter
  private let hub: FeedHub
  private let id: UInt64
  private let state: Mutex<State>

  /// Starts after a position, or with the next commit.
  ///
  /// - Throws: `closed`, `limit`.
  init(_ filter: FeedFilter, after position: FeedPosition?, _ hub: FeedHub) throws {
    self.filter = filter
    self.hub = hub
    id = try hub.add(filter)
    let mode: Mode
    do {
      mode = try position.map { .starting($0) } ?? .live(hub.store.read { FeedLogReader.Progress($0) })
    } catch {
      hub.remove(id)
      throw error
    }
    state = Mutex(State(mode: mode, matcher: FeedMatcher(filter)))
  }

  deinit { hub.remove(id) }

  /// Ends the reader; a task that waits for changes or asks for more gets `nil`.
  public func end() { hub.remove(id) }

  /// Waits for the next changes.
  ///
  /// - Parameter limit: The longest wait; after it the batch is empty, and has the position to continue from.
  /// - Returns: `nil` when the database is closed.
  /// - Throws: `CancellationError`; what reading the store throws.
  public func next(waiting limit: Duration? = nil) async throws -> FeedBatch? {
    let deadline = limit.map { ContinuousClock.now + $0 }
    while true {
      try Task.checkCancellation()
      switch try step() {
      case .batch(let batch): return batch
      case .again: continue
      case .closed: return nil
      case .wait:
        if let deadline, deadline <= .now { return FeedBatch(position: position) }
        await hub.wait(for: id, until: deadline)
      }
    }
  }

  /// The position for a reader that starts now and has everything that this one has returned.
  public var position: FeedPosition {
    let epoch = hub.store.epoch
    return state.withLock { state in
      switch state.mode {
      case .starting(let position): position
      case .log(let reader): reader.progress.position(epoch)
      case .live(let progress): progress.position(epoch)
      }
    }
  }

  private enum Step {
    case batch(FeedBatch), again, wait, closed
  }

  private func step() throws -> Step {
    guard hub.isOpen(id) else { return .closed }
    let epoch = hub.store.epoch
    return try state.withLock { state in
      switch state.mode {
      case .starting(let position): return try start(position, epoch, &state)
      case .log(let reader): return try read(reader, &state)
      case .live(let progress): return try goOn(progress, epoch, &state)
      }
    }
  }

  private func start(_ position: FeedPosition, _ epoch: UInt64, _ state: inout State) throws -> Step {
    let progress = FeedLogReader.Progress(sequence: position.sequence, check: position.check)
    var reader = FeedLogReader(progress, epoch: epoch)
    let gap = try hub.store.read { transaction in
      try FeedLogReader.gap(position, epoch: epoch, transaction).map { gap in
        reader.requery(gap, transaction).batch
      }
    }
    guard let gap else {
      state.mode = .log(reader)
      return .again
    }
    state.mode = .live(reader.progress)
    return .batch(gap)
  }

  private func read(_ reader: FeedLogReader, _ state: inout State) throws -> Step {
    var reader = reader
    let outcome = try hub.store.read { try reader.read(&state.matcher, $0) }
    switch outcome {
    case .more(let batch):
      state.mode = .log(reader)
      return batch.items.isEmpty ? .again : .batch(batch)
    case .end(let batch):
      state.mode = .live(reader.progress)
      return batch.items.isEmpty ? .again : .batch(batch)
    }
  }

  private func goOn(
    _ progress: FeedLogReader.Progress, _ epoch: UInt64, _ state: inout State
  ) throws -> Step {
    if var commit = state.commit {
      let position = FeedPosition(epoch: epoch, sequence: commit.sequence, check: commit.check)
      let batch = try commit.read(&state.matcher, before: progress.position(epoch), position: position)
      state.commit = commit
      if let batch, batch.position != position { return batch.items.isEmpty ? .again : .batch(batch) }
      state.commit = nil
      state.mode = .live(FeedLogReader.Progress(sequence: commit.sequence, check: commit.check))
      return batch.map { $0.items.isEmpty ? .again : .batch($0) } ?? .again
    }
    switch hub.next(for: id) {
    case .closed: return .closed
    case .behind:
      state.mode = .log(FeedLogReader(progress, epoch: epoch))
      return .again
    case .commit(let commit):
      // Otherwise the log reader has already returned this commit.
      if commit.sequence > progress.sequence { state.commit = FeedCommit(commit) }
      return .again
    case .nothing(let last):
      if let last, last.sequence > progress.sequence {
        state.mode = .live(FeedLogReader.Progress(sequence: last.sequence, check: last.check))
      }
      return .wait
    }
  }
}

extension FeedLogReader.Progress {
  /// The position of a snapshot.
  init(_ transaction: borrowing ReadTransaction) {
    self.init(sequence: transaction.sequence, check: UInt32(truncatingIfNeeded: transaction.commitID))
  }

  func position(_ epoch: UInt64) -> FeedPosition {
    FeedPosition(epoch: epoch, sequence: sequence, check: check)
  }
}

extension FeedPosition {
  /// The position of the last commit of a store.
  public static func now(_ store: Store) throws -> FeedPosition {
    let epoch = store.epoch
    return try store.read { FeedLogReader.Progress($0).position(epoch) }
  }

  /// The position before the first commit of a store.
  public static func beginning(of store: Store) -> FeedPosition {
    FeedPosition(epoch: store.epoch, sequence: 0, check: 0)
  }
}
