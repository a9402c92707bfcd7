public import SyncProtocol

/// One connection to a peer, as it is at the moment of asking.
public struct PeerConnection: Hashable, Sendable, Identifiable {
  /// Who made the connection.
  public enum Direction: Hashable, Sendable {
    /// The other peer.
    case incoming
    /// This peer.
    case outgoing
  }

  /// Names the connection's session in this process.
  public let id: UInt64
  /// Who made it.
  public let direction: Direction
  /// The kind of link and where the other end is.
  public let endpoint: LinkEndpoint
  /// What the peer said about itself; `nil` until it has said hello.
  public internal(set) var peer: PeerInfo?
  /// Who the peer has proved to be; `nil` where nobody proves anything.
  public internal(set) var identity: PeerIdentity?
  /// What the peer says of itself; `nil` unless somebody here observes.
  public internal(set) var presence: PeerPresence?
  /// The newest set of subscriptions for which all that the peer had is here; 0 before the first.
  public internal(set) var caughtUp: UInt64 = 0
  /// What the session has moved so far.
  public internal(set) var statistics = SyncStatistics()
  /// How far it has come; its times are those of the network's clock.
  public internal(set) var progress = SyncProgress()
}

/// What happens in a network of peers.
public enum NetworkEvent: Sendable {
  /// The peers have met.
  case connected(PeerConnection)
  /// A connection is over; its peer is `nil` where the two never met.
  case disconnected(PeerConnection, SessionEnd)
  /// The connection's peer says something else of itself than before.
  case presence(PeerConnection)
  /// A peer that had no connection any more has not come back in time.
  case left(PeerInfo)
  /// An attempt to connect to the address failed; the next one follows after the delay.
  case attemptFailed(address: String, LinkError, retryAfter: Duration)
  /// Something happened in a connection's session.
  case session(PeerConnection, SyncEvent)
  /// What keeps the network from reaching peers is something else now; none is left where the set is empty.
  case conditions(Set<TransportCondition>)
}
