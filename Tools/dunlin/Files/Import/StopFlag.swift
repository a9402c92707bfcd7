import Foundation
import Synchronization

/// Asks work to stop, and lets the asker wait until it has.
final class StopFlag: Sendable {
  private let requested = Atomic(false)
  private let isDone = DispatchSemaphore(value: 0)

  var isRequested: Bool { requested.load(ordering: .sequentiallyConsistent) }

  func request() { requested.store(true, ordering: .sequentiallyConsistent) }

  /// The work has stopped, or ended.
  func finish() { isDone.signal() }

  /// Waits until it has.
  func wait(_ most: DispatchTimeInterval) { _ = isDone.wait(timeout: .now() + most) }
}
