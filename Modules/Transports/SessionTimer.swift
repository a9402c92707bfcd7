import NIOConcurrencyHelpers

/// The moments at which a session wants to be called, whatever happens.
final class SessionTimer: Sendable {
  private struct State {
    /// Whether a call is wanted at once.
    var isImmediate = false
    /// The moments to come, the next one last.
    var deadlines: [Duration] = []
    /// Set for the next moment.
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

  /// Asks for a call after `delay`, beside the calls asked for before.
  func wake(after delay: Duration) {
    guard delay > .zero else {
      state.withLockedValue { $0.isImmediate = true }
      return signal()
    }
    let deadline = clock.now + delay
    state.withLockedValue { state in
      let place = state.deadlines.lastIndex { $0 >= deadline }.map { $0 + 1 } ?? 0
      state.deadlines.insert(deadline, at: place)
      if place == state.deadlines.count - 1 { setAlarm(&state) }
    }
  }

  /// Whether a moment has come; asking forgets it.
  func takeDue() -> Bool {
    let now = clock.now
    return state.withLockedValue { state in
      var isDue = state.isImmediate
      state.isImmediate = false
      guard let next = state.deadlines.last, next <= now else { return isDue }
      isDue = true
      while let next = state.deadlines.last, next <= now { state.deadlines.removeLast() }
      setAlarm(&state)
      return isDue
    }
  }

  /// Forgets all moments.
  func cancel() {
    state.withLockedValue { state in
      state.deadlines = []
      setAlarm(&state)
    }
  }

  private func setAlarm(_ state: inout State) {
    // Cancelling runs no code of ours but the clock's, which takes no lock of this timer.
    state.alarm?.cancel()
    state.alarm = state.deadlines.last.map { deadline in
      Task { [clock, signal] in
        guard (try? await clock.sleep(until: deadline)) != nil else { return }
        signal()
      }
    }
  }
}
