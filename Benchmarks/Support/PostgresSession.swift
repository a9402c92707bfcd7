import Foundation

/// One `psql` that stays connected, so that a question costs a round trip and no process.
final class PostgresSession {
  private static let mark = "-- that was all --"
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private let errors = Pipe()
  private var buffer = Data()

  /// Waits until the server answers.
  init(_ psql: String, port: Int, server: Process) throws {
    let deadline = Measures.nanoseconds + 30e9
    while true {
      let probe = Process()
      probe.executableURL = URL(filePath: psql)
      probe.arguments = Self.arguments(port) + ["-c", "SELECT 1"]
      probe.standardOutput = FileHandle.nullDevice
      probe.standardError = FileHandle.nullDevice
      try probe.run()
      probe.waitUntilExit()
      if probe.terminationStatus == 0 { break }
      guard server.isRunning, Measures.nanoseconds < deadline else {
        throw BenchmarkError("the PostgreSQL server does not start")
      }
      usleep(50_000)
    }
    process.executableURL = URL(filePath: psql)
    process.arguments = Self.arguments(port)
    process.standardInput = input
    process.standardOutput = output
    process.standardError = errors
    try process.run()
  }

  private static func arguments(_ port: Int) -> [String] {
    [
      "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", "\(port)", "-U", "bench",
      "postgres",
    ]
  }

  func run(_ statement: String) throws -> String {
    try input.fileHandleForWriting.write(contentsOf: Data("\(statement)\n\\echo '\(Self.mark)'\n".utf8))
    let mark = Data("\(Self.mark)\n".utf8)
    while true {
      if let end = buffer.range(of: mark) {
        let answer = String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
        buffer.removeSubrange(..<end.upperBound)
        return answer.trimmingCharacters(in: .whitespacesAndNewlines)
      }
      let piece = output.fileHandleForReading.availableData
      guard !piece.isEmpty else {
        let message = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
        throw BenchmarkError("PostgreSQL: \(message)")
      }
      buffer += piece
    }
  }

  func close() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}
