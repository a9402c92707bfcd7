import Links
import NIOConcurrencyHelpers

/// The times at which a session wants to be called, independent of other input.
final class SessionTimer: Sendable {
  private struct State {
    /// The coming times, the next one last.
    var deadlines: [Duration] = []
    /// The alarm for the next time.
    var alarm: Task<Void, Never>?
    var signal: @Sendable () -> Void = {}
  }

  private let clock: TransportClock
  private let state = NIOLockedValueBox(State())

  init(clock: TransportClock) { self.clock = clock }

  /// Sets the function that is called when a time has come.
  func onDue(_ signal: @escaping @Sendable () -> Void) { state.withLockedValue { $0.signal = signal } }

  /// Requests a call after `delay`, above zero, in addition to earlier requests.
  func wake(after delay: Duration) {
    let deadline = clock.now + delay
    state.withLockedValue { state in
      let place = state.deadlines.lastIndex { $0 >= deadline }.map { $0 + 1 } ?? 0
      state.deadlines.insert(deadline, at: place)
      if place == state.deadlines.count - 1 { setAlarm(&state) }
    }
  }

  /// Whether a time has come; a call removes it.
  func takeDue() -> Bool {
    let now = clock.now
    return state.withLockedValue { state in
      guard let next = state.deadlines.last, next <= now else { return false }
      while let next = state.deadlines.last, next <= now { state.deadlines.removeLast() }
      setAlarm(&state)
      return true
    }
  }

  /// Removes all times.
  func cancel() {
    state.withLockedValue { state in
      state.deadlines = []
      setAlarm(&state)
    }
  }

  private func setAlarm(_ state: inout State) {
    // Cancelling runs no other code than the clock's, which takes no lock of this timer.
    state.alarm?.cancel()
    state.alarm = state.deadlines.last.map { deadline in
      Task { [clock, signal = state.signal] in
        guard (try? await clock.sleep(until: deadline)) != nil else { return }
        signal()
      }
    }
  }
}
