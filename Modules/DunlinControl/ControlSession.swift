import CRDTCore
import Links
import Synchronization

/// One client of a control socket.
///
/// Its requests run in parallel. The session sends answers as fast as the client reads them.
final class ControlSession: Sendable {
  /// A request that has not been answered completely.
  fileprivate enum Course {
    /// More documents of the request are expected.
    case gathering(ControlRequest, [Value], bytes: Int)
    case running(Task<[TextKey: Value], any Error>)
  }

  private struct State {
    var requests: [Int: Course] = [:]
    /// When the client last sent a request, or read a part of an answer.
    var lastSign = ContinuousClock.now
    var sendings = 0
    /// The number of requests whose last answer is being sent.
    var endings = 0
    /// Whether the session no longer accepts requests.
    var isEnding = false

    /// Returns whether the client has been silent for too long.
    func isIdle(_ now: ContinuousClock.Instant, _ idleTime: Duration) -> Bool {
      guard requests.values.allSatisfy(\.isGathering) || sendings > 0 else { return false }
      return now - lastSign > idleTime
    }
  }

  private let connection: LocalConnection
  private let targets: any ControlTargets
  private let idleTime: Duration
  private let state = Mutex(State())
  /// How often within the idle time the session checks whether the client is idle.
  private static let checks = 20

  init(_ connection: LocalConnection, _ targets: any ControlTargets, idleTime: Duration) {
    (self.connection, self.targets, self.idleTime) = (connection, targets, idleTime)
  }

  // MARK: - The course of it

  /// Serves the client until it disconnects, has been idle for too long, or the socket closes.
  func run() async {
    await connection.serve { lines in
      await withDiscardingTaskGroup { group in
        group.addTask { await self.closeWhenIdle() }
        do {
          try await self.send(targets.greeting)
          try await lines.forEach { line in
            guard let (request, documents) = await self.take(line) else { return }
            self.begin(request, documents, &group)
          }
        } catch let error as LineTooLong {
          await self.complain(
            ControlError(.limit, "a line has more than \(error.limit) bytes: the connection is closed"))
        } catch {
          // The connection is over.
        }
        self.cancelAll()
        group.cancelAll()
      }
    }
  }

  /// Stops accepting requests, and cancels those that run.
  ///
  /// The client gets an answer that says so.
  func end() {
    state.withLock { $0.isEnding = true }
    cancelAll()
    closeIfDone()
  }

  /// Ends the connection at once.
  func close() { connection.close() }

  private func closeIfDone() {
    if state.withLock({ $0.isEnding && $0.requests.isEmpty && $0.endings == 0 }) { connection.close() }
  }

  private func cancelAll() {
    let running = state.withLock { state in
      state.requests = state.requests.filter { !$0.value.isGathering }
      return Array(state.requests.values)
    }
    for course in running { course.cancel() }
  }

  private func closeWhenIdle() async {
    while true {
      do { try await Task.sleep(for: idleTime / Self.checks) } catch { return }
      if state.withLock({ $0.isIdle(.now, idleTime) }) { return connection.close() }
    }
  }

  // MARK: - Requests

  /// Processes a line of the client.
  ///
  /// - Returns: The request that can start, and its documents.
  private func take(_ line: [UInt8]) async -> (ControlRequest, [Value])? {
    state.withLock { $0.lastSign = .now }
    var id: Int?
    do throws(ControlError) {
      let message = try ControlProtocol.message(line)
      id = message.integer("id")
      switch try ControlLine(message) {
      case .cancel(let id):
        cancel(id)
        return nil
      case .request(let request, let documents, let isLast):
        return try admit(request, documents, bytes: line.count, isLast: isLast)
      case .documents(let id, let documents, let isLast):
        return try add(documents, to: id, bytes: line.count, isLast: isLast)
      }
    } catch {
      // This error ends the answer to the request, so the session must not wait for more of its documents.
      if let id { drop(id) }
      await complain(error, about: id)
      return nil
    }
  }

  /// Forgets a request of which more documents are expected.
  private func drop(_ id: Int) {
    state.withLock { state in
      if state.requests[id]?.isGathering == true { state.requests[id] = nil }
    }
  }

  private func admit(
    _ request: ControlRequest, _ documents: [Value], bytes: Int, isLast: Bool
  ) throws(ControlError) -> (ControlRequest, [Value])? {
    try state.withLock { state throws(ControlError) in
      guard !state.isEnding else { throw ControlError(.closed, "the database is closed") }
      guard state.requests[request.id] == nil else {
        throw ControlError(.argument, "the request \(request.id) is not answered yet")
      }
      guard state.requests.count < ControlProtocol.requests else {
        throw ControlError(.limit, "\(ControlProtocol.requests) requests are not answered yet")
      }
      guard isLast || !state.requests.values.contains(where: \.isGathering) else {
        throw ControlError(.limit, "the documents of another request still come")
      }
      if !isLast { state.requests[request.id] = .gathering(request, documents, bytes: bytes) }
    }
    return isLast ? (request, documents) : nil
  }

  private func add(
    _ more: [Value], to id: Int, bytes: Int, isLast: Bool
  ) throws(ControlError) -> (ControlRequest, [Value])? {
    try state.withLock { state throws(ControlError) in
      // The value is removed, so that the documents have one owner and are not copied.
      guard case .gathering(let request, var documents, let sum)? = state.requests.removeValue(forKey: id)
      else {
        throw ControlError(.argument, "the request \(id) waits for no documents")
      }
      guard sum + bytes <= ControlProtocol.batchBytes else {
        throw ControlError(
          .limit,
          "the documents of one transaction have more than \(ControlProtocol.batchBytes) bytes as JSON: send fewer"
        )
      }
      documents += more
      if isLast { return (request, documents) }
      state.requests[id] = .gathering(request, documents, bytes: sum + bytes)
      return nil
    }
  }

  /// Runs a request in parallel with others, and answers it.
  private func begin(
    _ request: ControlRequest, _ documents: [Value], _ group: inout DiscardingTaskGroup
  ) {
    let work = Task { [targets] in
      let actions = try targets.actions(for: request.application)
      do {
        return try await actions.perform(request, documents) { try await self.send($0, about: request.id) }
      } catch {
        throw error as? ControlError ?? actions.database.controlError(for: error)
      }
    }
    let isEnding = state.withLock { state in
      state.requests[request.id] = .running(work)
      return state.isEnding
    }
    if isEnding { work.cancel() }
    group.addTask {
      let answer: [TextKey: Value]
      do {
        answer = ["result": .map(try await work.value)]
      } catch {
        answer = ["error": .map(self.meaning(error).values)]
      }
      // Before the answer, so that the client can use the number again once it has the answer.
      self.state.withLock { state in
        state.requests[request.id] = nil
        state.endings += 1
      }
      try? await self.send(answer, about: request.id)
      self.state.withLock { $0.endings -= 1 }
      self.closeIfDone()
    }
  }

  private func meaning(_ error: any Error) -> ControlError {
    let error = error as? ControlError ?? ControlError(.other, "\(error)")
    guard error.code == .cancelled, state.withLock({ $0.isEnding }) else { return error }
    return ControlError(.closed, "the database was closed")
  }

  private func cancel(_ id: Int) {
    let course = state.withLock { state -> Course? in
      guard let course = state.requests[id] else { return nil }
      if course.isGathering { state.requests[id] = nil }
      return course
    }
    course?.cancel()
  }

  // MARK: - Answers

  /// Sends the client an error about its input; whether the client still reads does not matter.
  private func complain(_ error: ControlError, about id: Int? = nil) async {
    try? await send(["error": .map(error.values)], about: id)
  }

  private func send(_ message: [TextKey: Value], about id: Int? = nil) async throws {
    var message = message
    if let id { message["id"] = .count(id) }
    state.withLock { state in
      if state.sendings == 0 { state.lastSign = .now }
      state.sendings += 1
    }
    defer {
      state.withLock { state in
        state.sendings -= 1
        state.lastSign = .now
      }
    }
    try await connection.send(ControlProtocol.line(message))
  }
}

extension ControlSession.Course {
  fileprivate var isGathering: Bool { if case .gathering = self { true } else { false } }

  fileprivate func cancel() { if case .running(let task) = self { task.cancel() } }
}
