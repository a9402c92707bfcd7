public import DunlinKit
import Logging
import Synchronization

/// A temporary database for one test; it is deleted together with this object.
///
/// ```swift
/// let phone = try TestDatabase("phone"), tablet = try TestDatabase("tablet")
/// try phone.connect(to: tablet)
/// try await tablet.dunlin.store["cars"].upsert(["_id": "a", "color": "red"])
/// ```
///
/// It is in memory if the system has a file system there. Tests may run at the same time: each has its own
/// database.
public final class TestDatabase: Sendable {
  /// The directory of the database.
  public let path: String
  private let directory: TestDirectory
  private let identity: DunlinIdentity
  private let configuration: DunlinConfiguration
  private let current: Mutex<Dunlin>

  /// Makes an empty database and opens it.
  ///
  /// - Parameters:
  ///   - name: Its name in logs, and for its peers.
  ///   - identity: The application that it belongs to; peers of one test share it.
  ///   - clock: Its wall clock. With `nil` it uses the clock of the configuration, which is the system's by
  ///     default.
  ///   - configuration: The configuration of the database. Without a logger it logs nothing.
  /// - Throws: What `Dunlin` throws; errors of the file system.
  public init(
    _ name: String = "test", identity: DunlinIdentity = .unsafeDevelopment(appID: "tests"),
    clock: TestClock? = nil, configuration: DunlinConfiguration = DunlinConfiguration()
  ) throws {
    var configuration = configuration
    if configuration.peerName.isEmpty { configuration.peerName = name }
    if let clock { configuration.clock = { clock.now } }
    if configuration.logger == nil {
      configuration.logger = Logger(label: "dunlin.\(name)") { _ in SwiftLogNoOpLogHandler() }
    }
    configuration.waitsForPeers = true
    let directory = try TestDirectory()
    path = directory.path + "/database"
    current = Mutex(try Dunlin(path: path, identity: identity, configuration: configuration))
    (self.directory, self.identity, self.configuration) = (directory, identity, configuration)
  }

  /// The files are deleted after the database that uses them.
  deinit { try? dunlin.close() }

  /// The database that is open now.
  public var dunlin: Dunlin { current.withLock { $0 } }

  /// Closes the database and opens it again, like an application that is restarted.
  ///
  /// All connections are lost, and sync is stopped.
  /// - Returns: The database, which `dunlin` returns from now on.
  /// - Throws: What `Dunlin` throws.
  @discardableResult
  public func reopen() throws -> Dunlin {
    try current.withLock { current in
      try current.close()
      current = try Dunlin(path: path, identity: identity, configuration: configuration)
      return current
    }
  }

  /// Connects two databases of this process with each other, and starts sync at both.
  ///
  /// No port is used. A commit at one reaches the other within about a millisecond, unless a line is
  /// emulated.
  ///
  /// - Parameters:
  ///   - other: The other database.
  ///   - line: The properties of an emulated line, the same in both directions, such as `.constrained`; `nil`
  ///     delivers at once.
  /// - Returns: The connection. It need not be kept: it lasts until it is cut or one of the databases is
  ///   closed.
  /// - Throws: What `startSync()` and `adopt(_:direction:)` throw.
  @discardableResult
  public func connect(to other: TestDatabase, over line: LinkProfile? = nil) throws -> TestConnection {
    let names = (configuration.peerName, other.configuration.peerName)
    let (near, far) = MemoryLink.pair(profile: line, names: names)
    for dunlin in [dunlin, other.dunlin] where !dunlin.isSyncActive { try dunlin.startSync() }
    try dunlin.sync.adopt(near, direction: .outgoing)
    try other.dunlin.sync.adopt(far, direction: .incoming)
    return TestConnection(near)
  }
}

/// A connection between two databases of one process.
public final class TestConnection: Sendable {
  private let link: MemoryLink

  init(_ link: MemoryLink) { self.link = link }

  /// Cuts the connection, as when a device goes out of reach; connect again to make a new one.
  public func cut() { link.close(LinkError(.disconnected, "The test has cut the connection")) }

  /// The bytes that were sent and received at the end that connected.
  public var statistics: LinkStatistics { link.statistics }
}
