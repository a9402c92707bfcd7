import CRDTCore
import DocStore
import Links
import Logging
import NIOConcurrencyHelpers
import SyncProtocol

extension PeerNetwork {
  /// Runs a session on `link` in a separate task.
  ///
  /// - Returns: `nil` when the network does not run or the address was removed meanwhile; then the link is
  ///   closed.
  @discardableResult
  func serve(
    _ link: any Link, _ direction: PeerConnection.Direction, dialed address: LinkAddress? = nil
  ) -> (session: ServedSession, task: Task<Void, Never>)? {
    let served = ServedSession()
    let site = setup.store.site
    let proof = state.withLockedValue { $0.credentialsNumber }
    let driver = register(link, direction, address, served)
    guard let driver,
      let task = spawn({ network in
        let end = await driver.run()
        await network.renewSite(after: end)
        if let refusedBy = driver.refusedBy { served.met(refusedBy) }
        served.ended(
          at: network.setup.clock.now, hasMoved: driver.hasMovedDocuments,
          isRenewed: network.setup.store.site != site
            || network.state.withLockedValue { $0.credentialsNumber } != proof, end)
        network.ended(driver.id, end)
      })
    else {
      if let driver { _ = state.withLockedValue { $0.sessions.removeValue(forKey: driver.id) } }
      link.close(LinkError(.closed, "The network is stopped"))
      return nil
    }
    return (served, task)
  }

  private func register(
    _ link: any Link, _ direction: PeerConnection.Direction, _ address: LinkAddress?,
    _ served: ServedSession
  ) -> SessionDriver? {
    state.withLockedValue { state in
      guard state.isRunning, address.map({ state.connecting[$0] != nil }) ?? true else { return nil }
      let origin = (link as? any CountedLink)?.origin ?? ConnectionOrigin(named: link.endpoint.address)
      guard let link = secured(link, direction, state) else { return nil }
      let id = state.newID()
      let isHeld = isHeld
      let driver = SessionDriver(
        id: id, link: link, setup: setup, subscriptions: isHeld ? [] : state.subscriptions,
        number: state.subscriptionsNumber, isIncoming: direction == .incoming,
        hasOwnGrant: hasOwnGrant(state), host: self
      ) { [weak self] event in
        self?.happened(event, in: id, served)
      }
      let connection = PeerConnection(id: id, direction: direction, endpoint: link.endpoint)
      state.sessions[id] = NetworkState.Session(
        driver: driver, dialed: address, startedAt: setup.clock.now, origin: origin, served: served,
        connection: connection)
      #if TLS
        if !isHeld, let heads = revocations.heads { driver.tell(revocations: heads) }
      #endif
      if let own = state.presence.own { driver.tellPresence(own) }
      if !state.presence.observers.isEmpty { driver.observePresence(true) }
      return driver
    }
  }

  private func happened(_ event: SyncEvent, in id: UInt64, _ served: ServedSession) {
    let connection = state.withLockedValue { state -> PeerConnection? in
      switch event {
      case .connected(let peer):
        let identity = state.sessions[id]?.provenPeer?.identity
        state.sessions[id]?.connection.peer = peer
        state.sessions[id]?.connection.identity = identity
      case .caughtUp(let generation): state.sessions[id]?.connection.caughtUp = generation
      case .oversize, .refused, .groupSplit, .damaged, .unreadable, .unreadableLog, .unreadablePeer,
        .withheldByPeer,
        .groupsForgotten, .overflow, .wallClock:
        break
      }
      return state.sessions[id]?.current
    }
    guard let connection else { return }
    if case .connected(let peer) = event {
      served.met(peer.site)
      served.began(at: setup.clock.now)
      write(
        .info, .connected, connection,
        "Connected to \(Self.title(peer.name)) (\(peer.kind)) over \(connection.endpoint)")
      noteArrival(of: peer)
      if let dialed = state.withLockedValue({ $0.sessions[id]?.dialed }) { record(peer.kind, at: dialed) }
      announce(.connected(connection))
      setup.bell.ring()
      recognize(peer.site)
    } else {
      if case .wallClock(let milliseconds) = event, let peer = connection.peer {
        judgeClock(by: peer, wallTime: milliseconds)
      }
      let note = event.note(of: connection.peer.map { Self.title($0.name) } ?? "a peer")
      if let note { write(note.level, .session, connection, note.text) }
      for line in event.digestLines { write(.debug, .session, connection, line) }
      announce(.session(connection, event))
    }
  }

  /// A peer's name in log lines.
  private static func title(_ name: String) -> String { name.isEmpty ? "a peer without a name" : name }

  private func ended(_ id: UInt64, _ end: SessionEnd) {
    let (session, parked) = state.withLockedValue { state in
      let session = state.sessions.removeValue(forKey: id)
      if state.isRunning, let session, let standing = PeerSyncState(session) {
        state.departed.insert(standing)
      }
      if let session, session.driver.hasMovedDocuments, let peer = session.connection.peer {
        state.knownPeers.insert(peer.site)
      }
      return (session, Array(state.parked.values))
    }
    #if TLS
      revocations.end(id)
    #endif
    for latch in parked { latch.signal() }
    candidateWake.signal()
    setup.bell.ring()
    guard let session else { return }
    let connection = session.current
    let name = session.saidPeer.map { Self.title($0.name) } ?? "a peer that said no hello"
    write(
      end.isUsual(afterHello: connection.peer != nil) ? .info : .warning,
      .disconnected, connection,
      "Disconnected from \(name) over \(connection.endpoint): \(end)")
    noteDeparture(connection)
    announce(.disconnected(connection, end))
  }

  private func write(
    _ level: Logger.Level, _ kind: ConnectionLog.Kind, _ connection: PeerConnection, _ text: String
  ) {
    log.write(level, kind, from: connection.endpoint, at: setup.clock.now, text)
  }
}

extension SessionEnd {
  /// Whether sessions often end like this, in contrast to a fault that needs attention.
  ///
  /// A certificate that expires while a session runs is renewed every day; one that expired before is a
  /// fault. Two peers often find each other by several addresses, and then have a second link. A copy of a
  /// peer ends otherwise, with `keyClash`.
  package func isUsual(afterHello: Bool) -> Bool {
    switch self {
    case .session(let error) where error.code == .siteClash: error != .unprovenSite
    case .session(let error): [.closed, .peerClosed, .denied].contains(error.code)
    case .link(let error):
      [.closed, .cancelled, .disconnected].contains(error.code) || afterHello && error.code == .expired
    }
  }
}
