/// How many connections a network keeps, and for whom.
///
/// Connections that others make count twice in their life: from their arrival to the peer's hello, and from the end of their
/// session until the socket is closed. In between they count among the sessions, whatever their address is.
public struct ConnectionLimits: Hashable, Sendable {
  /// Connections from one address, of IPv6 from 64 bits of it, that have not said hello or wait for their end.
  public var halfOpenByAddress = 16
  /// Such connections from all addresses.
  public var halfOpen = 512
  /// Connections that may come from one address at once, and then in each second; one that comes sooner is closed as it arrives.
  public var arrivalsByAddress = 512
  public var arrivalsByAddressPerSecond = 128
  /// Sessions with peers; those that this peer has dialed count too, and are never refused.
  public var sessions: Int
  /// Sessions with strangers among them: peers that were not known when they came, and have moved no document since.
  public var strangers: Int
  /// Peers that are known because documents were moved over an earlier connection; the latest are remembered.
  public var knownPeers = 1_024
  /// Connections that wait for whether the peer that they claim to be is gone from another one.
  public var claims = 64
  /// Such connections for one peer.
  public var claimsByPeer = 4
  /// Connections about which the application thinks; further peers are told that there is no room.
  public var undecided = 64
  /// Such connections of one key, or of one address where nobody proves anything.
  public var undecidedByOrigin = 8
  /// How long a connected peer has to answer when another connection claims to be of the same peer; four round trips where
  /// these take longer.
  public var signOfLife = Duration.seconds(2)
  /// Within this time after a connection was accepted, one that was dialed before may take its place: see
  /// `Documentation/Transports.md`.
  public var crossing = Duration.seconds(5)

  /// Sets the number of sessions, of which a quarter is kept for peers that are known.
  ///
  /// Beyond 256 sessions the bounds for half-open connections and for arrivals grow with it: after a restart all peers
  /// come back within seconds, and many of them may stand behind one address.
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

  /// For so long the answer to one question after a sign of life holds: a peer that is asked more often need not answer.
  static let signOfLifeHolds = Duration.milliseconds(250)
}
