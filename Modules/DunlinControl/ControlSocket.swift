import CRDTCore
public import DocStore
import Links
import Synchronization

/// Answers other processes of the same user over a local socket, while the application asks for that.
public final class ControlSocket: Sendable {
  private struct Hearings {
    /// Called with the progress of indexes that are being built.
    var all: [UInt64: @Sendable (IndexProgress) -> Void] = [:]
    var nextID: UInt64 = 1
  }

  private let host: ControlHost
  private let hearings = Mutex(Hearings())

  /// - Parameters:
  ///   - idleTime: How long a client may send no request, or read nothing.
  ///   - isPlaceless: Whether the database's directory cannot hold a socket, as on a file system without
  ///     sockets.
  public init(idleTime: Duration = ControlProtocol.idleTime, isPlaceless: Bool = false) {
    host = ControlHost(idleTime: idleTime, isPlaceless: isPlaceless)
  }

  /// Starts to listen, unless the socket listens already.
  ///
  /// - Returns: The socket's path.
  /// - Throws: `closed`; `link` with what is in the way of the socket.
  public func open(_ database: any ControlledDatabase) throws(ControlSocketError) -> String {
    let socket = ControlProtocol.socket(in: database.store.path, reachedBy: database.store.directory.path)
    return try host.open(socket, logger: database.logger) { [weak self, weak database] in
      guard let self, let database else { return nil }
      return SoleTarget(actions: ControlActions(database: database, control: self))
    }
  }

  /// Stops listening, and informs the clients that their requests have ended.
  public func stop() { host.stop() }

  /// Stops permanently.
  public func close() { host.close() }

  // MARK: - Indexes that are being built

  /// Passes the progress of an index to the requests that run.
  public func report(_ progress: IndexProgress) {
    for body in hearings.withLock({ Array($0.all.values) }) { body(progress) }
  }

  /// Calls `report` with the progress of indexes while `body` runs.
  func hearing<R>(
    _ report: @escaping @Sendable (IndexProgress) -> Void, _ body: () async throws -> R
  ) async throws -> R {
    let id = hearings.withLock { hearings in
      defer { hearings.nextID += 1 }
      hearings.all[hearings.nextID] = report
      return hearings.nextID
    }
    defer { _ = hearings.withLock { $0.all.removeValue(forKey: id) } }
    return try await body()
  }
}
