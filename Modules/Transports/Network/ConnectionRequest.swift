public import SyncProtocol

/// A connection to a peer that has said hello, and, where it must, has proved who it is.
public struct ConnectionRequest: Hashable, Sendable {
  /// What the peer says in its hello.
  public let peer: PeerInfo
  /// Who it has proved to be; `nil` where nobody proves anything.
  public let identity: PeerIdentity?
  /// Who made the connection.
  public let direction: PeerConnection.Direction
  /// The kind of link and where the other end is.
  public let endpoint: LinkEndpoint
}

/// Decides whether this peer syncs with another one.
public typealias ConnectionRequestHandler = @Sendable (ConnectionRequest) async -> Bool
