import CRDTCore
import DocStore
import Failpoints

extension Session {
  func sendHello() throws(SyncError) {
    let configuration = context.configuration
    let highest = try context.read { try $0.highestReading() }
    highestTold = highest
    let hello = Hello(
      versions: SyncLimits.versions, kind: configuration.kind, appID: configuration.appID,
      peerName: configuration.peerName.prefix(utf8Bytes: SyncLimits.nameBytes), site: context.store.site,
      logEpoch: context.store.epoch, highest: highest,
      silence: configuration.silence == SessionConfiguration.usualSilence ? nil : configuration.silence)
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
    pusher.queue.begin(helloDelay: context.now - startedAt)
    context.peerHighest = hello.highest
    context.peerSilence = hello.silence ?? SessionConfiguration.usualSilence
    let peer = PeerInfo(
      kind: hello.kind, name: hello.peerName, site: hello.site, logEpoch: hello.logEpoch, version: version)
    guard context.configuration.asksForAdmission else { return try begin(with: peer, hello) }
    state = .met(hello, peer)
    context.ask(.admission(.met(peer)))
  }

  /// Opens the session.
  func begin(with peer: PeerInfo, _ hello: Hello) throws(SyncError) {
    if !hasSaidHello { try sendHello() }
    try open(with: peer)
    try tellLaterWrites(than: hello)
  }

  /// Closes the session after timeouts, and sends a ping on a quiet link.
  func checkTime(_ now: Duration) throws(SyncError) {
    switch state {
    case .idle, .met, .closed: return
    case .awaitingHello(let deadline), .doubtingSite(let deadline):
      guard now < deadline else { throw SyncError(.timeout, "The peer did not say hello in time") }
    case .open:
      // While this end holds the peer back, its silence does not count.
      if isHolding { lastReceived = now }
      let silence = context.configuration.silence
      guard now - lastReceived < silence else {
        throw SyncError(.timeout, "The peer has said nothing for \(silence)")
      }
      let patience = context.configuration.stall
      if let deadline = sending.deadline(patience), now >= deadline {
        throw SyncError(.timeout, "The peer has acknowledged nothing of what was sent for \(patience)")
      }
      if let deadline = pulling.deadline(patience), now >= deadline {
        throw SyncError(.timeout, "The peer has answered nothing that it was asked for \(patience)")
      }
      statements.checkTime(now)
      presence.checkTime(now)
      if try pusher.queue.rest(now) { pusher.sender.batch.rest() }
      checkSignOfLife(now)
      if now - context.lastSent >= context.pingInterval, !SyncDefect.pingNotSent.isPlanted { ping() }
    }
  }

  func ping() {
    let nonce = context.configuration.random()
    context.send(.ping) { $0.writeFixed(nonce) }
  }

  /// Checks whether the peer acknowledges and answers: a peer that only pings would hold memory here forever.
  func noteProgress() {
    let window = pusher.queue.window
    let isHeard = !isHolding
    sending.note(
      window.acknowledged.wireBytes, asked: context.askedBytes,
      isWaiting: isHeard && window.wireBytesInFlight > 0,
      now: context.now)
    pulling.note(
      puller.answers, asked: context.askedBytes, isWaiting: isHeard && puller.isWaitingForPeer,
      now: context.now)
  }
}
