import CRDTCore
import DocStore
import QueryEngine
import SyncProtocol

/// What a network of peers knows, behind its lock.
struct NetworkState {
  /// Where to listen.
  struct ListeningAddress: Hashable, Sendable {
    let host: String
    let port: Int
    let carrier: TCPListener.Carrier
  }

  /// Where to connect.
  enum Address: Hashable, Sendable {
    case tcp(host: String, port: Int)
    case webSocket(WebSocketAddress)

    func connector(_ options: TCPOptions) -> any LinkConnector {
      switch self {
      case .tcp(let host, let port): TCPConnector(host: host, port: port, options: options)
      case .webSocket(let address): WebSocketConnector(address, options: options)
      }
    }
  }

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
    let dialed: Address?
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
  var isRunning = false
  var listening: [ListeningAddress] = []
  var connecting: [Address] = []
  var subscriptions: [SubscriptionQuery] = []
  var listeners: [TCPListener] = []
  var sessions: [UInt64: Session] = [:]
  /// Everything that runs; a task takes itself out at its end.
  var tasks: [UInt64: Task<Void, Never>] = [:]
  /// The task that keeps the connection to an address.
  var dialers: [Address: UInt64] = [:]
  /// The dialers that wait: until another connection to their peer is gone, or until there are credentials.
  var parked: [UInt64: Latch] = [:]
  var observers: [UInt64: AsyncStream<NetworkEvent>.Continuation] = [:]
  /// Hears when the store takes a new site, from the start of the network to its stop.
  var siteListener: CommitListener?
  /// When the store was last given a new site because of a peer.
  var lastRenewal: Duration?
  private var lastID: UInt64 = 0

  init(_ limits: ConnectionLimits) {
    self.limits = limits
    knownPeers = KnownPeers(limit: limits.knownPeers)
  }

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
