package import CRDTCore
public import SyncProtocol
import Transports

/// A peer, as the presence graph shows it.
public struct DunlinPeer: Hashable, Sendable, Identifiable {
  /// The id of the peer's store; it changes after a restore or a copy.
  public let id: String
  /// The device's public key, which it has proved to have; `nil` with the development identity.
  public let peerKey: String?
  /// The user that the application's authority has named in the device's certificate.
  public let user: String?
  /// A device or the cloud peer: proved by a certificate, otherwise what the peer says.
  public let kind: DunlinPeerKind
  /// The name that the peer gives itself.
  public let deviceName: String
  /// The operating system that the peer has reported; empty until it has reported one.
  public let system: String
  /// The version of Dunlin that the peer has reported; empty until it has reported one.
  public let version: String
  /// Whether the peer reports that it is a big peer or connected to one; nothing proves it.
  public let isConnectedToBigPeer: Bool
  /// Its connections with this peer.
  ///
  /// There are none if the peer left within the last five seconds and may come back.
  public let connections: [DunlinConnection]
  private let fields: [TextKey: Value]
  private let identityFields: [TextKey: Value]

  /// The same as ``metadata``, for the project's own tools.
  package var exactMetadata: [TextKey: Value] { fields }

  /// The same as ``identityMetadata``, for the project's own tools.
  package var exactIdentityMetadata: [TextKey: Value] { identityFields }

  /// The metadata that its application publishes to other peers.
  public var metadata: [String: Any?] { fields.byString }

  /// Decodes the metadata that its application publishes, as a type of this application.
  ///
  /// - Throws: `decoding` with the path of the value that does not fit.
  public func metadata<T: Decodable>(as type: T.Type = T.self) throws(DunlinError) -> T {
    try ValueDecoding.decode(type, from: .map(fields))
  }

  /// The login service's public information about the peer, signed in the peer's certificate.
  public var identityMetadata: [String: Any?] { identityFields.byString }

  /// Decodes ``identityMetadata`` as a type of the application.
  ///
  /// - Throws: `decoding` with the path of the value that does not fit.
  public func identityMetadata<T: Decodable>(as type: T.Type = T.self) throws(DunlinError) -> T {
    try ValueDecoding.decode(type, from: .map(identityFields))
  }

  init(_ neighbour: Neighbour) {
    id = neighbour.peer.site.description
    peerKey = neighbour.identity?.key.description
    user = neighbour.identity?.user
    kind = neighbour.peer.kind
    let presence = neighbour.presence
    deviceName = presence?.deviceName ?? neighbour.peer.name
    system = presence?.system ?? ""
    version = presence?.release ?? ""
    isConnectedToBigPeer = presence?.reachesBigPeer ?? (neighbour.peer.kind == .big)
    connections = neighbour.connections.map { DunlinConnection($0) }
    fields = presence?.metadata ?? [:]
    identityFields = neighbour.identity?.information ?? [:]
  }

  /// Describes this peer.
  init(_ own: PeerPresence, identity: PeerIdentity?) {
    id = own.site.description
    peerKey = identity?.key.description
    user = identity?.user
    identityFields = identity?.information ?? [:]
    kind = own.kind
    deviceName = own.deviceName
    system = own.system
    version = own.release
    isConnectedToBigPeer = own.reachesBigPeer
    connections = []
    fields = own.metadata
  }
}

/// A connection between this peer and another one.
public struct DunlinConnection: Hashable, Sendable, Identifiable {
  /// The number of the connection in this process.
  public let id: UInt64
  /// What carries it, for example `tcp` or `ws`.
  public let kind: String
  /// The address of the other end, for example `tcp://127.0.0.1:4040`.
  public let address: String
  /// Whether the other peer made the connection.
  public let isIncoming: Bool
  /// How far this peer's pull from the other one had come when the graph was read.
  ///
  /// It is of the current pull, or of the last one. Read the graph again for newer numbers: they are no
  /// change of the graph, and two connections are equal whatever theirs are.
  public let progress: PullProgress

  public static func == (one: Self, other: Self) -> Bool {
    one.id == other.id && one.kind == other.kind && one.address == other.address
      && one.isIncoming == other.isIncoming
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(address)
  }

  init(_ connection: PeerConnection) {
    progress = connection.progress.pull
    id = connection.id
    kind = connection.endpoint.kind
    address = connection.endpoint.description
    isIncoming = connection.direction == .incoming
  }
}
