import DocStore
import SyncProtocol
import Transports

/// One open database: a peer that reads and writes locally at all times, and syncs with other peers.
///
/// Keep the object as long as the database is in use: the database closes when the object is released.
public final class Dunlin: Sendable {
  /// Documents: collections, queries, transactions, observers.
  public let store: DunlinStore
  /// What this peer pulls from others.
  public let sync: DunlinSync
  /// The peers that are connected now.
  public let presence: DunlinPresence
  let core: Core

  /// Opens the database in the directory at `path`, and creates the directory if it does not exist.
  ///
  /// - Parameters:
  ///   - path: A directory of the database's own. Only one process can use it at a time.
  ///   - identity: Which application the peer belongs to.
  ///   - configuration: The peer's kind and name, and limits.
  /// - Throws: `alreadyOpen`, `permission`, `unsupportedVersion`, `corrupt`, `full` or `io`, with the path in
  ///   the context.
  public init(
    path: String, identity: DunlinIdentity, configuration: DunlinConfiguration = DunlinConfiguration()
  ) throws {
    let core: Core
    do {
      core = try Core(path: path, identity: identity, configuration: configuration)
    } catch {
      let error = DunlinError.translating(error)
      throw (error as? DunlinError)?.located("database", path) ?? error
    }
    self.core = core
    store = DunlinStore(local: core.local)
    sync = DunlinSync(local: core.local, sync: core.sync)
    presence = DunlinPresence(board: core.presence, network: core.sync.network)
    #if TLS
      core.sync.identity?.login?.serve(self)
    #endif
  }

  deinit { core.close() }

  /// Starts to listen, to connect and to sync; has no effect while sync runs.
  ///
  /// Addresses can be added before and after this call. This peer pulls nothing without a subscription.
  ///
  /// - Throws: `portInUse`, `permission`, `unreachable`, `tooManyFiles` or `io` when the peer cannot listen
  ///   on an address, with the address; then nothing runs. `closed`.
  public func startSync() throws { try sync.start() }

  /// Stops syncing, and frees the ports before it returns.
  ///
  /// Sessions end soon after. Subscriptions stay.
  public func stopSync() { sync.stop() }

  /// Whether sync is started.
  public var isSyncActive: Bool { sync.isActive }

  /// Ends sync, observers and subscriptions, waits for writes that are in flight, and closes the files.
  ///
  /// Inside a write or an observer's handler this call cannot wait; a later call from elsewhere waits
  /// instead. In a task, it gives an open asynchronous transaction one second and then rolls it back. Calls
  /// on a closed database throw `closed`.
  ///
  /// System parameters and sync scopes are stored only if `DunlinConfiguration.keepsSystemParameters` is set.
  /// Otherwise, set them again after opening.
  public func close() throws { core.close() }

  /// Listens on one more TCP address: at once while sync runs, otherwise from `startSync()` on.
  ///
  /// - Parameters:
  ///   - host: The host name or address. 127.0.0.1 accepts connections from this machine only, 0.0.0.0 from
  ///     all its networks.
  ///   - port: The port; 0 selects any free one, which `listeningAddresses` then shows.
  /// - Throws: `portInUse`, `permission`, `unreachable` or `io`, with the host and the port; `closed`.
  public func listen(host: String = "127.0.0.1", port: Int = 0) throws {
    guard core.state.isOpen else { throw DunlinError(.closed, "the database is closed") }
    _ = try translatingErrors { try core.sync.network.listen(host: host, port: port) }
  }

  /// Listens for WebSockets on a TCP address: at once while sync runs, otherwise from `startSync()` on.
  ///
  /// The listener speaks plain HTTP. A web server or proxy before it adds the outer TLS of `wss://`. The
  /// connection inside is encrypted in any case, except with the development identity.
  ///
  /// - Parameters:
  ///   - host: The name or address to listen on.
  ///   - port: The port; 0 selects any free one.
  /// - Throws: As `listen(host:port:)`.
  public func listenForWebSockets(host: String = "127.0.0.1", port: Int = 0) throws {
    guard core.state.isOpen else { throw DunlinError(.closed, "the database is closed") }
    _ = try translatingErrors { try core.sync.network.listen(host: host, port: port, over: .webSocket) }
  }

  /// Connects to a WebSocket server while sync runs, and reconnects whenever the connection is lost.
  ///
  /// - Parameter url: `ws://host:port/path` or `wss://host:port/path`. For `wss`, this peer verifies the
  ///   server's certificate as any web client does. That proves nothing about the other peer, which proves
  ///   its identity inside the connection.
  /// - Throws: `unreachable` when `url` is not such an address, or when it is `wss` and the package's trait
  ///   `TLS` is off.
  public func connect(url: String) throws {
    core.sync.network.connect(try translatingErrors { try LinkSchemes.address(url: url) }, for: .application)
  }

  /// Ends the connection to a WebSocket server, and does not reconnect.
  ///
  /// - Throws: `unreachable` when `url` is not such an address.
  public func disconnect(url: String) throws {
    core.sync.network.disconnect(
      try translatingErrors { try LinkSchemes.address(url: url) }, for: .application)
  }

  /// Connects to a TCP address while sync runs, and reconnects whenever the connection is lost.
  public func connect(host: String, port: Int) { core.sync.network.connect(host: host, port: port) }

  /// Ends the connection to an address, and does not reconnect.
  public func disconnect(host: String, port: Int) { core.sync.network.disconnect(host: host, port: port) }

  /// The addresses that this peer listens on now, each with what connects there, sorted.
  ///
  /// With several listeners this tells which port is which: a TCP port and a WebSocket port for example.
  public var listeningAddresses: [DunlinListeningAddress] {
    core.sync.network.listeners.map { address, port in
      DunlinListeningAddress(kind: address.scheme.name, host: address.host, port: port)
    }.sorted()
  }

  /// The ports that this peer listens on now.
  public var listeningPorts: [Int] { core.sync.network.listeningPorts }

  /// A collection, which need not exist yet.
  public func collection(_ name: String) -> DunlinCollection { store.collection(name) }

  /// A collection, which need not exist yet.
  public subscript(name: String) -> DunlinCollection { store.collection(name) }
}
