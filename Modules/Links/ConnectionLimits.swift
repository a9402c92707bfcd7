/// How many connections a network keeps, and for which peers.
///
/// Incoming connections count as half open twice: from their arrival to the peer's hello, and from the end of
/// their session until the socket is closed. In between they count among the sessions, whatever their address
/// is.
public struct ConnectionLimits: Hashable, Sendable {
  /// Half-open connections from one address, or from 64 bits of an IPv6 address.
  ///
  /// They have not said hello, or wait for their end.
  public var halfOpenByAddress = 16
  /// Half-open connections from all addresses.
  public var halfOpen = 512
  /// Connections that may arrive from one address at once, and then in each second.
  ///
  /// A connection that arrives sooner is closed at once.
  public var arrivalsByAddress = 512
  public var arrivalsByAddressPerSecond = 128
  /// Sessions with peers.
  ///
  /// Sessions that this peer has dialed count too, and are never refused.
  public var sessions: Int
  /// The maximum number of sessions with strangers.
  ///
  /// Strangers are peers that were unknown when they connected, and have moved no document since.
  public var strangers: Int
  /// The number of known peers to remember; the latest are kept.
  ///
  /// A peer is known if documents were moved over an earlier connection.
  public var knownPeers = 1_024
  /// The number of connections that may wait for a sign of life in another session of the same peer.
  public var claims = 64
  /// The number of such connections for one peer.
  public var claimsByPeer = 4
  /// The number of connections that may wait for the application's decision.
  ///
  /// Further peers are refused for want of room.
  public var undecided = 64
  /// The number of such connections of one key, or of one address if peers prove nothing.
  public var undecidedByOrigin = 8
  /// How long a connected peer may take to answer when another connection claims to be the same peer.
  ///
  /// If four round trips take longer, they count instead.
  public var signOfLife = Duration.seconds(2)
  /// How long after a connection was accepted one that was dialed before may replace it.
  ///
  /// See `Documentation/Transports.md`.
  public var crossing = Duration.seconds(5)

  /// Sets the number of sessions, a quarter of which is reserved for known peers.
  ///
  /// Beyond 256 sessions the bounds for half-open connections and for arrivals grow with it. After a restart
  /// all peers come back within seconds, and many of them may be behind one address.
  /// - Parameter sessions: At least 1.
  public init(sessions: Int = 256) {
    self.sessions = sessions
    strangers = sessions - sessions / 4
    halfOpenByAddress = max(halfOpenByAddress, sessions / 16)
    halfOpen = max(halfOpen, sessions)
    arrivalsByAddress = max(arrivalsByAddress, sessions * 2)
    arrivalsByAddressPerSecond = max(arrivalsByAddressPerSecond, sessions / 2)
    knownPeers = max(knownPeers, sessions)
  }

  /// How long a sign of life is valid.
  ///
  /// A peer that is asked more often need not answer.
  package static let signOfLifeHolds = Duration.milliseconds(250)
}
