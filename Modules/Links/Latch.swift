import NIOConcurrencyHelpers

/// Wakes one waiting task; signals that arrive while it works are merged into one.
package final class Latch: Sendable {
  private struct State {
    var signalled = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = NIOLockedValueBox(State())

  /// Starts without a signal.
  package init() {}

  /// Wakes the waiting task, or else the next one that waits; callable from any thread.
  package func signal() {
    let waiter = state.withLockedValue { state in
      let waiter = state.waiter
      state.waiter = nil
      if waiter == nil { state.signalled = true }
      return waiter
    }
    waiter?.resume()
  }

  /// Waits for a signal since the last wait, or for the task's cancellation.
  package func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let waits = state.withLockedValue { state in
          guard !state.signalled, !Task.isCancelled else {
            state.signalled = false
            return false
          }
          state.waiter = continuation
          return true
        }
        if !waits { continuation.resume() }
      }
    } onCancel: {
      signal()
    }
  }
}
