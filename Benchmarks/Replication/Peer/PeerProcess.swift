import BenchmarkSupport
import Foundation

/// The benchmark's end of a peer's process.
final class PeerProcess {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var buffer: [UInt8] = []

  /// Starts this program again as a peer with a store in `path`.
  init(_ kind: PeerKind, path: String, name: String, level: Int? = nil) throws {
    process.executableURL = Bundle.main.executableURL
    process.arguments = ["peer", "--kind", kind.rawValue]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    try ask(.open(path: path, name: name, level: level))
  }

  deinit { if process.isRunning { process.terminate() } }

  /// Sends a request and waits for its answer.
  @discardableResult
  func ask(_ request: Request) throws -> Reply {
    try send(request)
    return try reply()
  }

  func send(_ request: Request) throws {
    try input.fileHandleForWriting.write(contentsOf: try JSONEncoder().encode(request) + [10])
  }

  func reply() throws -> Reply {
    while true {
      if let end = buffer.firstIndex(of: 10) {
        let line = Data(buffer[..<end])
        buffer.removeFirst(end + 1)
        let reply = try JSONDecoder().decode(Reply.self, from: line)
        if let error = reply.error { throw BenchmarkError("a peer failed: \(error)") }
        return reply
      }
      let piece = output.fileHandleForReading.availableData
      guard !piece.isEmpty else { throw BenchmarkError("a peer's process ended early") }
      buffer += piece
    }
  }

  /// Ends the process in order.
  func quit() throws {
    try send(.quit)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw BenchmarkError("a peer's process ended with status \(process.terminationStatus)")
    }
  }
}
