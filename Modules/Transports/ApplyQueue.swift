import NIOConcurrencyHelpers
import SyncProtocol

/// The batches that a session wants applied, in order.
///
/// The session bounds what it asks for at a time, and refuses a peer that sends more than it was granted.
final class ApplyQueue: Sendable {
  private let arrival = Latch()
  private let batches = NIOLockedValueBox<[ApplyBatch]>([])

  /// Puts a batch behind all earlier ones.
  func append(_ batch: ApplyBatch) {
    batches.withLockedValue { $0.append(batch) }
    arrival.signal()
  }

  /// Waits for batches and takes all that are there; empty only when the task is cancelled.
  func next() async -> [ApplyBatch] {
    while true {
      let taken = batches.withLockedValue { batches in
        let taken = batches
        batches = []
        return taken
      }
      if !taken.isEmpty || Task.isCancelled { return taken }
      await arrival.wait()
    }
  }
}
