import CRDTCore
import Dispatch
import Links
import Logging
import Synchronization

/// Listens at a control socket, and has a session serve each client.
final class ControlHost: Sendable {
  /// What a new client may work on; `nil` when there is nothing any more.
  typealias Find = @Sendable () -> (any ControlTargets)?

  private struct State {
    /// The path of the socket.
    var path = ""
    var listener: LocalListener?
    var accepting: Task<Void, Never>?
    var sessions: [UInt64: ControlSession] = [:]
    var nextID: UInt64 = 1
    var isClosed = false
  }

  private let idleTime: Duration
  private let isPlaceless: Bool
  private let state = Mutex(State())
  /// Held while the socket is created, so that it is created only once.
  private let opening = Mutex(())
  private let running = DispatchGroup()
  /// How long closing waits until the clients have their last answers.
  private static let closingTime = DispatchTimeInterval.seconds(1)

  init(idleTime: Duration, isPlaceless: Bool = false) {
    self.idleTime = idleTime
    self.isPlaceless = isPlaceless
  }

  /// Starts to listen, unless the socket listens already.
  ///
  /// - Returns: The socket's path.
  /// - Throws: `closed`; `link` with what is in the way of the socket.
  func open(
    _ socket: LocalSocket, logger: Logger, targets: @escaping Find
  ) throws(ControlSocketError) -> String {
    try opening.withLock { _ throws(ControlSocketError) in
      let (isClosed, isOpen) = state.withLock { ($0.isClosed, $0.listener != nil) }
      guard !isClosed else { throw .closed }
      if !isOpen { try listen(socket, logger, targets) }
    }
    return state.withLock { $0.path }
  }

  private func listen(
    _ wanted: LocalSocket, _ logger: Logger, _ targets: @escaping Find
  ) throws(ControlSocketError) {
    var socket = wanted
    let listener: LocalListener
    do throws(LinkError) {
      (socket, listener) = try bind(wanted, logger)
    } catch {
      throw .link(error, path: socket.path)
    }
    let accepting = Task { [weak self] in
      for await connection in listener.connections {
        guard let self, let targets = targets() else { return connection.close() }
        self.serve(connection, targets)
      }
    }
    let isClosed = state.withLock { state in
      guard !state.isClosed else { return true }
      (state.listener, state.accepting, state.path) = (listener, accepting, socket.path)
      return false
    }
    // The socket may have been closed for ever in between.
    guard isClosed else { return }
    listener.closeBlocking()
    throw .closed
  }

  /// Creates the socket: in its directory, or elsewhere if that directory cannot hold a socket.
  private func bind(
    _ socket: LocalSocket, _ logger: Logger
  ) throws(LinkError) -> (LocalSocket, LocalListener) {
    do throws(LinkError) {
      guard !isPlaceless else { throw socket.unsupported }
      return (socket, try Self.listen(socket, logger))
    } catch {
      guard error.isOfPlace, let other = socket.substitute else { throw error }
      let listener = try Self.listen(other, logger)
      logger.notice(
        "No socket can stand in the database's directory (\(error.message)): the control socket is \(other.path)"
      )
      return (other, listener)
    }
  }

  private static func listen(_ socket: LocalSocket, _ logger: Logger) throws(LinkError) -> LocalListener {
    try LocalListener.bind(socket, lineBytes: ControlProtocol.lineBytes) {
      logger.warning("The control socket: \($0)")
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

  private func serve(_ connection: LocalConnection, _ targets: any ControlTargets) {
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
      let session = ControlSession(connection, targets, idleTime: idleTime)
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
}
