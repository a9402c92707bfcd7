package import CRDTCore
import Foundation
import Synchronization

/// A peer in a process of its own, `dunlin serve --control`, steered by JSON lines on its standard input.
///
/// Every request is answered by one line with the same number; lines without a number are events.
/// The child ends when its standard input does, so it never outlives this process.
package final class ChildPeer: Sendable {
  package let name: String
  private let process: Process
  private let input: FileHandle
  private let state: Mutex<State>

  private struct State {
    var nextRequest: Int64 = 1
    var waiting: [Int64: CheckedContinuation<[TextKey: Value], any Error>] = [:]
    var events: [String: [[TextKey: Value]]] = [:]
    package var log: [String] = []
    var hasEnded = false
  }

  /// Starts `dunlin serve --control` on the store at `path`.
  ///
  /// - Parameters:
  ///   - name: What the peer calls itself.
  ///   - path: The store's directory.
  ///   - kind: `small` or `big`.
  ///   - program: The path of `dunlin`.
  /// - Throws: Where the program does not start.
  package convenience init(name: String, path: String, kind: String, program: String) throws {
    try self.init(
      name: name, program: program, arguments: ["serve", path, "--kind", kind, "--name", name, "--control"])
  }

  /// Starts any program that is steered as `dunlin serve --control` is.
  ///
  /// - Parameters:
  ///   - name: What the peer is called in errors.
  ///   - program: The program's path.
  ///   - arguments: Its arguments.
  ///   - environment: Variables beside those of this process.
  /// - Throws: Where the program does not start.
  package init(
    name: String, program: String, arguments: [String], environment: [String: String] = [:]
  ) throws {
    self.name = name
    state = Mutex(State())
    process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    if !environment.isEmpty {
      process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    }
    let input = Pipe()
    let output = Pipe()
    let errors = Pipe()
    process.standardInput = input
    process.standardOutput = output
    process.standardError = errors
    self.input = input.fileHandleForWriting
    try process.run()
    read(output.fileHandleForReading) { [weak self] line in self?.receive(line) }
    read(errors.fileHandleForReading) { [weak self] line in
      self?.state.withLock { $0.log.append(String(decoding: line, as: UTF8.self)) }
    }
  }

  /// The child's process id, for whoever must end it.
  package var processID: Int32 { process.processIdentifier }

  /// Whether the child has ended, or closed its standard output.
  package var hasEnded: Bool { state.withLock { $0.hasEnded } }

  /// What the child has written to its log so far.
  package var log: [String] { state.withLock { $0.log } }

  /// Reads lines on a thread of their own until the child closes its end.
  private func read(_ file: FileHandle, _ body: @escaping @Sendable ([UInt8]) -> Void) {
    Thread.detachNewThread { [weak self] in
      var line: [UInt8] = []
      while true {
        let data = file.availableData
        guard !data.isEmpty else { break }
        for byte in data {
          if byte == 0x0A {
            body(line)
            line = []
          } else {
            line.append(byte)
          }
        }
      }
      self?.end()
    }
  }

  private func end() {
    let waiting = state.withLock { state in
      state.hasEnded = true
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    for continuation in waiting { continuation.resume(throwing: PeerError("\(name) has ended unexpectedly")) }
  }

  private func receive(_ line: [UInt8]) {
    guard case .map(let message)? = try? JSON.parse(line, options: .init(interpretsTags: true)) else {
      return
    }
    guard case .int(let number)? = message["id"] else {
      if case .string(let event)? = message["event"] {
        state.withLock { $0.events[event, default: []].append(message) }
      }
      return
    }
    let continuation = state.withLock { $0.waiting.removeValue(forKey: number) }
    if case .string(let error)? = message["error"] {
      continuation?.resume(throwing: PeerError("\(name): \(error)"))
    } else {
      continuation?.resume(returning: message)
    }
  }

  /// Sends a request and waits for its answer.
  @discardableResult
  package func ask(_ action: String, _ details: [TextKey: Value] = [:]) async throws -> [TextKey: Value] {
    try await withCheckedThrowingContinuation { continuation in
      let number = state.withLock { state -> Int64? in
        guard !state.hasEnded else { return nil }
        defer { state.nextRequest += 1 }
        state.waiting[state.nextRequest] = continuation
        return state.nextRequest
      }
      guard let number else { return continuation.resume(throwing: PeerError("\(name) has ended")) }
      var message = details
      message["id"] = .int(number)
      message["do"] = .string(action)
      var line: [UInt8] = []
      JSON.write(.map(message), to: &line, options: .init(isLossless: true))
      line.append(0x0A)
      do {
        try input.write(contentsOf: Data(line))
      } catch {
        _ = state.withLock { $0.waiting.removeValue(forKey: number) }
        continuation.resume(throwing: PeerError("\(name) no longer listens"))
      }
    }
  }

  /// The events of one name received since the last call.
  package func takeEvents(_ name: String) -> [[TextKey: Value]] {
    state.withLock { $0.events.removeValue(forKey: name) ?? [] }
  }

  /// Runs a statement and returns its rows.
  package func execute(_ query: String, _ arguments: [TextKey: Value] = [:]) async throws -> [[TextKey:
    Value]]
  {
    let answer = try await ask("execute", ["query": .string(query), "arguments": .map(arguments)])
    guard case .array(let rows)? = answer["rows"] else { return [] }
    return rows.compactMap { if case .map(let row) = $0 { row } else { nil } }
  }

  /// Ends the child at once, as a crash would.
  package func kill() {
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Asks the child to end and waits; one that does not is killed.
  package func stop() {
    try? input.close()
    let deadline = ContinuousClock.now + .seconds(5)
    while process.isRunning, ContinuousClock.now < deadline { usleep(10_000) }
    if process.isRunning { kill() }
    process.waitUntilExit()
  }
}
