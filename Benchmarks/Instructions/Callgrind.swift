import BenchmarkSupport
import Foundation

/// Runs this program under valgrind's callgrind, which counts each instruction that it executes.
enum Callgrind {
  /// How often the work is done more in the second of two runs, by which starting up counts for nothing.
  private static let more = 2

  /// Instructions of doing a piece of work once, divided by what it has of its unit.
  static func instructions(of workload: Workload) throws -> Double {
    let once = try collect(workload, times: 1)
    let often = try collect(workload, times: 1 + more)
    return ((often - once) / Double(more) / Double(workload.units)).rounded()
  }

  private static func collect(_ workload: Workload, times: Int) throws -> Double {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", CommandLine.arguments[0], "work",
      workload.name, "--times", String(times),
    ]
    var environment = ProcessInfo.processInfo.environment
    // Hash tables are laid out the same in each run.
    environment["SWIFT_DETERMINISTIC_HASHING"] = "1"
    process.environment = environment
    let errors = Pipe()
    process.standardError = errors
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    let words = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    // ==123== Collected : 1234567
    guard process.terminationStatus == 0,
      let line = words.split(separator: "\n").last(where: { $0.contains("Collected :") }),
      let count = line.split(separator: " ").last.flatMap({ Double($0) })
    else { throw BenchmarkError("\(workload.name) failed under valgrind:\n\(words)") }
    return count
  }
}
