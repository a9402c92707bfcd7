import CRDTCore
import Links
package import SyncProtocol

extension NetworkState {
  /// The state of a session's admission.
  enum Admission {
    /// The peer has not said hello.
    case awaitingHello
    /// It is undecided, perhaps until the same peer's other session has shown a sign of life.
    case claiming(PeerInfo)
    /// The application is deciding about it.
    case asked(PeerInfo)
    /// It is the one session with its peer.
    case admitted(Admitted)
    /// It was asked to end, or has ended.
    case ending(PeerInfo?)
  }

  /// What is known of the one session with a peer.
  struct Admitted {
    let peer: PeerInfo
    let at: Duration
    /// Whether the peer was asked for a sign of life and has not answered.
    var isAsked = false
    /// When the peer last answered such a question.
    var heardAt: Duration?
  }

  /// An action to take for a session after the lock is released.
  enum AdmissionStep {
    case admit(SessionDriver)
    /// Its connection counts as a session from now on, and waits.
    case hold(SessionDriver)
    case close(SessionDriver, SyncError)
    case askForSignOfLife(SessionDriver)
  }

  /// Decides about a session whose peer has said hello.
  ///
  /// A site has one session at a time. The first one stays while its peer answers, so a second one waits for
  /// a sign of life there.
  ///
  /// There is one exception: two peers have dialed each other at the same time, and each has admitted the
  /// other's connection. Then both ends keep the connection that the smaller site dialed. This is safe
  /// because this end had dialed before it admitted the first: the peer that answers that call could as well
  /// have come first.
  ///
  /// - Parameters:
  ///   - id: The session.
  ///   - peer: The peer at its other end, as it says.
  ///   - own: The site of this peer.
  ///   - now: The time.
  /// - Returns: The actions to take.
  mutating func decide(on id: UInt64, with peer: PeerInfo, own: SiteID, now: Duration) -> [AdmissionStep] {
    guard let session = sessions[id] else { return [] }
    sessions[id]?.admission = .claiming(peer)
    if let contradiction = session.contradiction(in: peer) { return close(id, contradiction) }
    guard let (firstID, first) = admittedSession(with: peer.site),
      case .admitted(var admitted) = first.admission
    else {
      return admit(id, with: peer, now: now)
    }
    if !isStranger(first) { sessions[id]?.isKnown = true }
    let isCrossing =
      session.connection.direction == .outgoing && first.connection.direction == .incoming
      && session.startedAt <= admitted.at && now - admitted.at <= limits.crossing
    if isCrossing {
      guard own < peer.site else { return close(id, .otherLink) }
      sessions[id]?.admission = .admitted(Admitted(peer: peer, at: now))
      return close(firstID, .otherLink) + [.admit(session.driver)]
    }
    if let heardAt = admitted.heardAt, now - heardAt < ConnectionLimits.signOfLifeHolds {
      return close(id, second(id, to: firstID))
    }
    let claims = sessions.values.compactMap(\.claimedPeer)
    guard claims.count <= limits.claims, claims.count(where: { $0.site == peer.site }) <= limits.claimsByPeer
    else {
      return close(id, .siteIsConnected)
    }
    guard !admitted.isAsked else { return [.hold(session.driver)] }
    admitted.isAsked = true
    sessions[firstID]?.admission = .admitted(admitted)
    return [.hold(session.driver), .askForSignOfLife(first.driver)]
  }

  /// Records whether an admitted session's peer has shown a sign of life.
  mutating func heard(_ isAlive: Bool, in id: UInt64, own: SiteID, now: Duration) -> [AdmissionStep] {
    guard let session = sessions[id], case .admitted(var admitted) = session.admission else { return [] }
    let site = admitted.peer.site
    guard isAlive else {
      return close(id, .gone) + decideOnClaims(of: site, own: own, now: now)
    }
    admitted.isAsked = false
    admitted.heardAt = now
    sessions[id]?.admission = .admitted(admitted)
    return claims(of: site).flatMap { close($0, second($0, to: id)) }
  }

  /// Why a session cannot exist beside the one that its peer's site has.
  ///
  /// Two processes with one key are clones. Where peers prove nothing, so are two openings of one site.
  private func second(_ id: UInt64, to first: UInt64) -> SyncError {
    guard let second = sessions[id], let first = sessions[first] else { return .siteIsConnected }
    switch (second.provenPeer, first.provenPeer) {
    case (let second?, let first?): return second.instance != first.instance ? .sameKey : .siteIsConnected
    case (nil, nil):
      guard let one = second.saidPeer?.incarnation, let other = first.saidPeer?.incarnation, one != other
      else { return .siteIsConnected }
      return .sameKey
    case (_?, nil), (nil, _?): return .siteIsConnected
    }
  }

  /// Records that a session is over, and decides about the sessions that waited for that.
  mutating func over(_ id: UInt64, own: SiteID, now: Duration) -> [AdmissionStep] {
    guard let session = sessions[id] else { return [] }
    sessions[id]?.admission = .ending(session.saidPeer)
    guard let peer = session.admittedPeer else { return [] }
    return decideOnClaims(of: peer.site, own: own, now: now)
  }

  /// Decides again about the sessions that wait for a site's session to end.
  private mutating func decideOnClaims(of site: SiteID, own: SiteID, now: Duration) -> [AdmissionStep] {
    var steps: [AdmissionStep] = []
    for id in claims(of: site) {
      guard let peer = sessions[id]?.claimedPeer else { continue }
      steps += decide(on: id, with: peer, own: own, now: now)
    }
    return steps
  }

  /// Admits a session, if there is room for its peer.
  private mutating func admit(_ id: UInt64, with peer: PeerInfo, now: Duration) -> [AdmissionStep] {
    guard let session = sessions[id] else { return [] }
    var steps: [AdmissionStep] = []
    switch session.connection.direction == .outgoing ? .free : room(for: session) {
    case .free: break
    case .insteadOf(let other): steps = close(other, noRoom())
    case .none: return close(id, noRoom())
    }
    sessions[id]?.admission = .admitted(Admitted(peer: peer, at: now))
    return steps + [.admit(session.driver)]
  }

  /// Why there is no room for a session, with the numbers of those that there are and may be.
  private func noRoom() -> SyncError {
    let count = sessions.values.count { $0.admittedPeer != nil }
    return SyncError(
      .full,
      """
      There is no room for more connections: \(count) of \(limits.sessions) sessions are in use, and at most \
      \(limits.strangers) are for peers that have not synced before
      """)
  }

  /// Whether there is room for a session.
  private enum Room {
    case free
    case insteadOf(UInt64)
    case none
  }

  /// Whether there is room for one more session that this peer has not dialed.
  ///
  /// A known peer replaces the oldest stranger, which had the longest time to move a document. A stranger
  /// replaces one from an address that has more strangers than its own, including the new one.
  private func room(for session: Session) -> Room {
    let admitted = sessions.filter { $0.value.admittedPeer != nil }
    let most = session.isKnown ? limits.sessions : min(limits.strangers, limits.sessions)
    if admitted.count < most { return .free }
    let strangers = admitted.filter { $0.value.connection.direction == .incoming && isStranger($0.value) }
    if session.isKnown { return strangers.keys.min().map { .insteadOf($0) } ?? .none }
    if admitted.count < limits.sessions, strangers.count < limits.strangers { return .free }
    let origins = Dictionary(grouping: strangers) { $0.value.provenOrigin }
    let largest = origins.values.max { $0.count < $1.count } ?? []
    guard largest.count > origins[session.provenOrigin, default: []].count + 1 else { return .none }
    return largest.map(\.key).min().map { .insteadOf($0) } ?? .none
  }

  private func isStranger(_ session: Session) -> Bool {
    !session.isKnown && !session.driver.hasMovedDocuments
  }

  private mutating func close(_ id: UInt64, _ reason: SyncError) -> [AdmissionStep] {
    guard let session = sessions[id] else { return [] }
    sessions[id]?.admission = .ending(session.saidPeer)
    return [.close(session.driver, reason)]
  }

  private func admittedSession(with site: SiteID) -> (id: UInt64, session: Session)? {
    sessions.first { $0.value.admittedPeer?.site == site }.map { ($0.key, $0.value) }
  }

  /// The sessions that wait for a site's session to end, in the order of their arrival.
  private func claims(of site: SiteID) -> [UInt64] {
    sessions.filter { $0.value.claimedPeer?.site == site }.keys.sorted()
  }
}

extension NetworkState.Session {
  /// The origin that limits count: the key that the peer has proved, or without one its address.
  var provenOrigin: ConnectionOrigin {
    provenPeer.map { ConnectionOrigin(named: $0.identity.key.description) } ?? origin
  }

  /// Why what the peer says in its hello contradicts what it has proved; `nil` if it does not.
  func contradiction(in hello: PeerInfo) -> SyncError? {
    guard let proven = provenPeer else { return nil }
    guard proven.site == hello.site else { return .unprovenSite }
    guard let kind = proven.identity.provenKind, kind != hello.kind else { return nil }
    return .unprovenKind(hello.kind)
  }

  /// The peer, if this is the one session with it.
  var admittedPeer: PeerInfo? {
    if case .admitted(let admitted) = admission { admitted.peer } else { nil }
  }

  /// The peer at the other end, as far as it has identified itself.
  var saidPeer: PeerInfo? {
    switch admission {
    case .awaitingHello: nil
    case .claiming(let peer), .asked(let peer): peer
    case .admitted(let admitted): admitted.peer
    case .ending(let peer): peer
    }
  }

  /// The peer, if its admission is undecided.
  var claimedPeer: PeerInfo? {
    if case .claiming(let peer) = admission { peer } else { nil }
  }
}

extension SessionDriver {
  /// Whether documents have been moved in either direction.
  var hasMovedDocuments: Bool {
    let statistics = statistics
    return statistics.documentsSent > 0 || statistics.documentsReceived > 0
  }
}

extension SyncError {
  fileprivate static let otherLink = SyncError(.closed, "The peers are connected over another link")

  package static let siteIsConnected = SyncError(
    .siteClash, "A peer of this site is connected over another link and answers there")

  fileprivate static let sameKey = SyncError(
    .keyClash,
    "Another process that is this peer is connected, and answers: one is a copy of the other")

  package static let unprovenSite = SyncError(
    .siteClash, "The peer says hello as another site than the one that its key proves")

  /// The error of a hello with another kind than that in the certificate.
  ///
  /// Both ends show the message. So its words fit at both.
  ///
  /// - Parameter claimed: The kind in the hello.
  /// - Returns: The error.
  package static func unprovenKind(_ claimed: PeerKind) -> SyncError {
    SyncError(
      .kindMismatch,
      claimed == .big
        ? "A peer says that it is a big one, and shows a small peer's certificate: issue its certificate with --kind big, or configure it as a small peer"
        : "A peer says that it is a small one, and shows a big peer's certificate: configure it as a big peer, or issue its certificate with --kind small"
    )
  }

  fileprivate static let gone = SyncError(
    .timeout, "The peer did not answer when another connection came from it")
}
