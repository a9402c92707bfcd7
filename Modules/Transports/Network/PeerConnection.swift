public import Links
public import SyncProtocol

/// One connection to a peer, as it was when it was requested.
public struct PeerConnection: Hashable, Sendable, Identifiable {
  /// Which peer made the connection.
  public enum Direction: Hashable, Sendable {
    /// The other peer.
    case incoming
    /// This peer.
    case outgoing
  }

  /// Identifies the connection's session in this process.
  public let id: UInt64
  /// Which peer made the connection.
  public let direction: Direction
  /// The kind of link and the address of the other end.
  public let endpoint: LinkEndpoint
  /// What the peer said about itself; `nil` until it has said hello.
  public internal(set) var peer: PeerInfo?
  /// The identity that the peer has proved; `nil` if peers prove nothing.
  public internal(set) var identity: PeerIdentity?
  /// The presence that the peer has sent; `nil` unless presence is observed here.
  public internal(set) var presence: PeerPresence?
  /// The newest set of subscriptions that is complete here; 0 before the first.
  ///
  /// Complete means that everything that the peer had for them is stored here.
  public internal(set) var caughtUp: UInt64 = 0
  /// What the session has moved so far.
  public internal(set) var statistics = SyncStatistics()
  /// The session's progress; its times are those of the network's clock.
  public internal(set) var progress = SyncProgress()
}

/// An event in a network of peers.
public enum NetworkEvent: Sendable {
  /// The peers have met.
  case connected(PeerConnection)
  /// A connection is over; its peer is `nil` if the two never met.
  case disconnected(PeerConnection, SessionEnd)
  /// The presence of the connection's peer has changed.
  case presence(PeerConnection)
  /// A peer without a connection has not come back in time.
  case left(PeerInfo)
  /// An attempt to connect to the address failed; the next one follows after the delay.
  case attemptFailed(address: String, LinkError, retryAfter: Duration)
  /// Something happened in a connection's session.
  case session(PeerConnection, SyncEvent)
  /// The conditions that keep the network from reaching peers have changed; the set may be empty.
  case conditions(Set<TransportCondition>)
}
