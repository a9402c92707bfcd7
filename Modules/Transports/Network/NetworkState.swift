import CRDTCore
import DocStore
import QueryEngine
import SyncProtocol

/// What a network of peers knows, behind its lock.
struct NetworkState {
  #if TLS
    /// What this peer proves itself with; without it links are plain.
    var credentials: PeerCredentials?
  #endif
  /// How often that has changed.
  var credentialsNumber = 0

  /// A session that runs.
  struct Session {
    let driver: SessionDriver
    /// The address that it was dialed at, for a connection that this network keeps up.
    let dialed: PeerAddress?
    let startedAt: Duration
    let origin: ConnectionOrigin
    /// For who waits for its end.
    let served: ServedSession
    var connection: PeerConnection
    var standing = Standing.awaitingHello
    /// Whether the peer was known when it came.
    var isKnown = false

    /// Who the peer has proved to be, over a link on which it must.
    var provenPeer: ProvenPeer? { (driver.link as? any ProvenLink)?.provenPeer }

    /// The connection with figures of this moment.
    var current: PeerConnection {
      var current = connection
      current.statistics = driver.statistics
      current.progress = driver.progress
      return current
    }
  }

  let limits: ConnectionLimits
  var knownPeers: KnownPeers
  var presence: PresenceState
  /// Decides which connections there are.
  var requestHandler: ConnectionRequestHandler?
  /// The bound of the delays between attempts to connect.
  var longestDelay: Duration
  /// Names the task that dials candidates.
  var candidateRun: UInt64 = 0
  var isRunning = false
  /// Whether nothing will ever run again.
  var isClosed = false
  /// An address to listen on.
  struct Listening {
    let id: UInt64
    let address: ListeningAddress
    /// The port that it has, or had before the network stopped; `nil` before it listened.
    var port: Int?
  }

  var listening: [Listening] = []
  /// An address that is kept connected.
  struct Destination {
    /// Those who want the connection.
    var owners: Set<AddressOwner> = []
    /// The kind of the peer that was met there last; `nil` before the first.
    var kind: PeerKind?
    /// Why the last attempt did not lead to a peer; `nil` after one that did.
    var failure: String?
  }

  var connecting: [PeerAddress: Destination] = [:]
  var subscriptions: [SubscriptionQuery] = []
  /// How often they were replaced.
  var subscriptionsNumber: UInt64 = 0
  var departed = DepartedPeers()
  var listeners: [(address: ListeningAddress, listener: TCPListener)] = []
  var sessions: [UInt64: Session] = [:]
  /// Everything that runs; a task takes itself out at its end.
  var tasks: [UInt64: Task<Void, Never>] = [:]
  /// Those that only wait for a time, and need not when the network stops.
  var timers: Set<UInt64> = []
  /// The task that keeps the connection to an address.
  var dialers: [PeerAddress: UInt64] = [:]
  /// The dialers that wait: until another connection to their peer is gone, or until there are credentials.
  var parked: [UInt64: Latch] = [:]
  var observers: [UInt64: AsyncStream<NetworkEvent>.Continuation] = [:]
  /// Hears when the store takes a new site, from the start of the network to its stop.
  var siteListener: CommitListener?
  /// Peers that may be there, beside the addresses to connect to.
  var candidates: CandidateBook
  var discovery: DiscoveryState?
  /// What keeps the network from reaching peers.
  var conditions: [ConditionSource: Set<TransportCondition>] = [:]
  /// When the store was last given a new site because of a peer.
  var lastRenewal: Duration?
  var clockJury = ClockJury()
  private var lastID: UInt64 = 0

  init(_ options: PeerNetwork.Options, presence: PresenceState) {
    limits = options.limits
    longestDelay = options.backoff.longest
    self.presence = presence
    knownPeers = KnownPeers(limit: limits.knownPeers)
    candidates = CandidateBook(backoff: options.candidateBackoff)
  }

  /// The sites of all peers with which a session runs.
  var connectedSites: Set<SiteID> { Set(sessions.values.compactMap { $0.admittedPeer?.site }) }

  /// Whether a session with the peer runs.
  func isConnected(to site: SiteID) -> Bool {
    sessions.values.contains { $0.admittedPeer?.site == site }
  }

  /// A number that names nothing else in this network.
  mutating func newID() -> UInt64 {
    lastID += 1
    return lastID
  }
}
