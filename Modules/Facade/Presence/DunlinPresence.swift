import CRDTCore
package import Transports

/// The peers that are there at one moment.
public struct DunlinPresenceGraph: Hashable, Sendable {
  /// This peer.
  public let localPeer: DunlinPeer
  /// The peers that it is connected with, and those that left within the last five seconds; sorted by name, then by id.
  public let remotePeers: [DunlinPeer]
}

/// Who is there, and what this peer tells others about itself.
///
/// Peers tell what they are, their name and what their application adds to those who observe. What a peer changes reaches them
/// within about a second.
public struct DunlinPresence: Sendable {
  let core: Core

  /// The peers that are there now.
  ///
  /// What they say of themselves comes while somebody observes, by ``graphs`` or ``observe(_:)``.
  public var graph: DunlinPresenceGraph { core.presence.graph }

  /// The peers that are there, now and after each change; whoever is slow gets the newest graph.
  ///
  /// It ends when the task is cancelled or the database closes.
  public var graphs: AsyncStream<DunlinPresenceGraph> { core.presence.graphs() }

  /// Calls `handler` with the peers that are there, now and after each change.
  ///
  /// Calls come one after another, on no certain thread; whoever is slow gets the newest graph.
  /// - Returns: The observer; the handler is called until it is cancelled or released.
  public func observe(
    _ handler: @escaping @Sendable (DunlinPresenceGraph) -> Void
  ) -> DunlinPresenceObserver {
    DunlinPresenceObserver(graphs, handler)
  }

  /// Asks peers what they say of themselves, for as long as the result is kept, for the project's own tools.
  package func askPeers() -> PresenceObservation { core.network.observePresence() }

  /// What other peers are told of this one beside its name and system.
  public var peerMetadata: [String: Any?] { graph.localPeer.metadata }

  /// Tells other peers something about this one, in place of what they were told before.
  ///
  /// It is kept as long as the database is open.
  /// - Parameter metadata: At most 4,096 bytes in all, as they are encoded.
  /// - Throws: `unsupportedValue` with the path; `limit` with the number of bytes.
  public func setPeerMetadata(_ metadata: [String: Any?]) throws {
    try translatingErrors { try core.network.tell(metadata: Value.fields(metadata)) }
  }

  /// Tells other peers something about this one that the application has a type for.
  ///
  /// - Throws: As the form for a dictionary.
  public func setPeerMetadata(_ metadata: some Encodable) throws {
    try translatingErrors { try core.network.tell(metadata: ValueEncoding.fields(metadata).fields) }
  }

  /// Decides about each connection before anything syncs over it, whoever makes it; `nil` allows all.
  ///
  /// A connection without an answer after eight seconds is denied. A peer that is denied is told so, and tries again after a while.
  public var connectionRequestHandler: (@Sendable (DunlinConnectionRequest) async -> DunlinConnectionAnswer)?
  {
    get { core.presence.requestHandler }
    nonmutating set { core.presence.requestHandler = newValue }
  }
}

/// The presence graph that is being observed; keep it as long as its handler is to be called.
public final class DunlinPresenceObserver: Sendable {
  private let task: Task<Void, Never>

  init(
    _ graphs: AsyncStream<DunlinPresenceGraph>, _ handler: @escaping @Sendable (DunlinPresenceGraph) -> Void
  ) {
    task = Task { for await graph in graphs { handler(graph) } }
  }

  deinit { task.cancel() }

  /// Stops calling the handler; a call that is under way ends by itself.
  public func cancel() { task.cancel() }

  /// Stops calling the handler: the same as `cancel()`.
  public func stop() { cancel() }
}
