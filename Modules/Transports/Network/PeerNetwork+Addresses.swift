public import Links
import NIOConcurrencyHelpers

/// The addresses on which the network listens, and those to which it connects.
extension PeerNetwork {
  // MARK: - Listening

  /// Listens on one more address: at once if the network runs, otherwise from `start` on.
  ///
  /// A free port that was found once is kept across `stop` and `start`. If another program has taken it
  /// meanwhile, the network finds another port and sets the condition `portTaken`.
  /// - Parameters:
  ///   - host: The name or address: 127.0.0.1 is this machine only, 0.0.0.0 is all of its networks.
  ///   - port: The port, 0 for any free one.
  ///   - carrier: The protocol that carries the links.
  /// - Returns: The port in use; `nil` before `start`.
  /// - Throws: `portInUse`, `permissionDenied`, `unreachable` or `system`, naming host and port.
  @discardableResult
  public func listen(
    host: String = "127.0.0.1", port: Int = 0, over carrier: TCPListener.Carrier = .tcp
  ) throws(LinkError) -> Int? {
    try listen(on: ListeningAddress(host: host, port: port, scheme: carrier.scheme))
  }

  /// Listens on one more address, as `listen(host:port:over:)`.
  @discardableResult
  package func listen(on address: ListeningAddress) throws(LinkError) -> Int? {
    let runs = state.withLockedValue { state in
      if !state.isRunning { state.listening.append(.init(id: state.newID(), address: address)) }
      return state.isRunning
    }
    guard runs else { return nil }
    let port = try open(address)
    state.withLockedValue { $0.listening.append(.init(id: $0.newID(), address: address, port: port)) }
    return port
  }

  /// Stops listening on an address; sessions that came over it stay.
  package func stopListening(on address: ListeningAddress) {
    let closed = state.withLockedValue { state in
      state.listening.removeAll { $0.address == address }
      let closed = state.listeners.filter { $0.address == address }
      state.listeners.removeAll { $0.address == address }
      // Neighbours must be given another port.
      if let port = state.discovery?.listener?.port, closed.contains(where: { $0.listener.port == port }) {
        state.discovery?.listener = nil
      }
      return closed
    }
    for (_, listener) in closed { listener.closeBlocking() }
  }

  /// The ports on which the network listens now, including those that were found.
  public var listeningPorts: [Int] { state.withLockedValue { $0.listeners.map(\.listener.port).sorted() } }

  /// What the network listens on, each with the port in use.
  package var listeners: [(address: ListeningAddress, port: Int)] {
    state.withLockedValue { $0.listeners.map { ($0.address, $0.listener.port) } }
  }

  /// The addresses on which the network listens, with their protocol: `tcp://127.0.0.1:4040`, `ws://…`.
  package var listeningAddresses: [String] {
    state.withLockedValue { state in
      state.listeners.map { address, listener in
        "\(address.scheme.name)://\(listener.address)"
      }
    }
  }

  // MARK: - Connecting

  /// Connects to an address from `start` on, and again whenever the connection is lost.
  public func connect(to address: PeerAddress) { connect(address.link, for: .application) }

  /// Connects to a TCP port, as to any address.
  public func connect(host: String, port: Int) { connect(to: .tcp(host: host, port: port)) }

  /// Connects to a WebSocket server, as to any address.
  public func connect(to address: WebSocketAddress) { connect(to: .webSocket(address)) }

  /// Removes an address to connect to, and ends the connection to it.
  public func disconnect(from address: PeerAddress) { disconnect(address.link, for: .application) }

  /// Removes a TCP port to connect to, and ends the connection to it.
  public func disconnect(host: String, port: Int) { disconnect(from: .tcp(host: host, port: port)) }

  /// Removes a WebSocket server to connect to, and ends the connection to it.
  public func disconnect(from address: WebSocketAddress) { disconnect(from: .webSocket(address)) }

  /// Connects to an address on behalf of an owner.
  package func connect(_ address: LinkAddress, for owner: AddressOwner) {
    let dials = state.withLockedValue { state in
      let isNew = state.connecting[address] == nil
      state.connecting[address, default: .init()].owners.insert(owner)
      return isNew && state.isRunning
    }
    if dials { dial(address) }
  }

  /// Withdraws an owner's request; the connection ends when no other owner wants it.
  package func disconnect(_ address: LinkAddress, for owner: AddressOwner) {
    let (task, drivers) = state.withLockedValue { state -> (Task<Void, Never>?, [SessionDriver]) in
      state.connecting[address]?.owners.remove(owner)
      guard state.connecting[address]?.owners.isEmpty ?? true else { return (nil, []) }
      state.connecting[address] = nil
      let task = state.dialers.removeValue(forKey: address).flatMap { state.tasks[$0] }
      return (task, state.sessions.values.filter { $0.dialed == address }.map(\.driver))
    }
    for driver in drivers { driver.close() }
    task?.cancel()
    noteReach()
  }

  /// The bound of the delays between attempts to connect, from the next attempt on.
  public var longestDelay: Duration {
    get { state.withLockedValue { $0.longestDelay } }
    set { state.withLockedValue { $0.longestDelay = newValue } }
  }
}
