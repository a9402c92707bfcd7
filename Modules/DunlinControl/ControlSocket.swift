import CRDTCore
public import DocStore
import Dispatch
import Links
import Logging
import Synchronization

/// Answers other processes of the same user over a local socket, while the application asks for that.
public final class ControlSocket: Sendable {
  private struct State {
    /// The path of the socket.
    var path = ""
    var listener: LocalListener?
    var accepting: Task<Void, Never>?
    var sessions: [UInt64: ControlSession] = [:]
    var nextID: UInt64 = 1
    var isClosed = false
    /// Called with the progress of indexes that are being built.
    var indexes: [UInt64: @Sendable (IndexProgress) -> Void] = [:]
  }

  private let idleTime: Duration
  private let isPlaceless: Bool
  private let state = Mutex(State())
  /// Held while the socket is created, so that it is created only once.
  private let opening = Mutex(())
  private let running = DispatchGroup()
  /// How long closing waits until the clients have their last answers.
  private static let closingTime = DispatchTimeInterval.seconds(1)

  /// - Parameters:
  ///   - idleTime: How long a client may send no request, or read nothing.
  ///   - isPlaceless: Whether the database's directory cannot hold a socket, as on a file system without
  ///     sockets.
  public init(idleTime: Duration = ControlProtocol.idleTime, isPlaceless: Bool = false) {
    self.idleTime = idleTime
    self.isPlaceless = isPlaceless
  }

  /// Starts to listen, unless the socket listens already.
  ///
  /// - Returns: The socket's path.
  /// - Throws: `closed`; `link` with what is in the way of the socket.
  public func open(_ database: any ControlledDatabase) throws(ControlSocketError) -> String {
    try opening.withLock { _ throws(ControlSocketError) in
      let (isClosed, isOpen) = state.withLock { ($0.isClosed, $0.listener != nil) }
      guard !isClosed else { throw .closed }
      if !isOpen { try listen(database) }
    }
    return state.withLock { $0.path }
  }

  private func listen(_ database: any ControlledDatabase) throws(ControlSocketError) {
    var socket = ControlProtocol.socket(in: database.store.path, reachedBy: database.store.directory.path)
    let listener: LocalListener
    do throws(LinkError) {
      (socket, listener) = try bind(socket, database)
    } catch {
      throw .link(error, path: socket.path)
    }
    let accepting = Task { [weak self, weak database] in
      for await connection in listener.connections {
        guard let self, let database else { return connection.close() }
        self.serve(connection, database)
      }
    }
    let isClosed = state.withLock { state in
      guard !state.isClosed else { return true }
      (state.listener, state.accepting, state.path) = (listener, accepting, socket.path)
      return false
    }
    // The database may have been closed in between.
    guard isClosed else { return }
    listener.closeBlocking()
    throw .closed
  }

  /// Creates the socket: in the database's directory, or elsewhere if that directory cannot hold a socket.
  private func bind(
    _ socket: LocalSocket, _ database: any ControlledDatabase
  ) throws(LinkError) -> (LocalSocket, LocalListener) {
    do throws(LinkError) {
      guard !isPlaceless else { throw socket.unsupported }
      return (socket, try Self.listen(socket, database))
    } catch {
      guard error.isOfPlace, let other = socket.substitute else { throw error }
      let listener = try Self.listen(other, database)
      database.logger.notice(
        "No socket can stand in the database's directory (\(error.message)): the control socket is \(other.path)"
      )
      return (other, listener)
    }
  }

  private static func listen(_ socket: LocalSocket, _ database: any ControlledDatabase) throws(LinkError)
    -> LocalListener
  {
    try LocalListener.bind(socket, lineBytes: ControlProtocol.lineBytes) {
      [logger = database.logger] in logger.warning("The control socket: \($0)")
    }
  }

  /// Stops listening, and informs the clients that their requests have ended.
  public func stop() {
    let (listener, accepting, sessions) = state.withLock { state in
      defer { (state.listener, state.accepting) = (nil, nil) }
      return (state.listener, state.accepting, Array(state.sessions.values))
    }
    listener?.closeBlocking()
    accepting?.cancel()
    for session in sessions { session.end() }
    if !sessions.isEmpty { _ = running.wait(timeout: .now() + Self.closingTime) }
    for session in sessions { session.close() }
  }

  /// Stops permanently.
  public func close() {
    state.withLock { $0.isClosed = true }
    stop()
  }

  private func serve(_ connection: LocalConnection, _ database: any ControlledDatabase) {
    running.enter()
    let (id, session, refusal) = state.withLock { state -> (UInt64, ControlSession?, ControlError?) in
      defer { state.nextID += 1 }
      guard !state.isClosed else {
        return (state.nextID, nil, ControlError(.closed, "the database is closed"))
      }
      guard state.sessions.count < ControlProtocol.clients else {
        let words = "\(ControlProtocol.clients) clients are connected already"
        return (state.nextID, nil, ControlError(.limit, words))
      }
      let session = ControlSession(
        connection, ControlActions(database: database, control: self), idleTime: idleTime)
      state.sessions[state.nextID] = session
      return (state.nextID, session, nil)
    }
    Task {
      if let session { await session.run() }
      if let refusal { await Self.refuse(connection, refusal) }
      _ = self.state.withLock { $0.sessions.removeValue(forKey: id) }
      self.running.leave()
    }
  }

  private static func refuse(_ connection: LocalConnection, _ error: ControlError) async {
    await connection.serve { _ in
      try? await connection.send(ControlProtocol.line(["error": .map(error.values)]))
    }
  }

  // MARK: - Indexes that are being built

  /// Passes the progress of an index to the requests that run.
  public func report(_ progress: IndexProgress) {
    for body in state.withLock({ Array($0.indexes.values) }) { body(progress) }
  }

  /// Calls `report` with the progress of indexes while `body` runs.
  func hearing<R>(
    _ report: @escaping @Sendable (IndexProgress) -> Void, _ body: () async throws -> R
  ) async throws -> R {
    let id = state.withLock { state in
      defer { state.nextID += 1 }
      state.indexes[state.nextID] = report
      return state.nextID
    }
    defer { _ = state.withLock { $0.indexes.removeValue(forKey: id) } }
    return try await body()
  }
}
