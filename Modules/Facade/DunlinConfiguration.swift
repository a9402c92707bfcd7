import DunlinControl
public import Foundation
public import Logging
public import SyncProtocol

/// The kind of a peer: a device, or the cloud peer.
public typealias DunlinPeerKind = PeerKind

/// How a database behaves; the defaults are right for an application on a device.
public struct DunlinConfiguration: Sendable {
  /// The kind of this peer, which sync scopes refer to: a device, or the cloud peer.
  ///
  /// With a certificate it must be what that says, otherwise sync does not start.
  public var peerKind: DunlinPeerKind
  /// The name of this peer in the presence graphs and the logs of other peers.
  ///
  /// If it is empty, the name is that of the host, without its domain. Only peers that observe presence then
  /// get a name: no connection carries it.
  public var peerName: String
  /// The logger, whose metadata has the directory of the database as `database`.
  ///
  /// `nil` selects a logger labelled `dunlin`. It writes to standard error unless the application has set up
  /// logging. Then warnings about large documents go to standard output, with the documents' ids; a log
  /// contains a hash of each id.
  public var logger: Logger?
  /// Called on any thread with each failure of a call that does not throw, after it was logged.
  public var failureHandler: (@Sendable (DunlinError) -> Void)?
  /// Address space reserved for the data; the file grows as needed up to about this size.
  public var mapBytes: Int
  /// The zlib level on the wire, from 0 (none) to 9; `nil` adapts it to the speed of each link.
  public var compressionLevel: Int?
  /// How long an asynchronous transaction may be idle before it is rolled back.
  public var transactionDeadline: Duration
  /// The greatest age of a snapshot that is being read while others write.
  ///
  /// After that time, `rows` of a query and long statements end. A longer time lets slow loops finish, but
  /// lets the file grow by what is written meanwhile.
  public var snapshotDeadline: Duration = .seconds(60)
  /// Whether parameters set with `ALTER SYSTEM`, such as sync scopes, are stored in the database's directory.
  ///
  /// Stored parameters survive a restart. Otherwise they are lost when the database closes.
  public var keepsSystemParameters = false
  /// Whether a database whose files were copied keeps its site and its key.
  ///
  /// Set this for a database that was moved, and whose original is never opened again. Otherwise the copy
  /// becomes a peer of its own. No data depends on this: two databases with the same site detect that when
  /// they meet, and continue as different sites.
  public var trustsCopies = false
  /// Whether the database is only read, for example one that ships with an application.
  ///
  /// Nothing is written to its directory, which must exist and need not be writable. Several processes can
  /// read it at the same time. Writes, `startSync()`, subscriptions and `ALTER SYSTEM` throw `readOnlyStore`.
  public var isReadOnly = false
  /// Whether this peer runs SELECT statements for the peers that it is connected to.
  ///
  /// Such a statement can read all documents of this database: sync scopes do not restrict it.
  public var answersRemoteQueries: Bool
  /// Bytes of memory that one peer may use.
  ///
  /// What the peer has sent and this one has not applied may take three eighths of it, beside one
  /// transaction; above that the peer has to wait. What it subscribes to and asks for may take all of it;
  /// above that its connection ends.
  public var peerMemoryBytes = 16 << 20
  /// Bytes of memory that all peers together may use.
  ///
  /// Three eighths of it are for what they have sent, half of it for what they ask for.
  public var allPeersMemoryBytes = 64 << 20
  /// A file with the certificate authorities (PEM) that verify `wss` servers and the login service.
  ///
  /// `nil` selects the authorities of the system.
  public var webAuthority: String?
  /// The addresses of web proxies before this peer's WebSocket listeners.
  ///
  /// Only these may say in `X-Forwarded-For` where a connection comes from. Connection limits then count by
  /// that address.
  public var webProxies: Set<String> = []
  /// A wall clock in place of the system's, for tests.
  ///
  /// Stamps of writes, `clock()` in queries, and the lifetimes of tombstones, logins and certificates use it.
  /// Connections wait and time out by the system's timers in any case.
  public var clock: (@Sendable () -> Date)?
  /// Where the device's private key is stored; `nil` selects a file in the database's directory.
  public var keyStore: (any DunlinKeyStore)?
  /// How long this peer syncs without hearing of revocations; `nil` for any time.
  ///
  /// If no peer has named a new revocation list, or confirmed those that this one has, for that time, this
  /// peer sends and takes no document, and reports `identity`. It stays connected, and goes on once a peer
  /// confirms its lists. The time is counted while the database is used: an absence counts as a day at most.
  ///
  /// Only for identities with certificates. The application's authority must have made a list, which may be
  /// empty.
  public var revocationsNeededWithin: Duration?
  /// How long a handler of the application may run before it is logged; another time is for tests.
  package var handlerWarning = Duration.seconds(10)
  /// How long a client of the control socket may be idle, for tests.
  ///
  /// An idle client sends no request, or reads nothing of the answers to its requests.
  package var controlIdleTime = ControlProtocol.idleTime
  /// Behaves like a file system that has no sockets, for tests.
  package var refusesLocalSockets = false
  #if TLS
    /// The time source for logins, for tests that check each wait.
    package var loginTime: LoginTime?
  #endif

  /// When a peer that can meet nobody warns, after sync was started.
  package var isolationDelay = Duration.seconds(5)
  /// How long tombstones live, and the compacted ones that follow them, for the big peer.
  ///
  /// `nil` selects the lifetimes of the kind of peer; a `nil` certificate lives for ever.
  package var deletionLifetimes: (tombstone: Duration, certificate: Duration?)?
  /// The number of simultaneous sessions, for the big peer; `nil` selects the network's default.
  package var sessions: Int?
  /// Whether a silent peer is kept until its link breaks, however long it is silent.
  ///
  /// Tests need this, since they can keep a process so busy that it is silent for long.
  package var waitsForPeers = false

  /// The current time of the configured clock.
  var now: @Sendable () -> Date { clock ?? { Date() } }

  /// Makes a configuration.
  public init(
    peerKind: DunlinPeerKind = .small, peerName: String = "", logger: Logger? = nil,
    failureHandler: (@Sendable (DunlinError) -> Void)? = nil, mapBytes: Int = 64 << 30,
    compressionLevel: Int? = nil, transactionDeadline: Duration = .seconds(30),
    answersRemoteQueries: Bool = false
  ) {
    self.peerKind = peerKind
    self.peerName = peerName
    self.logger = logger
    self.failureHandler = failureHandler
    self.mapBytes = mapBytes
    self.compressionLevel = compressionLevel
    self.transactionDeadline = transactionDeadline
    self.answersRemoteQueries = answersRemoteQueries
  }
}
