import Synchronization

/// What the sessions of a store hold in memory for their peers, together.
final class PeerMemory: Sendable {
  /// Bytes of each session, and of all.
  private struct Ledger {
    private(set) var held: [UInt64: Int] = [:]
    private(set) var total = 0

    mutating func note(_ bytes: Int, of session: UInt64) {
      total += bytes - (held.updateValue(bytes, forKey: session) ?? 0)
    }

    mutating func leave(_ session: UInt64) {
      if let bytes = held.removeValue(forKey: session) { total -= bytes }
    }

    /// Whether a session that holds so many bytes more has no more than an equal share of the limit.
    func isWithinShare(_ session: UInt64, _ more: Int, limit: Int) -> Bool {
      held[session, default: 0] + more <= limit / max(held.count, 1)
    }

    func room(of session: UInt64, own: Int, limit: Int) -> Int {
      let bytes = held[session, default: 0]
      return max(min(own - bytes, max(limit - total, limit / max(held.count, 1) - bytes)), 0)
    }
  }

  private struct State {
    var arrived = Ledger()
    var asked = Ledger()
    var answers = Ledger()
  }

  private let state = Mutex(State())

  func leave(_ session: UInt64) {
    state.withLock { state in
      state.arrived.leave(session)
      state.asked.leave(session)
      state.answers.leave(session)
    }
  }

  // MARK: - What peers have sent

  /// Bytes of what came to all sessions and is not applied.
  var arrivedBytes: Int { state.withLock { $0.arrived.total } }

  func noteArrived(_ bytes: Int, of session: UInt64) {
    state.withLock { $0.arrived.note(bytes, of: session) }
  }

  /// Whether a session may come to hold so many bytes more, where all of them are to hold at most `limit`.
  ///
  /// While that is too much, one goes on: the one that holds the most, so that what it holds is applied and goes. The others
  /// take nothing more from their peers, unless they hold less than an equal share.
  func mayTake(_ more: Int, _ session: UInt64, limit: Int) -> Bool {
    state.withLock { state in
      guard state.arrived.total + more > limit, let bytes = state.arrived.held[session] else { return true }
      return state.arrived.isWithinShare(session, more, limit: limit)
        || state.arrived.held.allSatisfy { $0.value < bytes || $0.value == bytes && $0.key >= session }
    }
  }

  // MARK: - What peers ask for

  /// Bytes of what the peers of all sessions subscribe to, ask and want.
  var askedBytes: Int { state.withLock { $0.asked.total } }

  /// Takes note of what the peer of a session asks for.
  ///
  /// - Returns: Whether that may stay: it is less than an equal share, or all of them hold at most `limit`.
  func noteAsked(_ bytes: Int, of session: UInt64, limit: Int) -> Bool {
    state.withLock { state in
      state.asked.note(bytes, of: session)
      return state.asked.total <= limit || state.asked.isWithinShare(session, 0, limit: limit)
    }
  }

  /// Bytes that a session may come to hold beside what its peer asks for: it holds at most `own` then, and no more than an
  /// equal share, or all sessions at most `limit`.
  func askedRoom(of session: UInt64, own: Int, limit: Int) -> Int {
    state.withLock { $0.asked.room(of: session, own: own, limit: limit) }
  }

  // MARK: - Answers to their statements

  /// Bytes of answers that the peers of all sessions have not taken.
  var answerBytes: Int { state.withLock { $0.answers.total } }

  /// Whether a session may hold so many bytes of answers that its peer has not taken: all may hold
  /// ``SyncLimits/unreadAnswerBytes``, and each an equal share of these in any case.
  func mayAnswer(_ bytes: Int, _ session: UInt64) -> Bool {
    state.withLock { state in
      let before = state.answers.held[session, default: 0]
      guard
        state.answers.total + bytes - before <= SyncLimits.unreadAnswerBytes
          || state.answers.isWithinShare(session, bytes - before, limit: SyncLimits.unreadAnswerBytes)
      else { return false }
      state.answers.note(bytes, of: session)
      return true
    }
  }

  func noteAnswers(_ bytes: Int, of session: UInt64) {
    state.withLock { $0.answers.note(bytes, of: session) }
  }
}
