public import DunlinKit
import Logging
import Synchronization

/// A database of a test's own: it lies in memory where the system has a file system there, and is gone with this.
///
/// ```swift
/// let phone = try TestDatabase("phone"), tablet = try TestDatabase("tablet")
/// try phone.connect(to: tablet)
/// try await tablet.dunlin.store["cars"].upsert(["_id": "a", "color": "red"])
/// ```
///
/// Tests may run at the same time: each has its own.
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
  ///   - name: What it is called in logs, and by its peers.
  ///   - identity: Which application it belongs to; peers of one test share it.
  ///   - clock: Its wall clock; `nil` is that of the configuration, which is the system's unless it says otherwise.
  ///   - configuration: How it behaves. Without a logger it logs nothing.
  /// - Throws: What `Dunlin` throws; what the file system reports.
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

  /// The files go after the database that uses them.
  deinit { try? dunlin.close() }

  /// The database as it is open now.
  public var dunlin: Dunlin { current.withLock { $0 } }

  /// Closes the database and opens it anew, as an application that is started again does; connections are gone, and sync is stopped.
  ///
  /// - Returns: The database, which `dunlin` is from now on.
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
  /// No port is used. A commit at one is at the other within about a millisecond, unless a line is emulated.
  ///
  /// - Parameters:
  ///   - other: The other database.
  ///   - line: The properties of an emulated line, the same both ways, such as `.constrained`; `nil` delivers at once.
  /// - Returns: The connection; it goes on without being held, until it is cut or one of the databases is closed.
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

  /// Cuts it, as when a device goes out of reach; another is made by connecting again.
  public func cut() { link.close(LinkError(.disconnected, "The test has cut the connection")) }

  /// Bytes that were sent and received at the end that connected.
  public var statistics: LinkStatistics { link.statistics }
}
