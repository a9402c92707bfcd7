import Foundation

/// Runs a trial in a process of its own and watches its memory from outside.
package enum TrialProcess {
  private static let samplingMicroseconds: UInt32 = 4_000

  /// - Parameters:
  ///   - trial: What the process is to do; it becomes its argument.
  ///   - name: What to call it when it fails.
  /// - Returns: What it printed, and its memory at the peak.
  /// - Throws: `BenchmarkError` when it fails.
  package static func run(_ trial: some Encodable, _ name: String) throws -> TrialResult {
    let process = Process()
    let output = Pipe()
    process.executableURL = Bundle.main.executableURL
    process.arguments = ["trial", String(decoding: try JSONEncoder().encode(trial), as: UTF8.self)]
    process.standardOutput = output
    try process.run()
    var anonymous = 0.0
    var resident = 0.0
    while process.isRunning {
      let status = Measures.status(of: process.processIdentifier)
      anonymous = max(anonymous, status["RssAnon"] ?? 0)
      resident = max(resident, status["VmHWM"] ?? 0)
      usleep(samplingMicroseconds)
    }
    guard process.terminationStatus == 0 else { throw BenchmarkError("\(name) failed") }
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    var result = try JSONDecoder().decode(TrialResult.self, from: text)
    if anonymous > 0 { result.figures["anonymousBytes"] = anonymous }
    if resident > 0 { result.figures["residentBytes"] = resident }
    return result
  }
}

/// What a trial found.
package struct TrialResult: Codable {
  package var figures: [String: Double] = [:]
  /// What queries answered, as checksums, to compare between contenders.
  package var answers: [String: String] = [:]

  package init() {}

  package subscript(_ name: String) -> Double? { figures[name] }

  /// Hands the result to the process that waits for it.
  package func print() throws {
    try FileHandle.standardOutput.write(contentsOf: try JSONEncoder().encode(self))
  }
}
