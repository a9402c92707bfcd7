import CRDTCore
import DocStore

/// Stores that write under one site id, which happens when a whole disk is copied or put back.
///
/// Twins that meet, and whoever is told of later writes of its own site than it knows of, or is sent such a write, end the
/// session with `cloned`: the driver gives the store a new site, and dials again.
extension Session {
  /// Asks a peer that has this store's site who it is: another process, or this one, which has dialed itself.
  func doubtSite() throws(SyncError) {
    if !hasSaidHello { try sendHello() }
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
    guard let told = hello.highest else { return }
    let met = try context.read { try $0.highestReading(of: hello.site) }
    guard let met, met.isLater(than: told) else { return }
    context.send(.seen) { $0.writeFixed(met.rawValue) }
  }

  /// Compares what a peer has met of this site with what this store has written, since its hello too.
  func compareOwn(with met: ClockReading) throws(SyncError) {
    guard !context.store.mayHaveIssued(met), !Probe.defect(.siteNotRenewed) else { return }
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

extension ClockReading {
  /// Whether it is of a later millisecond: two writes of one transaction on one document are within the same.
  fileprivate func isLater(than other: ClockReading) -> Bool { milliseconds > other.milliseconds }
}
