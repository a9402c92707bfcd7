package import CRDTCore
import DocStore
import Failpoints

/// Opening a session: hellos, admission, and the detection of clones.
extension Session {
  func sendHello() throws(SyncError) {
    let configuration = context.configuration
    let highest = try context.read { try $0.highestReading() }
    highestSent = highest
    let hello = Hello(
      versions: SyncLimits.versions, kind: configuration.kind, appID: configuration.appID,
      peerName: configuration.peerName.prefix(utf8Bytes: SyncLimits.nameBytes), site: context.store.site,
      logEpoch: context.store.epoch, highest: highest,
      silence: configuration.silence == SessionConfiguration.usualSilence ? nil : configuration.silence,
      incarnation: UInt16(truncatingIfNeeded: context.store.incarnation))
    context.send(.hello) { hello.encode(to: &$0) }
  }

  /// Negotiates the version, and rejects a peer that this one cannot sync with.
  func meet(_ hello: Hello) throws(SyncError) {
    let mine = SyncLimits.versions
    let version = min(mine.upperBound, hello.versions.upperBound)
    guard version >= max(mine.lowerBound, hello.versions.lowerBound) else {
      throw SyncError(
        .versionMismatch,
        "This peer speaks versions \(mine.lowerBound) to \(mine.upperBound), the other "
          + "\(hello.versions.lowerBound) to \(hello.versions.upperBound)")
    }
    guard hello.appID.isSame(as: context.configuration.appID) else {
      throw SyncError(.appMismatch, "The peer belongs to another application")
    }
    guard hello.site != context.store.site else { return try doubtSite() }
    pusher.queue.begin(helloDelay: context.now - health.startedAt)
    context.hello = hello
    let peer = PeerInfo(
      kind: hello.kind, name: hello.peerName, site: hello.site, logEpoch: hello.logEpoch, version: version,
      incarnation: hello.incarnation)
    guard context.configuration.asksForAdmission else {
      context.access = context.configuration.access
      return try begin(with: peer, hello)
    }
    enter(.met(hello, peer))
    context.ask(.admission(.met(peer)))
  }

  /// Opens the session.
  func begin(with peer: PeerInfo, _ hello: Hello) throws(SyncError) {
    if !hasSaidHello { try sendHello() }
    try open(with: peer)
    try reportLaterWrites(than: hello)
  }

  /// Admits a peer that has sent its hello; the driver calls this after ``AdmissionAction/met(_:)``.
  ///
  /// - Parameters:
  ///   - access: What the peer's grant lets it do.
  ///   - now: The time.
  /// - Returns: Actions.
  package func admit(_ access: PeerAccess, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .met(let hello, let peer) = state else { return }
      context.access = access
      try begin(with: peer, hello)
    }
  }

  /// The site of a peer that refused this one before its hello.
  package var refusedBy: SiteID? { refusedByPeer }

  var hasSaidHello: Bool { highestSent != nil }

  /// The site to put into a refusal sent before the hello, so that the peer need not dial this one again.
  var siteForRefusal: SiteID? {
    guard case .met = state, !hasSaidHello else { return nil }
    return context.store.site
  }

  // MARK: - Clones

  // Clones are stores that write under one site id, after a disk was copied or restored. A session ends with
  // `cloned` when two clones meet. It also ends so when this store learns of a write of its own site that is
  // later than those it knows. The driver then gives the store a new site, and dials again.

  /// Asks a peer with this store's site for its incarnation.
  ///
  /// The peer may be this very process, which dialed itself.
  func doubtSite() throws(SyncError) {
    if !hasSaidHello { try sendHello() }
    enter(.doubtingSite(deadline: context.now + context.configuration.helloDeadline))
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

  /// Sends the peer what it needs to detect a clone or a wrong clock.
  ///
  /// This is the timestamp of the last write of the peer's site, if that is later than its hello, the
  /// checkpoint in its log, and the wall clock. With the wall clock, the peer can find out that its own clock
  /// was ahead.
  ///
  /// The checkpoint is left out when this session resumes from it, since the resume frame carries it.
  func reportLaterWrites(than hello: Hello) throws(SyncError) {
    let isResumed = puller.isResuming
    let frame = try context.read { snapshot in
      let met = try snapshot.highestReading(of: hello.site)
      let checkpoint =
        isResumed ? nil : try snapshot.checkpoint(of: hello.site).flatMap { SyncCheckpoint($0) }
      return SeenFrame(
        reading: met.flatMap { met in hello.highest.map { met.isLater(than: $0) } == true ? met : nil },
        place: checkpoint.flatMap { checkpoint in
          checkpoint.epoch == hello.logEpoch
            ? SeenFrame.Place(sequence: checkpoint.sequence, commitCheck: checkpoint.commitCheck) : nil
        }, wallTime: context.testimony(against: hello, latest: snapshot.latestReading))
    }
    guard !frame.isEmpty else { return }
    context.send(.seen) { frame.encode(to: &$0) }
  }

  /// Compares what the peer knows of this site with what this store has written.
  ///
  /// Writes since hello count as written.
  func compareOwn(with frame: SeenFrame) throws(SyncError) {
    guard !SyncDefect.siteNotRenewed.isPlanted else { return }
    if let met = frame.reading, !context.store.mayHaveIssued(met) { throw context.laterSelfMet }
    if let place = frame.place { try context.checkOwnLog(at: place) }
  }
}

extension ClockReading {
  /// Returns whether its millisecond is later.
  ///
  /// Two writes of one transaction to one document share a millisecond.
  fileprivate func isLater(than other: ClockReading) -> Bool { milliseconds > other.milliseconds }
}

extension SessionContext {
  /// Returns the wall clock for a peer whose clock seems to be ahead.
  ///
  /// It is `nil` if there is a sign that the wall clock itself is wrong.
  fileprivate func testimony(against hello: Hello, latest: ClockReading) -> UInt64? {
    guard let highest = hello.highest, let wallTime = store.wallTime(unlessBehind: latest),
      wallTime >= SyncLimits.releaseTime, highest.milliseconds > wallTime + SyncLimits.tolerableLead
    else { return nil }
    return wallTime
  }
}
