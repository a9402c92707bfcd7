import DocStore
import SyncProtocol
import Transports

/// One open database: a peer that reads and writes locally, always, and syncs with the peers it reaches.
///
/// Keep it as long as the database is in use: it closes when it is let go of.
public final class Dunlin: Sendable {
  /// Documents: collections, queries, transactions, observers.
  public let store: DunlinStore
  /// What this peer pulls from others.
  public let sync: DunlinSync
  /// The peers that are connected now.
  public let presence: DunlinPresence
  let core: Core

  /// Opens the database in the directory at `path`, which is made if need be.
  ///
  /// - Parameters:
  ///   - path: A directory of the database's own; one process uses it at a time.
  ///   - identity: Which application the peer belongs to.
  ///   - configuration: The peer's kind and name, and limits.
  /// - Throws: `alreadyOpen`, `permission`, `unsupportedVersion`, `corrupt`, `full` or `io`, with the path in the context.
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
    store = DunlinStore(core: core)
    sync = DunlinSync(core: core)
    presence = DunlinPresence(core: core)
    #if TLS
      core.identity?.login?.serve(self)
    #endif
  }

  deinit { core.close() }

  /// Begins to listen, to connect and to sync; has no effect while it runs.
  ///
  /// Addresses may be given before and after. Nothing is pulled without a subscription.
  /// - Throws: `portInUse`, `permission`, `unreachable`, `tooManyFiles` or `io` when an address cannot be listened on, naming
  ///   it; then nothing runs. `closed`.
  public func startSync() throws { try sync.start() }

  /// Stops syncing: ports are free when this returns, sessions end soon after; subscriptions stay.
  public func stopSync() { sync.stop() }

  /// Whether sync is started.
  public var isSyncActive: Bool { sync.isActive }

  /// Ends sync, observers and subscriptions, waits for writes that are under way, and closes the files.
  ///
  /// Inside a write or an observer's handler it cannot wait; a later call elsewhere then does. In a task it gives an
  /// open asynchronous transaction a second and then rolls it back. Calls on a closed database throw `closed`. System parameters and sync scopes
  /// are kept only where `DunlinConfiguration.keepsSystemParameters` asks for it: else set them again after opening.
  public func close() throws { core.close() }

  /// Listens on one more TCP address: at once while sync runs, else from `startSync()` on.
  ///
  /// - Parameters:
  ///   - host: The name or address: 127.0.0.1 is this machine only, 0.0.0.0 every network of it.
  ///   - port: The port, 0 for any free one; `listeningPorts` says which.
  /// - Throws: `portInUse`, `permission`, `unreachable` or `io`, naming host and port; `closed`.
  public func listen(host: String = "127.0.0.1", port: Int = 0) throws {
    guard core.isOpen else { throw DunlinError(.closed, "the database is closed") }
    _ = try translatingErrors { try core.network.listen(host: host, port: port) }
  }

  /// Listens for WebSockets on a TCP address: at once while sync runs, else from `startSync()` on.
  ///
  /// The listener speaks plain HTTP. A web server or proxy before it adds the outer TLS of `wss://`; what peers say is encrypted inside
  /// in any case, unless the identity is that for development.
  /// - Parameters:
  ///   - host: The name or address to listen on.
  ///   - port: The port, 0 for any free one.
  /// - Throws: As `listen(host:port:)`.
  public func listenForWebSockets(host: String = "127.0.0.1", port: Int = 0) throws {
    guard core.isOpen else { throw DunlinError(.closed, "the database is closed") }
    _ = try translatingErrors { try core.network.listen(host: host, port: port, over: .webSocket) }
  }

  /// Connects to a WebSocket server, and again whenever the connection is lost, while sync runs.
  ///
  /// - Parameter url: `ws://host:port/path` or `wss://host:port/path`. For `wss` the server's certificate is verified like any web
  ///   client does; that proves nothing about the peer, which proves itself inside.
  /// - Throws: `unreachable` when it is no such address, or `wss` needs the package's trait `TLS`.
  public func connect(url: String) throws {
    core.network.connect(to: try translatingErrors { try WebSocketAddress(url) })
  }

  /// Ends the connection to a WebSocket server and makes it no more.
  ///
  /// - Throws: `unreachable` when it is no such address.
  public func disconnect(url: String) throws {
    core.network.disconnect(from: try translatingErrors { try WebSocketAddress(url) })
  }

  /// Connects to a TCP address, and again whenever the connection is lost, while sync runs.
  public func connect(host: String, port: Int) { core.network.connect(host: host, port: port) }

  /// Ends the connection to an address and makes it no more.
  public func disconnect(host: String, port: Int) { core.network.disconnect(host: host, port: port) }

  /// The ports that this peer listens on now.
  public var listeningPorts: [Int] { core.network.listeningPorts }

  /// The addresses that this peer listens on now, such as `tcp://127.0.0.1:4040`, for the project's own tools.
  package var listeningAddresses: [String] { core.network.listeningAddresses }

  /// A collection, which need not exist yet.
  public func collection(_ name: String) -> DunlinCollection { store.collection(name) }

  /// A collection, which need not exist yet.
  public subscript(name: String) -> DunlinCollection { store.collection(name) }
}
