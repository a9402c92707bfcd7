import Dispatch
import Synchronization

/// Calls handlers that have no queue of their own, one after another.
///
/// A thread that is on its way here anyway calls them itself, which saves waking another one for each change.
final class CallbackLane: Sendable {
  typealias Call = @Sendable () -> Void

  private struct State {
    var calls: [Call] = []
    /// Whether a thread is calling, or sent to.
    var isRunning = false
    /// Threads that will look here when they have done what they are at.
    var expected = 0
  }

  private let threads: DispatchQueue
  private let state = Mutex(State())

  /// Makes a lane; `threads` are taken where none is on its way here.
  init(threads: DispatchQueue) { self.threads = threads }

  /// Puts a call behind all earlier ones.
  func submit(_ call: @escaping Call) {
    let mustSend = state.withLock { state in
      state.calls.append(call)
      return Self.begins(&state, whileExpected: false)
    }
    if mustSend { threads.async { self.run() } }
  }

  /// Says that the calling thread will `leave` soon.
  func enter() { state.withLock { $0.expected += 1 } }

  /// Sends another thread to make the calls that wait, because the calling one stays away for longer.
  func spill() {
    if state.withLock({ Self.begins(&$0, whileExpected: true) }) { threads.async { self.run() } }
  }

  /// Makes the calls that wait, unless another thread is at it.
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
