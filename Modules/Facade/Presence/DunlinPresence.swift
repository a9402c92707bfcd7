import CRDTCore
import QueryEngine
import Transports

/// Shows which peers are present, and publishes information about this peer.
///
/// Peers send their kind, their name and their application's metadata to peers that observe presence. A
/// change arrives within about a second.
public struct DunlinPresence: Sendable {
  let board: PresenceBoard
  let network: PeerNetwork

  /// The peers that are present now.
  ///
  /// Their own information arrives only during an observation, by ``graphs`` or ``observe(_:)``.
  public var graph: DunlinPresenceGraph { board.graph }

  /// The peers that are present, now and after each change; a slow reader gets the newest graph.
  ///
  /// The sequence ends when the task is cancelled or the database closes.
  public var graphs: AsyncStream<DunlinPresenceGraph> { board.graphs() }

  /// Calls `handler` with the peers that are present, now and after each change.
  ///
  /// Calls come one after another, on any thread. A slow handler gets the newest graph.
  ///
  /// - Returns: The observer; the handler is called until it is cancelled or released.
  public func observe(
    _ handler: @escaping @Sendable (DunlinPresenceGraph) -> Void
  ) -> DunlinPresenceObserver {
    let watch = board.handlerWatch
    return DunlinPresenceObserver(graphs) { graph in
      watch.run("the presence graph", .task) { handler(graph) }
    }
  }

  /// The metadata that other peers get of this one, beside its name and system.
  public var peerMetadata: [String: Any?] { graph.localPeer.metadata }

  /// Publishes metadata of this peer to other peers, in place of the previous metadata.
  ///
  /// It is kept as long as the database is open.
  ///
  /// - Parameter metadata: At most 4,096 bytes in all, when encoded.
  /// - Throws: `unsupportedValue` with the path; `limit` with the number of bytes.
  public func setPeerMetadata(_ metadata: [String: Any?]) throws {
    try translatingErrors {
      try network.tell(metadata: Value.fields(metadata).mapValues(\.withoutDecimals))
    }
  }

  /// Publishes metadata of this peer to other peers, as a type of the application.
  ///
  /// - Throws: As the form for a dictionary.
  public func setPeerMetadata(_ metadata: some Encodable) throws {
    try translatingErrors { try network.tell(metadata: ValueEncoding.fields(metadata).fields) }
  }

  /// Decides about each connection before sync starts on it; `nil` allows all.
  ///
  /// It is called for incoming and outgoing connections. A connection without an answer after eight seconds
  /// is denied. A denied peer gets a message that says so, and tries again later.
  public var connectionRequestHandler: (@Sendable (DunlinConnectionRequest) async -> DunlinConnectionAnswer)?
  {
    get { board.requestHandler }
    nonmutating set { board.requestHandler = newValue }
  }
}

/// An observation of the presence graph; keep it as long as its handler is to be called.
public final class DunlinPresenceObserver: Sendable {
  let task: Task<Void, Never>

  init(
    _ graphs: AsyncStream<DunlinPresenceGraph>, _ handler: @escaping @Sendable (DunlinPresenceGraph) -> Void
  ) {
    task = Task { for await graph in graphs { handler(graph) } }
  }

  deinit { task.cancel() }

  /// Stops calling the handler; a call that is in progress ends by itself.
  public func cancel() { task.cancel() }

  /// Stops calling the handler: the same as `cancel()`.
  public func stop() { cancel() }
}
