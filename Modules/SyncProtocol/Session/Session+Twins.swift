import CRDTCore
import DocStore

/// Stores that write under one site id, which happens when a whole disk is copied or put back.
///
/// Twins that meet, and whoever is told of later writes of its own site than it knows of, or is sent such a write, end the
/// session with `cloned`: the driver gives the store a new site, and dials again.
extension Session {
  /// Asks a peer that has this store's site who it is: another process, or this one, which has dialed itself.
  func doubtSite() {
    state = .doubtingSite(deadline: context.now + context.configuration.helloDeadline)
    let incarnation = context.store.incarnation
    context.send(.run) { $0.writeFixed(incarnation) }
  }

  /// Takes the peer's answer to that.
  func settleSite(_ incarnation: UInt64) throws(SyncError) {
    guard incarnation != context.store.incarnation else {
      throw SyncError(.siteClash, "This peer has dialed itself")
    }
    Probe.reached(.twinMet)
    throw SyncError(
      .cloned, "Both peers write as site \(context.store.site): one store is a copy of the other")
  }

  /// Tells a peer of writes of its site that are later than all it knows of.
  func tellLaterWrites(than hello: Hello) throws(SyncError) {
    guard let claimed = hello.highest else { return }
    let met = try context.read { try $0.highestReading(of: hello.site) }
    guard let met, met.isLater(than: claimed) else { return }
    context.send(.seen) { $0.writeFixed(met.rawValue) }
  }

  /// Compares what a peer has met of this site with what this store has written.
  ///
  /// It may have written that after it said hello, and the peer have it from others; but no reading that its clock had
  /// passed by then, unless a transaction was under way, and none that is above all that it gave out.
  func compareOwn(with met: ClockReading) throws(SyncError) {
    guard let ownClaim, met.isLater(than: ownClaim.highest), !Probe.defect(.siteNotRenewed) else { return }
    let wasPassed =
      !ownClaim.isWriting && met.milliseconds < ownClaim.clock
      && ownClaim.isSteady(wall: context.store.wallMilliseconds, now: context.now)
    guard wasPassed || met.isLater(than: context.store.latestIssuedReading) else { return }
    throw context.laterSelfMet
  }
}

extension SessionContext {
  /// Ends a session whose store has not made all that its site has written.
  var laterSelfMet: SyncError {
    Probe.reached(.laterSelfMet)
    return SyncError(
      .cloned, "The peer has met later writes of site \(store.site): the store was put back or copied")
  }
}

/// What a store said of its own writes in its hello, and where its clock stood.
struct OwnClaim {
  let highest: ClockReading
  /// The wall clock, in milliseconds since 1970, and the time that only runs forward.
  let clock: UInt64
  let at: Duration
  /// Whether a transaction was under way, which had its reading from the clock and was not on record.
  let isWriting: Bool

  /// The clock is read before it is seen whether a transaction runs, and what is on record last: so one that began
  /// before is either seen or on record.
  init(of context: SessionContext) throws(SyncError) {
    clock = context.store.wallMilliseconds
    at = context.now
    isWriting = context.store.isWriting
    highest = try context.read { try $0.highestReading() }
  }

  /// Whether the wall clock has gone on since without a jump, as far as can be told.
  func isSteady(wall: UInt64, now: Duration) -> Bool {
    let elapsed = Int64((now - at) / .milliseconds(1))
    return abs(Int64(wall) - Int64(clock) - elapsed) <= 2 + elapsed / 500
  }
}

extension ClockReading {
  /// Whether it is of a later millisecond: two writes of one transaction on one document are within the same.
  fileprivate func isLater(than other: ClockReading) -> Bool { milliseconds > other.milliseconds }
}
