public import CRDTCore
public import Links
public import SyncProtocol

/// A peer that is connected, or was until a moment ago.
public struct Neighbour: Hashable, Sendable, Identifiable {
  /// The information in the peer's hello.
  public let peer: PeerInfo
  /// The identity that the peer has proved; `nil` if peers prove nothing.
  public let identity: PeerIdentity?
  /// The peer's presence; `nil` before it has sent one, or unless presence is observed here.
  public let presence: PeerPresence?
  /// Its connections, oldest first; empty when it has left and may still come back.
  public let connections: [PeerConnection]

  /// The peer's site.
  public var id: SiteID { peer.site }

  /// - Parameter connections: Those of one peer, after its hello, oldest first; at least one.
  init?(_ connections: [PeerConnection]) {
    guard let newest = connections.last, let peer = newest.peer else { return nil }
    self.peer = peer
    identity = newest.identity
    presence = connections.compactMap(\.presence).max { $0.version < $1.version }
    self.connections = connections
  }

  private init(_ peer: PeerInfo, _ identity: PeerIdentity?, _ presence: PeerPresence?) {
    (self.peer, self.identity, self.presence) = (peer, identity, presence)
    connections = []
  }

  /// The same peer after it has left.
  var departed: Neighbour { Neighbour(peer, identity, presence) }
}
