public import CRDTCore

/// A peer in a report.
public struct ReportedPeer: Sendable {
  /// The id of the peer's store.
  public let id: String
  /// The name that the peer gives itself.
  public let name: String
  /// A device or the cloud peer.
  public let kind: String
  /// The operating system; empty until the peer has reported it.
  public let system: String
  /// The release of the library; empty until the peer has reported it.
  public let version: String
  /// The user that its certificate names; `nil` if there is none.
  public let user: String?
  /// The key that it has proved to have; `nil` with the development identity.
  public let key: String?
  /// Whether the peer is a big peer or connected to one.
  public let reachesBigPeer: Bool
  /// Its connections with the peer that reports.
  public let connections: [ReportedConnection]
  /// What its application publishes to other peers.
  public let metadata: [TextKey: Value]
  /// What the login service says of the peer in its certificate.
  public let identityMetadata: [TextKey: Value]

  /// Makes a peer of its values.
  public init(
    id: String, name: String, kind: String, system: String, version: String, user: String?, key: String?,
    reachesBigPeer: Bool, connections: [ReportedConnection], metadata: [TextKey: Value],
    identityMetadata: [TextKey: Value] = [:]
  ) {
    (self.id, self.name, self.kind, self.system) = (id, name, kind, system)
    (self.version, self.user, self.key) = (version, user, key)
    (self.reachesBigPeer, self.connections, self.metadata) = (reachesBigPeer, connections, metadata)
    self.identityMetadata = identityMetadata
  }

  /// The fields that commands print of the peer as JSON.
  public var values: [TextKey: Value] { values(at: nil) }

  /// The same, with how far sync has progressed at a commit of the store; `nil` leaves that out.
  func values(at sequence: UInt64?) -> [TextKey: Value] {
    [
      "id": .string(id), "name": .string(name), "kind": .string(kind), "system": .string(system),
      "version": .string(version), "user": user.map { .string($0) } ?? .null,
      "key": key.map { .string($0) } ?? .null, "reachesBigPeer": .bool(reachesBigPeer),
      "connections": .array(connections.map { .map($0.values(at: sequence)) }), "metadata": .map(metadata),
      "identityMetadata": .map(identityMetadata),
    ]
  }
}
