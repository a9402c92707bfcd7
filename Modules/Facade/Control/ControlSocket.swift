import CRDTCore
import DocStore
import Dispatch
import Links
import Logging
import Synchronization

/// Answers other processes of the same user over a local socket, while the application asks for that.
final class ControlSocket: Sendable {
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
  init(idleTime: Duration, isPlaceless: Bool = false) {
    self.idleTime = idleTime
    self.isPlaceless = isPlaceless
  }

  /// Starts to listen, unless the socket listens already.
  ///
  /// - Returns: The socket's path.
  /// - Throws: `closed`, `permission`, `exists`, `unreachable`, `tooManyFiles`, `io`.
  func open(_ core: Core) throws -> String {
    try opening.withLock { _ in
      let (isClosed, isOpen) = state.withLock { ($0.isClosed, $0.listener != nil) }
      guard !isClosed else { throw DunlinError(.closed, "the database is closed") }
      if !isOpen { try listen(core) }
    }
    return state.withLock { $0.path }
  }

  private func listen(_ core: Core) throws(DunlinError) {
    var socket = ControlProtocol.socket(in: core.store.path, reachedBy: core.store.directory.path)
    let listener: LocalListener
    do throws(LinkError) {
      (socket, listener) = try bind(socket, core)
    } catch {
      // The link layer reports `portInUse`, but a socket has no port.
      let code: DunlinError.Code? = error.code == .portInUse ? .exists : nil
      throw DunlinError(
        code ?? DunlinError(error).code, error.message, context: ["path": socket.path], underlying: error)
    }
    let accepting = Task { [weak self, weak core] in
      for await connection in listener.connections {
        guard let self, let core else { return connection.close() }
        self.serve(connection, core)
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
    throw DunlinError(.closed, "the database is closed")
  }

  /// Creates the socket: in the database's directory, or elsewhere if that directory cannot hold a socket.
  private func bind(
    _ socket: LocalSocket, _ core: Core
  ) throws(LinkError) -> (LocalSocket, LocalListener) {
    do throws(LinkError) {
      guard !isPlaceless else { throw socket.unsupported }
      return (socket, try Self.listen(socket, core))
    } catch {
      guard error.isOfPlace, let other = socket.substitute else { throw error }
      let listener = try Self.listen(other, core)
      core.reporter.logger.notice(
        "No socket can stand in the database's directory (\(error.message)): the control socket is \(other.path)"
      )
      return (other, listener)
    }
  }

  private static func listen(_ socket: LocalSocket, _ core: Core) throws(LinkError) -> LocalListener {
    try LocalListener.bind(socket, lineBytes: ControlProtocol.lineBytes) {
      [reporter = core.reporter] in reporter.logger.warning("The control socket: \($0)")
    }
  }

  /// Stops listening, and informs the clients that their requests have ended.
  func stop() {
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
  func close() {
    state.withLock { $0.isClosed = true }
    stop()
  }

  private func serve(_ connection: LocalConnection, _ core: Core) {
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
        connection, ControlActions(core: core, control: self), idleTime: idleTime)
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
  func report(_ progress: IndexProgress) {
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
