import CRDTCore
import QueryEngine
import Transports

/// The subscriptions and the sync state of this peer.
public struct DunlinSync: Sendable {
  let local: LocalDatabase
  let sync: PeerSync

  /// Pulls the results of a query from every peer, now and later, until the subscription is cancelled.
  ///
  /// - Parameters:
  ///   - query: `SELECT * FROM collection [WHERE …]`. If the system parameter `DQL_RESTRICT_SUBSCRIPTIONS` is
  ///     false, also with ORDER BY and LIMIT; they do not change what is pulled.
  ///   - arguments: The values of its parameters.
  ///   - onLeave: What happens to a local document that no longer matches.
  /// - Returns: The subscription. Keep it, and cancel it before you release it.
  /// - Throws: `syntax`, `argument`; `unsupported` for any other statement; `limit`, `closed`,
  ///   `readOnlyStore`.
  public func registerSubscription(
    query: String, arguments: [String: Any?] = [:], onLeave: DunlinLeavePolicy = .keep
  ) throws -> DunlinSyncSubscription {
    try register(query, Value.fields(arguments), onLeave)
  }

  /// Pulls the results of a query, with the fields that a value encodes as arguments.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
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
      let isRestricted = try local.engine.parameters.restrictsSubscriptions
      return try local.subscriptions.register(
        SubscriptionQuery(dql: query, arguments: arguments, isRestricted: isRestricted), onLeave: onLeave)
    }
  }

  /// The subscriptions that are not cancelled, in the order of registration.
  public var subscriptions: [DunlinSyncSubscription] { local.subscriptions.active }

  /// Begins to listen, to connect and to sync: the same as `Dunlin.startSync()`.
  public func start() throws { try sync.start() }

  /// Stops syncing: the same as `Dunlin.stopSync()`.
  public func stop() { sync.stop() }

  /// Whether sync is started.
  public var isActive: Bool { sync.isActive }
}
