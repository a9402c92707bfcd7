import CRDTCore
import DocStore
import Failpoints

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
    SyncPoint.twinMet.reached()
    throw SyncError(
      .cloned, "Both peers write as site \(context.store.site): one store is a copy of the other")
  }

  /// Tells a peer of writes of its site that are later than all it knows of, and how far its log was followed here, unless
  /// the log is gone on with.
  func tellLaterWrites(than hello: Hello) throws(SyncError) {
    let isResumed = puller.isResuming
    let frame = try context.read { transaction in
      let met = try transaction.highestReading(of: hello.site)
      let cursor = isResumed ? nil : try transaction.cursor(of: hello.site).flatMap { SyncCheckpoint($0) }
      return SeenFrame(
        reading: met.flatMap { met in hello.highest.map { met.isLater(than: $0) } == true ? met : nil },
        place: cursor.flatMap { cursor in
          cursor.epoch == hello.logEpoch
            ? SeenFrame.Place(sequence: cursor.sequence, commitCheck: cursor.commitCheck) : nil
        })
    }
    guard frame.reading != nil || frame.place != nil else { return }
    context.send(.seen) { frame.encode(to: &$0) }
  }

  /// Compares what a peer has met of this site with what this store has written, since its hello too.
  func compareOwn(with frame: SeenFrame) throws(SyncError) {
    guard !SyncDefect.siteNotRenewed.isPlanted else { return }
    if let met = frame.reading, !context.store.mayHaveIssued(met) { throw context.laterSelfMet }
    if let place = frame.place { try context.checkOwnLog(at: place) }
  }
}

extension SessionContext {
  /// Ends a session where the log of this store was another one when the peer followed it, to a place of the same epoch: the
  /// store was put back since, whatever it has written after that, and whatever the time was.
  func checkOwnLog(at place: SeenFrame.Place) throws(SyncError) {
    let isOther = try readLog { transaction -> Bool? in
      guard place.sequence <= transaction.sequence else { return true }
      guard place.sequence >= transaction.logStart,
        let check = try transaction.commitCheck(at: place.sequence)
      else { return false }
      return check != place.commitCheck
    }
    guard isOther == true, !SyncDefect.siteNotRenewed.isPlanted else { return }
    SyncPoint.laterSelfMet.reached()
    throw SyncError(.cloned, "The peer has followed other commits of this store: it was put back or copied")
  }

  /// Ends a session whose store has not made all that its site has written.
  var laterSelfMet: SyncError {
    SyncPoint.laterSelfMet.reached()
    return SyncError(
      .cloned, "The peer has met later writes of site \(store.site): the store was put back or copied")
  }
}

extension ClockReading {
  /// Whether it is of a later millisecond: two writes of one transaction on one document are within the same.
  fileprivate func isLater(than other: ClockReading) -> Bool { milliseconds > other.milliseconds }
}
