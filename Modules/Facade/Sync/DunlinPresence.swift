import CRDTCore
public import SyncProtocol
import Synchronization
import Transports

/// A peer that is connected.
public struct DunlinPeer: Hashable, Sendable, Identifiable {
  /// Names the peer's store: another one after a restore or a copy.
  public let id: String
  /// The name that the peer gives itself.
  public let name: String
  /// A device or the cloud peer.
  public let kind: DunlinPeerKind
  /// Where its end of the connection is, for example `tcp://127.0.0.1:4040`.
  public let address: String
  /// Whether the peer made the connection.
  public let isIncoming: Bool
  /// The device's public key, which it has proved to have; `nil` with the development identity.
  public let deviceKey: String?
  /// The user that the application's authority has named in the device's certificate.
  public let user: String?
}

/// The peers that are connected at one moment.
public struct DunlinPresenceGraph: Hashable, Sendable {
  /// Sorted by name, then by id.
  public let remotePeers: [DunlinPeer]

  init(_ connections: [PeerConnection]) {
    remotePeers =
      connections.compactMap { connection in
        connection.peer.map { peer in
          DunlinPeer(
            id: peer.site.description, name: peer.name, kind: peer.kind,
            address: connection.endpoint.description, isIncoming: connection.direction == .incoming,
            deviceKey: connection.identity?.key.description, user: connection.identity?.user)
        }
      }
      .sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }
}

/// Who is connected.
public struct DunlinPresence: Sendable {
  let core: Core

  /// The peers that are connected now.
  public var graph: DunlinPresenceGraph { DunlinPresenceGraph(core.network.connections) }

  /// The peers that are connected, now and after each change; whoever is slow gets the newest graph.
  ///
  /// It ends when the task is cancelled or the database closes.
  public var graphs: AsyncStream<DunlinPresenceGraph> { core.presence.graphs() }
}

/// Tells of the connected peers whenever they change.
final class PresenceBoard: Sendable {
  private struct State {
    var listeners: [UInt64: AsyncStream<DunlinPresenceGraph>.Continuation] = [:]
    var nextID: UInt64 = 1
    var last: DunlinPresenceGraph?
    var task: Task<Void, Never>?
    var isClosed = false
  }

  private let network: PeerNetwork
  private let state = Mutex(State())

  init(_ network: PeerNetwork) { self.network = network }

  func graphs() -> AsyncStream<DunlinPresenceGraph> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: DunlinPresenceGraph.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state -> UInt64? in
      guard !state.isClosed else { return nil }
      state.nextID += 1
      state.listeners[state.nextID] = continuation
      if state.task == nil { state.task = watch() }
      return state.nextID
    }
    guard let id else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
    }
    publish(to: id)
    return stream
  }

  /// Publishes after each event, until the board is closed.
  private func watch() -> Task<Void, Never> {
    let events = network.events()
    return Task { [weak self] in
      for await event in events {
        switch event {
        case .connected, .disconnected: self?.publish()
        case .attemptFailed, .session, .conditions: continue
        }
      }
    }
  }

  /// Under the lock, so that nobody is left with an older graph than there is.
  private func publish(to newcomer: UInt64? = nil) {
    state.withLock { state in
      let graph = DunlinPresenceGraph(network.connections)
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
      let ends = (Array(state.listeners.values), state.task)
      state.listeners = [:]
      state.task = nil
      return ends
    }
    task?.cancel()
    for continuation in listeners { continuation.finish() }
  }
}
