import CRDTCore
import DocStore
import Links
import QueryLanguage
import SyncProtocol

/// The state of a network of peers, protected by its lock.
struct NetworkState {
  #if TLS
    /// The credentials by which this peer proves itself; without them links are plain.
    var credentials: PeerCredentials?
    /// Called with what has changed in the revocation lists.
    var revocationHandlers: [@Sendable (RevocationLists.Change) -> Void] = []
  #endif
  /// How often the credentials have changed.
  var credentialsNumber = 0

  /// A running session.
  struct Session {
    let driver: SessionDriver
    /// The address that was dialed, for a connection that this network maintains.
    let dialed: LinkAddress?
    let startedAt: Duration
    let origin: ConnectionOrigin
    /// Lets callers wait for the session's end.
    let served: ServedSession
    var connection: PeerConnection
    var admission = Admission.awaitingHello
    /// What the peer may do, once it has said hello.
    var access: PeerAccess?
    /// Whether the peer was known when it connected.
    var isKnown = false

    /// The identity that the peer has proved, if the link requires one.
    var provenPeer: ProvenPeer? { (driver.link as? any ProvenLink)?.provenPeer }

    /// The connection with its current figures.
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
  /// Decides which connections are accepted.
  var requestHandler: ConnectionRequestHandler?
  /// The bound of the delays between attempts to connect.
  var longestDelay: Duration
  /// Identifies the task that dials candidates.
  var candidateRun: UInt64 = 0
  var isRunning = false
  /// Whether the network has said that it can meet nobody.
  var hasWarnedOfIsolation = false
  /// Whether the network is closed for good.
  var isClosed = false
  /// An address to listen on.
  struct Listening {
    let id: UInt64
    let address: ListeningAddress
    /// The port in use, or in use before the network stopped; `nil` before it listened.
    var port: Int?
  }

  var listening: [Listening] = []
  /// An address to which a connection is maintained.
  struct Destination {
    /// The parts that want the connection.
    var owners: Set<AddressOwner> = []
    /// The kind of the last peer that was met there; `nil` before the first.
    var kind: PeerKind?
    /// Why the last attempt did not lead to a peer; `nil` after one that did.
    var failure: String?
  }

  var connecting: [LinkAddress: Destination] = [:]
  var subscriptions: [SubscriptionQuery] = []
  /// How often the subscriptions were replaced.
  var subscriptionsNumber: UInt64 = 0
  var departed = DepartedPeers()
  var listeners: [(address: ListeningAddress, listener: any LinkListener)] = []
  var sessions: [UInt64: Session] = [:]
  /// All running tasks; a task removes itself at its end.
  var tasks: [UInt64: Task<Void, Never>] = [:]
  /// The tasks that only wait for a time.
  ///
  /// They are not needed when the network stops.
  var timers: Set<UInt64> = []
  /// The task that maintains the connection to an address.
  var dialers: [LinkAddress: UInt64] = [:]
  /// The dialers that wait until another connection to their peer has ended, or until there are credentials.
  var parked: [UInt64: Latch] = [:]
  var observers: [UInt64: AsyncStream<NetworkEvent>.Continuation] = [:]
  /// Called when the store takes a new site, from the start of the network to its stop.
  var siteListener: CommitListener?
  /// Peers that may be reachable, besides the addresses to connect to.
  var candidates: CandidateBook
  var discovery: DiscoveryState?
  /// What keeps the network from reaching peers.
  var conditions: [ConditionSource: Set<TransportCondition>] = [:]
  /// When the store last got a new site because of a peer.
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

  /// The sites of all peers with a running session.
  var connectedSites: Set<SiteID> { Set(sessions.values.compactMap { $0.admittedPeer?.site }) }

  /// Whether a session with the peer is running.
  func isConnected(to site: SiteID) -> Bool {
    sessions.values.contains { $0.admittedPeer?.site == site }
  }

  /// A number that is unique in this network.
  mutating func newID() -> UInt64 {
    lastID += 1
    return lastID
  }
}
