public import CRDTCore
public import SyncProtocol

/// A peer that is connected, or was a moment ago.
public struct Neighbour: Hashable, Sendable, Identifiable {
  /// What it said in its hello.
  public let peer: PeerInfo
  /// Who it has proved to be; `nil` where nobody proves anything.
  public let identity: PeerIdentity?
  /// What it says of itself; `nil` unless somebody here observes, and until it has said it.
  public let presence: PeerPresence?
  /// Its connections, by age; none when it has left and is still waited for.
  public let connections: [PeerConnection]

  /// The peer's site.
  public var id: SiteID { peer.site }

  /// - Parameter connections: Those of one peer, which have met it, by age; at least one.
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

  /// The same peer when it has left.
  var departed: Neighbour { Neighbour(peer, identity, presence) }
}
