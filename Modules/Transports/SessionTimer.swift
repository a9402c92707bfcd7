import NIOConcurrencyHelpers

/// The next moments at which a session wants to be called, whatever happens.
final class SessionTimer: Sendable {
  private struct State {
    /// Whether a call is wanted at once, beside the one at the deadline.
    var isImmediate = false
    var deadline: Duration?
    var alarm: Task<Void, Never>?
  }

  private let clock: TransportClock
  private let signal: @Sendable () -> Void
  private let state = NIOLockedValueBox(State())

  /// Makes a timer that calls `signal` when a moment has come.
  init(clock: TransportClock, signal: @escaping @Sendable () -> Void) {
    self.clock = clock
    self.signal = signal
  }

  /// Asks for a call after `delay`; of two later moments the earlier one counts.
  func wake(after delay: Duration) {
    guard delay > .zero else {
      state.withLockedValue { $0.isImmediate = true }
      return signal()
    }
    let deadline = clock.now + delay
    let replaced = state.withLockedValue { state -> Task<Void, Never>? in
      if let next = state.deadline, next <= deadline { return nil }
      let replaced = state.alarm
      state.deadline = deadline
      state.alarm = Task { [clock, signal] in
        guard (try? await clock.sleep(until: deadline)) != nil else { return }
        signal()
      }
      return replaced
    }
    replaced?.cancel()
  }

  /// Whether a moment has come; asking forgets it.
  func takeDue() -> Bool {
    let now = clock.now
    return state.withLockedValue { state in
      var isDue = state.isImmediate
      state.isImmediate = false
      if let deadline = state.deadline, deadline <= now {
        state.deadline = nil
        state.alarm = nil
        isDue = true
      }
      return isDue
    }
  }

  /// Forgets all moments.
  func cancel() {
    let alarm = state.withLockedValue { state in
      let alarm = state.alarm
      state = State()
      return alarm
    }
    alarm?.cancel()
  }
}
