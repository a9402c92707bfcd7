public import Foundation
public import Logging
public import SyncProtocol

/// What a peer is: a device, or the cloud peer.
public typealias DunlinPeerKind = PeerKind

/// How a database behaves; the defaults are right for an application on a device.
public struct DunlinConfiguration: Sendable {
  /// What this peer is, which sync scopes go by: a device, or the cloud peer.
  public var peerKind: DunlinPeerKind
  /// Names this peer in the presence and the logs of others.
  public var peerName: String
  /// Takes log lines, whose metadata names the `database`; `nil` is a logger labelled `dunlin`, which writes to standard error
  /// while the application has set up no logging.
  public var logger: Logger?
  /// Hears of failures of calls that do not throw, after they were logged; called on any thread.
  public var failureHandler: (@Sendable (DunlinError) -> Void)?
  /// Address space reserved for the data; the file grows as needed up to about this size.
  public var mapBytes: Int
  /// zlib's level on the wire, 0 (none) to 9; `nil` goes by how fast each link is.
  public var compressionLevel: Int?
  /// How long an asynchronous transaction may be idle before it is rolled back.
  public var transactionDeadline: Duration
  /// How old a snapshot may get that is read while others write: `rows` of a query and long statements end then.
  ///
  /// A longer one lets slow loops finish, and the file grow by what is written meanwhile.
  public var snapshotDeadline: Duration = .seconds(60)
  /// Whether what `ALTER SYSTEM` sets, sync scopes among it, is kept over a restart, in the database's directory.
  ///
  /// Otherwise it is forgotten when the database closes.
  public var keepsSystemParameters = false
  /// Whether a database whose files were copied goes on under the name, and with the key, that it had: for one that is moved, and
  /// whose original is never opened again.
  ///
  /// Otherwise it is a peer of its own. No data depends on it: two databases of one name part when they meet.
  public var trustsCopies = false
  /// Whether this peer runs SELECTs for the peers that it is connected to.
  ///
  /// They read whatever is here: sync scopes do not restrict them.
  public var answersRemoteQueries: Bool
  /// Bytes in memory that one peer may take: three eighths of it with what it has sent and is not applied, beside one transaction,
  /// after which it waits; all of it with what it subscribes to and asks for, after which its connection is ended.
  public var peerMemoryBytes = 16 << 20
  /// The same for all peers together: three eighths with what they have sent, half with what they ask for.
  public var allPeersMemoryBytes = 64 << 20
  /// A file with the authorities (PEM) that the certificates of `wss` servers and of the login service are verified against; `nil`
  /// takes the system's.
  public var webAuthority: String?
  /// The addresses of web proxies before this peer's listeners for WebSockets: what they say in `X-Forwarded-For` of where a connection
  /// comes from is believed, so that limits go by it; of nobody else.
  public var webProxies: Set<String> = []
  /// The wall clock in place of the system's, for tests: writes are stamped by it, `clock()` in queries shows it, and the lifetime of
  /// deletions, logins and certificates goes by it.
  ///
  /// Connections wait, and give up, by the system's timers in any case.
  public var clock: (@Sendable () -> Date)?
  /// Keeps the device's private key; `nil` is a file in the database's directory.
  public var keyStore: (any DunlinKeyStore)?
  /// How long a client of the control socket may ask for nothing, or take nothing of what it has asked for, for tests.
  package var controlIdleTime = ControlProtocol.idleTime
  /// Stands in for a file system that has no sockets, for tests.
  package var refusesLocalSockets = false
  #if TLS
    /// Stands in for the time that logins go by, for tests that look at each wait.
    package var loginTime: LoginTime?
  #endif

  /// Sessions with peers at once, for the big peer; `nil` takes the network's default.
  package var sessions: Int?
  /// Gives a peer up only when its link is gone, however long it says nothing: a process that tests keep busy may be silent for long.
  package var waitsForPeers = false

  /// The time, from whichever clock.
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
