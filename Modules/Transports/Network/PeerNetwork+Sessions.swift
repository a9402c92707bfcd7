import CRDTCore
import DocStore
import Logging
import NIOConcurrencyHelpers
import SyncProtocol

/// A session that the network runs, for who waits for its end.
final class ServedSession: Sendable {
  private struct State {
    var site: SiteID?
    var metAt: Duration?
    var end: (reason: SessionEnd, at: Duration)?
  }

  private let state = NIOLockedValueBox(State())

  /// The peer's site, once it has said hello.
  var site: SiteID? { state.withLockedValue { $0.site } }

  /// Whether the connection did its work, so that the next attempt to connect need not wait long.
  var wasOfUse: Bool {
    state.withLockedValue { state in
      guard let met = state.metAt, let end = state.end else { return false }
      // A peer that answers hello and then fails at once would be dialed in a tight circle.
      if case .link = end.reason { return true }
      // The store has a new site now, with which it is to go on at once.
      if case .session(let error) = end.reason, error.code == .cloned { return true }
      return end.at - met > .seconds(5)
    }
  }

  func met(_ site: SiteID, at time: Duration) {
    state.withLockedValue { state in
      state.site = site
      state.metAt = time
    }
  }

  func ended(_ reason: SessionEnd, at time: Duration) { state.withLockedValue { $0.end = (reason, time) } }
}

extension PeerNetwork {
  /// Runs a session on `link` in a task of its own.
  ///
  /// - Returns: `nil` when the network does not run or the address was forgotten meanwhile; then the link is closed.
  @discardableResult
  func serve(
    _ link: any Link, _ direction: PeerConnection.Direction, dialed address: NetworkState.Address? = nil
  ) -> (session: ServedSession, task: Task<Void, Never>)? {
    let served = ServedSession()
    let driver = register(link, direction, address, served)
    guard let driver,
      let task = spawn({ network in
        let end = await driver.run()
        await network.renewSite(after: end)
        served.ended(end, at: network.setup.clock.now)
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
    _ link: any Link, _ direction: PeerConnection.Direction, _ address: NetworkState.Address?,
    _ served: ServedSession
  ) -> SessionDriver? {
    state.withLockedValue { state in
      guard state.isRunning, address.map(state.connecting.contains) ?? true else { return nil }
      let id = state.newID()
      let driver = SessionDriver(id: id, link: link, setup: setup, subscriptions: state.subscriptions) {
        [weak self] event in
        self?.happened(event, in: id, served)
      }
      let connection = PeerConnection(id: id, direction: direction, endpoint: link.endpoint)
      state.sessions[id] = NetworkState.Session(driver: driver, dialed: address, connection: connection)
      return driver
    }
  }

  private func happened(_ event: SyncEvent, in id: UInt64, _ served: ServedSession) {
    let connection = state.withLockedValue { state -> PeerConnection? in
      switch event {
      case .connected(let peer): state.sessions[id]?.connection.peer = peer
      case .caughtUp(let generation): state.sessions[id]?.connection.caughtUp = generation
      case .oversize, .refused, .groupSplit, .damaged, .unreadable, .unreadableLog, .unreadablePeer,
        .withheldByPeer,
        .groupsForgotten, .overflow:
        break
      }
      return state.sessions[id]?.current
    }
    guard let connection else { return }
    if case .connected(let peer) = event {
      served.met(peer.site, at: setup.clock.now)
      write(
        .info, .connected, connection,
        "Connected to \(peer.name) (\(peer.kind)) over \(connection.endpoint)")
      announce(.connected(connection))
      endDuplicate(of: connection, with: peer)
    } else {
      let note = event.note(of: connection.peer?.name ?? "a peer")
      if let note { write(note.level, .session, connection, note.text) }
      announce(.session(connection, event))
    }
  }

  private func ended(_ id: UInt64, _ end: SessionEnd) {
    let (connection, parked) = state.withLockedValue { state in
      let session = state.sessions.removeValue(forKey: id)
      return (session?.current, Array(state.parked.values))
    }
    for latch in parked { latch.signal() }
    guard let connection else { return }
    let name = connection.peer?.name ?? "a peer that said no hello"
    write(
      end.isUsual ? .info : .warning, .disconnected, connection,
      "Disconnected from \(name) over \(connection.endpoint): \(end)")
    announce(.disconnected(connection, end))
  }

  private func write(
    _ level: Logger.Level, _ kind: ConnectionLog.Kind, _ connection: PeerConnection, _ text: String
  ) {
    log.write(level, kind, from: connection.endpoint, at: setup.clock.now, text)
  }

  /// Ends one of two connections to the same peer.
  ///
  /// Where each peer has dialed the other, the connection that the smaller site dialed stays: both ends choose alike.
  /// Where this peer dialed both, the older one stays. Where the other peer dialed both, the choice is the other's.
  private func endDuplicate(of connection: PeerConnection, with peer: PeerInfo) {
    let loser = state.withLockedValue { state -> SessionDriver? in
      let others = state.sessions.values.filter {
        $0.connection.id != connection.id && $0.connection.peer?.site == peer.site
      }
      guard let other = others.min(by: { $0.connection.id < $1.connection.id }) else { return nil }
      let kept: PeerConnection.Direction = setup.store.site < peer.site ? .outgoing : .incoming
      switch (connection.direction, other.connection.direction) {
      case (.incoming, .incoming): return nil
      case (.outgoing, .outgoing): return state.sessions[connection.id]?.driver
      case (let direction, _):
        return direction == kept ? other.driver : state.sessions[connection.id]?.driver
      }
    }
    guard let loser else { return }
    options.logger.debug("Ending the second connection to \(peer.name) over \(loser.link.endpoint)")
    loser.close()
  }
}

extension SessionEnd {
  /// Whether this is how sessions end every day, as against a fault that somebody should look at.
  fileprivate var isUsual: Bool {
    switch self {
    case .session(let error): error.code == .closed || error.code == .peerClosed
    case .link(let error): [.closed, .cancelled, .disconnected].contains(error.code)
    }
  }
}
