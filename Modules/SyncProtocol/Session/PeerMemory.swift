import Synchronization

/// The memory that the sessions of a store hold for their peers, in total and per session.
final class PeerMemory: Sendable {
  /// Bytes held by each session, and their sum.
  private struct Ledger {
    private(set) var held: [UInt64: Int] = [:]
    private(set) var total = 0

    mutating func note(_ bytes: Int, of session: UInt64) {
      total += bytes - (held.updateValue(bytes, forKey: session) ?? 0)
    }

    mutating func leave(_ session: UInt64) {
      if let bytes = held.removeValue(forKey: session) { total -= bytes }
    }

    /// Returns whether a session stays within an equal share of the limit after adding `more` bytes.
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

  // MARK: - Received data

  /// Bytes that all sessions have received and not applied.
  var arrivedBytes: Int { state.withLock { $0.arrived.total } }

  /// Bytes that all sessions but one have received and not applied.
  func arrivedBytes(besides session: UInt64) -> Int {
    state.withLock { $0.arrived.total - $0.arrived.held[session, default: 0] }
  }

  func noteArrived(_ bytes: Int, of session: UInt64) {
    state.withLock { $0.arrived.note(bytes, of: session) }
  }

  /// Returns whether a session may receive `more` bytes, when all sessions together may hold `limit`.
  ///
  /// Above the limit, the session that holds the most goes on, so that its data is applied and freed. The
  /// others stop reading, unless they hold less than an equal share of half the limit. So all sessions hold
  /// at most half as much again, and one transaction.
  func mayReceive(_ more: Int, _ session: UInt64, limit: Int) -> Bool {
    state.withLock { state in
      guard state.arrived.total + more > limit, let bytes = state.arrived.held[session] else { return true }
      return state.arrived.isWithinShare(session, more, limit: limit / 2)
        || state.arrived.held.allSatisfy { $0.value < bytes || $0.value == bytes && $0.key >= session }
    }
  }

  // MARK: - Requests of peers

  /// Bytes of the subscriptions, statements and requests of all peers.
  var askedBytes: Int { state.withLock { $0.asked.total } }

  /// Records the bytes of what a session's peer asks for.
  ///
  /// - Returns: Whether the session may keep them. It may if it is within an equal share, or if all sessions
  ///   together are within `limit`.
  func noteAsked(_ bytes: Int, of session: UInt64, limit: Int) -> Bool {
    state.withLock { state in
      state.asked.note(bytes, of: session)
      return state.asked.total <= limit || state.asked.isWithinShare(session, 0, limit: limit)
    }
  }

  /// Returns the number of bytes that a session may still hold besides its peer's requests.
  ///
  /// The session stays within `own` bytes. It also stays within an equal share, or all sessions together stay
  /// within `limit`.
  func askedRoom(of session: UInt64, own: Int, limit: Int) -> Int {
    state.withLock { $0.asked.room(of: session, own: own, limit: limit) }
  }

  // MARK: - Answers to statements of peers

  /// Bytes of answers that peers have not read yet.
  var answerBytes: Int { state.withLock { $0.answers.total } }

  /// Reserves memory for answers that the peer has not read yet, if the limits allow it.
  ///
  /// All sessions together may hold ``SyncLimits/unreadAnswerBytes``; each may always hold an equal share.
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
