import CRDTCore
import Synchronization

/// Who asks for what is announced: of several sessions that could bring a change, one does.
///
/// A session that is told of a change waits while another may bring it, or has asked for it; at its deadline it asks
/// itself. What a sender has yet to send unasked counts as asked for. The scheduler knows hashes and times, no documents. All
/// calls come back at once, and call nothing.
///
/// Source: Leitão, Pereira and Rodrigues, "Epidemic Broadcast Trees", 2007, begun with lazy links.
final class PullScheduler: Sendable {
  /// What a session is to do about a change that is not here.
  enum Decision: Equatable {
    case want
    /// Look again after this long, or, where it waits for one that has asked, when nudged.
    case wait(Duration, isBehind: Bool)
  }

  /// A change of a document, by the latest write in it.
  struct Change: Hashable {
    /// Names it, at whatever session it is announced.
    let name: UInt64
    /// Who made that write; `nil` for default data.
    let writer: SiteID?
    let reading: ClockReading
  }

  /// What a sender has yet to send without being asked: what it wrote after one reading, through another.
  struct Promise: Hashable {
    let site: SiteID
    let after: ClockReading
    let through: ClockReading

    func covers(_ change: Change) -> Bool {
      change.writer == site && change.reading > after && change.reading <= through
    }
  }

  /// How long changes are waited for, whatever the round trips.
  static let holds: ClosedRange<Duration> = .milliseconds(20) ... .seconds(1)
  /// How long changes are waited for while others have some that are not applied yet.
  static let patience = Duration.seconds(5)

  fileprivate struct Member {
    /// `nil` while it is not known.
    var roundTrip: Duration?
    var progressedAt: Duration
    /// Whether groups have come in that are not applied.
    var isApplying = false
    var pending = 0

    /// Long enough for it to have brought what it has on its way.
    var hold: Duration {
      min(
        max((roundTrip ?? .milliseconds(50)) * 2, PullScheduler.holds.lowerBound),
        PullScheduler.holds.upperBound)
    }
  }

  fileprivate struct State {
    var members: [UInt64: Member] = [:]
    /// Which session has asked for a change, by its name.
    var wanted: [UInt64: UInt64] = [:]
    /// What sessions are to be sent unasked.
    var promises: [UInt64: Promise] = [:]
    var pending = 0
  }

  private let state = Mutex(State())

  func join(_ session: UInt64, now: Duration) {
    state.withLock { $0.members[session] = Member(progressedAt: now) }
  }

  /// Whether a change may come by another session.
  func hasOthers(than session: UInt64) -> Bool {
    state.withLock { $0.members.count > ($0.members[session] == nil ? 0 : 1) }
  }

  /// Takes note of what a session has of its peer, and is yet to be sent unasked.
  func note(
    _ session: UInt64, roundTrip: Duration?, progressedAt: Duration, isApplying: Bool, promise: Promise?
  ) {
    state.withLock { state in
      guard var member = state.members[session] else { return }
      member.roundTrip = roundTrip
      // Until something comes it is waited for from when the session began.
      member.progressedAt = max(member.progressedAt, progressedAt)
      member.isApplying = isApplying
      state.members[session] = member
      state.promises[session] = promise
    }
  }

  /// Forgets a session.
  ///
  /// - Returns: Those that wait for changes, some of which it may have asked for.
  func leave(_ session: UInt64) -> [UInt64] {
    state.withLock { state in
      guard let member = state.members.removeValue(forKey: session) else { return [] }
      state.pending -= member.pending
      state.wanted = state.wanted.filter { $0.value != session }
      state.promises[session] = nil
      return state.members.filter { $0.value.pending > 0 }.keys.sorted()
    }
  }

  /// Makes room for changes to wait for; `false` when there is none.
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

  /// Gives room back, and what the session had asked for.
  func dismiss(_ changes: [Change], of session: UInt64) {
    state.withLock { state in
      for change in changes where state.wanted[change.name] == session { state.wanted[change.name] = nil }
      guard state.members[session] != nil else { return }
      state.pending -= changes.count
      state.members[session]?.pending -= changes.count
    }
  }

  /// Decides about changes that are not here, of which a session was told.
  ///
  /// The session has `waited` for so long already; `nil` for news. There is at least one.
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
  /// How long to wait for those that have asked for all of the changes, or are sent them unasked; `nil` when one comes to
  /// none, or its session brings nothing.
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
