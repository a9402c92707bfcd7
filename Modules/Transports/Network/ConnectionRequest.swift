public import Links
public import SyncProtocol

/// A connection to a peer that has said hello and, if required, has proved its identity.
public struct ConnectionRequest: Hashable, Sendable {
  /// The information in the peer's hello.
  public let peer: PeerInfo
  /// The identity that the peer has proved; `nil` if peers prove nothing.
  public let identity: PeerIdentity?
  /// Which peer made the connection.
  public let direction: PeerConnection.Direction
  /// The kind of link and the address of the other end.
  public let endpoint: LinkEndpoint
}

/// Decides whether this peer syncs with another one.
public typealias ConnectionRequestHandler = @Sendable (ConnectionRequest) async -> Bool
