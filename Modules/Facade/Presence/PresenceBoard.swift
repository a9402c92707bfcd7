import Synchronization
import Transports

/// Publishes the presence graph whenever it changes.
final class PresenceBoard: Sendable {
  typealias RequestHandler = @Sendable (DunlinConnectionRequest) async -> DunlinConnectionAnswer

  private struct State {
    var listeners: [UInt64: AsyncStream<DunlinPresenceGraph>.Continuation] = [:]
    var nextID: UInt64 = 1
    var last: DunlinPresenceGraph?
    /// Held while there is a listener.
    var observation: PresenceObservation?
    var task: Task<Void, Never>?
    var requestHandler: RequestHandler?
    var isClosed = false
  }

  private let network: PeerNetwork
  /// Logs handlers of the graph that run for long.
  let handlerWatch: HandlerWatch
  private let state = Mutex(State())

  init(_ network: PeerNetwork, handlerWatch: HandlerWatch) {
    self.network = network
    self.handlerWatch = handlerWatch
  }

  var graph: DunlinPresenceGraph {
    let own = network.ownIdentity
    return DunlinPresenceGraph(
      localPeer: DunlinPeer(network.ownPresence, identity: own),
      remotePeers: network.neighbours.map { DunlinPeer($0) }
        .sorted { ($0.deviceName, $0.id) < ($1.deviceName, $1.id) })
  }

  var requestHandler: RequestHandler? {
    get { state.withLock { $0.requestHandler } }
    set {
      state.withLock { $0.requestHandler = newValue }
      guard let newValue else { return network.decideConnections(by: nil) }
      network.decideConnections { await newValue(DunlinConnectionRequest($0)) == .allow }
    }
  }

  func graphs() -> AsyncStream<DunlinPresenceGraph> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: DunlinPresenceGraph.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state -> UInt64? in
      guard !state.isClosed else { return nil }
      state.nextID += 1
      state.listeners[state.nextID] = continuation
      if state.task == nil { state.task = watch() }
      if state.observation == nil { state.observation = network.observePresence() }
      return state.nextID
    }
    guard let id else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in self?.leave(id) }
    publish(to: id)
    return stream
  }

  private func leave(_ id: UInt64) {
    state.withLock { state in
      state.listeners[id] = nil
      if state.listeners.isEmpty { state.observation = nil }
    }
  }

  /// Publishes after each event, until the board is closed.
  private func watch() -> Task<Void, Never> {
    let events = network.events()
    return Task { [weak self] in
      for await event in events {
        switch event {
        case .connected, .disconnected, .presence, .left: self?.publish()
        case .attemptFailed, .session, .conditions: continue
        }
      }
    }
  }

  /// Publishes under the lock, so that no listener keeps an outdated graph.
  private func publish(to newcomer: UInt64? = nil) {
    state.withLock { state in
      let graph = graph
      if graph != state.last {
        state.last = graph
        for continuation in state.listeners.values { continuation.yield(graph) }
      } else if let newcomer {
        state.listeners[newcomer]?.yield(graph)
      }
    }
  }

  func close() {
    let (listeners, task) = state.withLock { state in
      state.isClosed = true
      state.observation = nil
      // The handler may hold a reference to the database.
      state.requestHandler = nil
      let ends = (Array(state.listeners.values), state.task)
      state.listeners = [:]
      state.task = nil
      return ends
    }
    task?.cancel()
    for continuation in listeners { continuation.finish() }
  }
}
