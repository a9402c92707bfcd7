import Synchronization

/// What the sessions of a store hold in memory for their peers, together.
///
/// While that is too much, one session goes on: the one that holds the most, so that what it holds is applied and goes.
/// The others take nothing more from their peers, unless they hold less than an equal share.
final class PeerMemory: Sendable {
  private struct State {
    var held: [UInt64: Int] = [:]
    var total = 0
  }

  private let state = Mutex(State())

  /// Bytes of all sessions.
  var byteCount: Int { state.withLock { $0.total } }

  /// Takes note of what a session holds now.
  func note(_ bytes: Int, of session: UInt64) {
    state.withLock { state in
      state.total += bytes - (state.held.updateValue(bytes, forKey: session) ?? 0)
    }
  }

  func leave(_ session: UInt64) {
    state.withLock { state in
      if let bytes = state.held.removeValue(forKey: session) { state.total -= bytes }
    }
  }

  /// Whether a session may come to hold so many bytes more, where all of them are to hold at most `limit`.
  func mayTake(_ more: Int, _ session: UInt64, limit: Int) -> Bool {
    state.withLock { state in
      guard state.total + more > limit, let bytes = state.held[session] else { return true }
      if bytes + more <= limit / state.held.count { return true }
      return state.held.allSatisfy { $0.value < bytes || $0.value == bytes && $0.key >= session }
    }
  }
}
