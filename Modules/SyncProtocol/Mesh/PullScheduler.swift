import CRDTCore
import Synchronization

/// Decides which session requests an announced change, when several sessions could deliver it.
///
/// A session with an announcement waits while another session may deliver the change or has requested it. At
/// its deadline it sends a request itself. A change that a sender has yet to push eagerly counts as
/// requested. The scheduler knows only hashes and times. Its calls never block, and call no other type.
///
/// Source: Leitão, Pereira and Rodrigues, "Epidemic Broadcast Trees", 2007; all links start as lazy.
final class PullScheduler: Sendable {
  /// What a session does about a missing change.
  enum Decision: Equatable {
    case want
    /// Check again after this long, or at a wake-up if it waits for a session that has sent a request.
    case wait(Duration, isBehind: Bool)
  }

  /// A change of a document, identified by its latest write.
  struct Change: Hashable {
    /// The name of the change, the same in all sessions that announce it.
    let name: UInt64
    /// The site of that write; `nil` for default data.
    let writer: SiteID?
    let reading: ClockReading
  }

  /// The unsolicited batch that a sender still owes: its own writes after one HLC timestamp, through another.
  struct Promise: Hashable {
    let site: SiteID
    let after: ClockReading
    let through: ClockReading

    func covers(_ change: Change) -> Bool {
      change.writer == site && change.reading > after && change.reading <= through
    }
  }

  /// The bounds of how long a session waits for others, whatever the round trips.
  static let holds: ClosedRange<Duration> = .milliseconds(20) ... .seconds(1)
  /// How long a session waits while others have received transactions that are not applied.
  static let patience = Duration.seconds(5)

  fileprivate struct Member {
    /// `nil` until it is measured.
    var roundTrip: Duration?
    var progressedAt: Duration
    /// Whether received transactions wait to be applied.
    var isApplying = false
    var pending = 0

    /// How long others wait for this session: long enough for data in flight to arrive.
    var hold: Duration {
      min(
        max((roundTrip ?? .milliseconds(50)) * 2, PullScheduler.holds.lowerBound),
        PullScheduler.holds.upperBound)
    }
  }

  fileprivate struct State {
    var members: [UInt64: Member] = [:]
    /// The session that has requested each change, by the change's name.
    var wanted: [UInt64: UInt64] = [:]
    /// The unsolicited batches that sessions are yet to receive.
    var promises: [UInt64: Promise] = [:]
    var pending = 0
  }

  private let state = Mutex(State())

  func join(_ session: UInt64, now: Duration) {
    state.withLock { $0.members[session] = Member(progressedAt: now) }
  }

  /// Returns whether another session may deliver a change.
  func hasOthers(than session: UInt64) -> Bool {
    state.withLock { $0.members.count > ($0.members[session] == nil ? 0 : 1) }
  }

  /// Records the progress of a session, and the unsolicited batch that it is yet to receive.
  func note(
    _ session: UInt64, roundTrip: Duration?, progressedAt: Duration, isApplying: Bool, promise: Promise?
  ) {
    state.withLock { state in
      guard var member = state.members[session] else { return }
      member.roundTrip = roundTrip
      // Before any progress, the wait counts from the start of the session.
      member.progressedAt = max(member.progressedAt, progressedAt)
      member.isApplying = isApplying
      state.members[session] = member
      state.promises[session] = promise
    }
  }

  /// Removes a session.
  ///
  /// - Returns: The sessions that wait for changes; the removed session may have requested some of them.
  func leave(_ session: UInt64) -> [UInt64] {
    state.withLock { state in
      guard let member = state.members.removeValue(forKey: session) else { return [] }
      state.pending -= member.pending
      state.wanted = state.wanted.filter { $0.value != session }
      state.promises[session] = nil
      return state.members.filter { $0.value.pending > 0 }.keys.sorted()
    }
  }

  /// Reserves room for changes to wait for; returns `false` if there is none.
  func admit(_ count: Int, of session: UInt64) -> Bool {
    state.withLock { state in
      guard state.pending + count <= SyncLimits.awaitedChanges, state.members[session] != nil else {
        return false
      }
      state.pending += count
      state.members[session]?.pending += count
      return true
    }
  }

  /// Releases the room of changes, and the session's requests for them.
  func dismiss(_ changes: [Change], of session: UInt64) {
    state.withLock { state in
      for change in changes where state.wanted[change.name] == session { state.wanted[change.name] = nil }
      guard state.members[session] != nil else { return }
      state.pending -= changes.count
      state.members[session]?.pending -= changes.count
    }
  }

  /// Decides about missing changes that were announced to a session.
  ///
  /// `changes` is not empty. `waited` is how long the session has waited; `nil` for a new announcement.
  func decide(_ changes: [Change], for session: UInt64, waited: Duration?, now: Duration) -> Decision {
    state.withLock { state in
      if let hold = state.holdBehindOthers(changes, session, now) { return .wait(hold, isBehind: true) }
      let others = state.members.filter { $0.key != session }.values
      let mayCome =
        if let waited { waited < Self.patience && others.contains(where: \.isApplying) } else { true }
      if mayCome, let hold = others.map(\.hold).max() { return .wait(hold, isBehind: false) }
      for change in changes { state.wanted[change.name] = session }
      return .want
    }
  }
}

extension PullScheduler.State {
  /// Returns how long to wait for the sessions that have requested all of the changes or get them pushed.
  ///
  /// Returns `nil` if no session does so for one of the changes, or if that session makes no progress.
  fileprivate func holdBehindOthers(
    _ changes: [PullScheduler.Change], _ session: UInt64, _ now: Duration
  ) -> Duration? {
    var hold = Duration.zero
    for change in changes {
      let promised = promises.isEmpty ? nil : promises.first { $0.value.covers(change) }?.key
      guard let owner = wanted[change.name] ?? promised, owner != session, let member = members[owner],
        now - member.progressedAt < max(PullScheduler.holds.upperBound, member.hold) || member.isApplying
      else { return nil }
      hold = max(hold, member.hold)
    }
    return hold
  }
}
