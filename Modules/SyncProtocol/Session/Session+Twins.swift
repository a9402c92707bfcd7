import CRDTCore
import DocStore
import Failpoints

/// Detection of clones: stores that write under one site id, after a disk was copied or restored.
///
/// A session ends with `cloned` when two clones meet. It also does so when this store receives, or hears of, a later
/// write of its own site than it knows. The driver then gives the store a new site, and dials again.
extension Session {
  /// Asks a peer with this store's site for its incarnation: it may be this very process, which dialed itself.
  func doubtSite() throws(SyncError) {
    if !hasSaidHello { try sendHello() }
    state = .doubtingSite(deadline: context.now + context.configuration.helloDeadline)
    let incarnation = context.store.incarnation
    context.send(.run) { $0.writeFixed(incarnation) }
  }

  /// Compares the peer's incarnation with this store's, and ends the session.
  func settleSite(_ incarnation: UInt64) throws(SyncError) {
    guard incarnation != context.store.incarnation else {
      throw SyncError(.siteClash, "This peer has dialed itself")
    }
    SyncPoint.twinMet.reached()
    throw SyncError(
      .cloned, "Both peers write as site \(context.store.site): one store is a copy of the other")
  }

  /// Sends the peer any later write of its own site, and the checkpoint in its log, so that it can detect a clone.
  ///
  /// The checkpoint is left out when this session resumes from it, since the resume frame carries it.
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

  /// Compares what the peer knows of this site with what this store has written, including writes since hello.
  func compareOwn(with frame: SeenFrame) throws(SyncError) {
    guard !SyncDefect.siteNotRenewed.isPlanted else { return }
    if let met = frame.reading, !context.store.mayHaveIssued(met) { throw context.laterSelfMet }
    if let place = frame.place { try context.checkOwnLog(at: place) }
  }
}

extension SessionContext {
  /// Ends the session if the peer followed a different log of this store up to a position in the same epoch.
  ///
  /// In that case the store was restored since, whatever it has written after that and whatever its clock says.
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

  /// The error for a store that lacks writes of its own site.
  var laterSelfMet: SyncError {
    SyncPoint.laterSelfMet.reached()
    return SyncError(
      .cloned, "The peer has met later writes of site \(store.site): the store was put back or copied")
  }
}

extension ClockReading {
  /// Returns whether its millisecond is later: two writes of one transaction to one document share a millisecond.
  fileprivate func isLater(than other: ClockReading) -> Bool { milliseconds > other.milliseconds }
}
