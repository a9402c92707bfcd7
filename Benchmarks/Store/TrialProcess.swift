import BenchmarkSupport
import Foundation

/// Runs a trial in a process of its own and watches its memory from outside.
enum TrialProcess {
  private static let samplingMicroseconds: UInt32 = 4_000

  static func run(_ trial: Trial) throws -> TrialResult {
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
    guard process.terminationStatus == 0 else {
      throw BenchmarkError("\(trial.contender.title): \(trial.work.rawValue) failed")
    }
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    var result = try JSONDecoder().decode(TrialResult.self, from: text)
    if anonymous > 0 { result.figures["anonymousBytes"] = anonymous }
    if resident > 0 { result.figures["residentBytes"] = resident }
    return result
  }
}
