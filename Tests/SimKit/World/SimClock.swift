import Synchronization

/// The clocks of one peer: a wall clock that is off, drifts, jumps and stands, and one that only rises.
///
/// The store is handed closures that read them, so they are shared; the world's thread alone moves them.
final class SimClock: Sendable {
  private struct State {
    /// World time.
    var now: SimTime = 0
    var offset: Int64
    var frozenAt: UInt64?
  }

  private let state: Mutex<State>
  private let drift: Int64
  /// A day in 2026, in milliseconds since 1970.
  private static let start: Int64 = 1_782_000_000_000

  init(offset: Int64, drift: Int64) {
    state = Mutex(State(offset: offset))
    self.drift = drift
  }

  /// Wall time in milliseconds since 1970.
  var milliseconds: UInt64 {
    state.withLock { $0.frozenAt ?? wall($0) }
  }

  private func wall(_ state: State) -> UInt64 {
    let elapsed = state.now / 1_000 + state.now / 1_000 * drift / 1_000_000
    return UInt64(clamping: Self.start + state.offset + elapsed)
  }

  /// Time since the world began.
  var monotonic: Duration { state.withLock { .microseconds($0.now + $0.now * drift / 1_000_000) } }

  func set(_ now: SimTime) { state.withLock { $0.now = now } }

  func jump(by milliseconds: Int64) {
    state.withLock { state in
      state.offset += milliseconds
      state.frozenAt = nil
    }
  }

  func freeze() { state.withLock { state in state.frozenAt = wall(state) } }

  func thaw() { state.withLock { $0.frozenAt = nil } }
}
