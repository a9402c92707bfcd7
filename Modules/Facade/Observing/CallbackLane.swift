import Dispatch
import Synchronization

/// Calls handlers that have no queue of their own, one after another.
///
/// A thread that will enter the lane anyway makes the calls itself, which saves waking another thread for
/// each change.
final class CallbackLane: Sendable {
  typealias Call = @Sendable () -> Void

  private struct State {
    var calls: [Call] = []
    /// Whether a thread makes calls, or was sent to make them.
    var isRunning = false
    /// The number of threads that will check for calls after their present work.
    var expected = 0
  }

  private let threads: DispatchQueue
  private let state = Mutex(State())

  /// Makes a lane; `threads` runs the calls if no thread is expected.
  init(threads: DispatchQueue) { self.threads = threads }

  /// Appends a call after all earlier ones.
  func submit(_ call: @escaping Call) {
    let mustSend = state.withLock { state in
      state.calls.append(call)
      return Self.begins(&state, whileExpected: false)
    }
    if mustSend { threads.async { self.run() } }
  }

  /// Announces that the calling thread will call `leave` soon.
  func enter() { state.withLock { $0.expected += 1 } }

  /// Lets another thread make the queued calls, because the calling thread is busy for longer.
  func spill() {
    if state.withLock({ Self.begins(&$0, whileExpected: true) }) { threads.async { self.run() } }
  }

  /// Makes the queued calls, unless another thread makes them already.
  func leave() {
    let mustRun = state.withLock { state in
      state.expected -= 1
      return Self.begins(&state, whileExpected: true)
    }
    if mustRun { run() }
  }

  private static func begins(_ state: inout State, whileExpected: Bool) -> Bool {
    guard !state.isRunning, !state.calls.isEmpty, whileExpected || state.expected == 0 else { return false }
    state.isRunning = true
    return true
  }

  private func run() {
    while let calls = take() {
      for call in calls { call() }
    }
  }

  private func take() -> [Call]? {
    state.withLock { state in
      guard !state.calls.isEmpty else {
        state.isRunning = false
        return nil
      }
      defer { state.calls = [] }
      return state.calls
    }
  }
}
