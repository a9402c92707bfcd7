import CRDTCore
import QueryEngine
package import Transports

/// What this peer pulls from others, and whether it does.
public struct DunlinSync: Sendable {
  let core: Core

  /// Pulls what a query finds from every peer, now and later, until the subscription is cancelled.
  ///
  /// - Parameters:
  ///   - query: `SELECT * FROM collection [WHERE …]`; with the system parameter `DQL_RESTRICT_SUBSCRIPTIONS` at
  ///     false also with ORDER BY and LIMIT, which make no difference to what is pulled.
  ///   - arguments: The values of its parameters.
  ///   - onLeave: What becomes of a document here that does not match any more.
  /// - Returns: The subscription; keep it, and cancel it before you let go of it.
  /// - Throws: `syntax`, `argument`; `unsupported` for any other statement; `limit`, `closed`.
  public func registerSubscription(
    query: String, arguments: [String: Any?] = [:], onLeave: DunlinLeavePolicy = .keep
  ) throws -> DunlinSyncSubscription {
    try register(query, Value.fields(arguments), onLeave)
  }

  /// Pulls what a query finds, with the fields that a value encodes as arguments.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func registerSubscription(
    query: String, arguments: some Encodable, onLeave: DunlinLeavePolicy = .keep
  ) throws -> DunlinSyncSubscription {
    try register(query, ValueEncoding.arguments(arguments), onLeave)
  }

  private func register(
    _ query: String, _ arguments: [TextKey: Value], _ onLeave: DunlinLeavePolicy
  ) throws -> DunlinSyncSubscription {
    try translatingErrors {
      let isRestricted = try core.engine.parameters.restrictsSubscriptions
      return try core.subscriptions.register(
        SubscriptionQuery(dql: query, arguments: arguments, isRestricted: isRestricted), onLeave: onLeave)
    }
  }

  /// The subscriptions that are not cancelled, in the order of registration.
  public var subscriptions: [DunlinSyncSubscription] { core.subscriptions.active }

  /// Begins to listen, to connect and to sync: the same as `Dunlin.startSync()`.
  public func start() throws { try core.startSync() }

  /// Stops syncing: the same as `Dunlin.stopSync()`.
  public func stop() { core.stopSync() }

  /// Whether sync is started.
  public var isActive: Bool { core.isSyncActive }
}

extension DunlinSync {
  /// The connections and their figures, for the project's own tools.
  package var connections: [PeerConnection] { core.network.connections }

  /// How far sync has come with each peer, over each connection, for the project's own tools.
  package var standings: [PeerStanding] { core.network.standings }

  /// A call at once, and one whenever ``standings`` may have changed, for the project's own tools.
  package var statusCalls: AsyncStream<Void> { core.network.statusCalls() }

  /// What happens to connections from now on, for the project's own tools.
  package var networkEvents: AsyncStream<NetworkEvent> { core.network.events() }
}
