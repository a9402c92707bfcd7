import Foundation
import TestKit
import Testing

@Suite struct DemoTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// The command lines of running processes that name `text`.
  private func processes(naming text: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { entry in
      guard Int(entry) != nil, let data = FileManager.default.contents(atPath: "/proc/\(entry)/cmdline")
      else {
        return nil
      }
      let line = String(decoding: data, as: UTF8.self).replacing("\0", with: " ")
      return line.contains(text) ? "\(entry): \(line)" : nil
    }
  }

  @Test(.timeLimit(.minutes(15)), arguments: [SIGINT, SIGTERM])
  func `interrupted, it ends its peers and leaves no file behind`(signal: Int32) throws {
    let demo = Tool.process(["demo"], environment: ["TMPDIR": directory.path])
    let output = Pipe()
    demo.standardOutput = output
    demo.standardError = FileHandle.nullDevice
    try demo.run()
    // The stores are there once the first collection is imported.
    var text = ""
    while !text.contains("imports") {
      let data = output.fileHandleForReading.availableData
      if data.isEmpty { break }
      text += String(decoding: data, as: UTF8.self)
    }
    #expect(try processes(naming: directory.path).count == 3)
    kill(demo.processIdentifier, signal)
    demo.waitUntilExit()
    #expect(demo.terminationStatus == 128 + signal)
    #expect(try directory.contents().isEmpty)
    let left = try processes(naming: directory.path)
    #expect(left == [])
  }

  @Test(.timeLimit(.minutes(15)))
  func `it tells its story in 80 columns, and ends with a table and what to try next`() throws {
    let outcome = try Tool.run(["demo"], in: directory.path)
    #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
    let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    // Paths of this machine are as long as they are.
    for line in lines where !line.contains("/") || line.contains("/s") {
      expect(line.count <= 80, "\(line)")
    }
    let table = try #require(lines.firstIndex { $0.contains("peer") && $0.contains("documents/s") })
    for (offset, peer) in ["tablet", "cloud", "phone"].enumerated() {
      expect(lines[table + 2 + offset].hasPrefix("  \(peer)"))
    }
    let verdict = try #require(lines.firstIndex { $0.contains("checks came out as expected") })
    #expect(verdict > table && !outcome.output.contains("✗") && !outcome.output.contains("\u{1B}"))
    #expect(lines[verdict...].contains("    dunlin bench"))
    #expect(lines[verdict...].contains { $0.contains("flights.jsonl.gz") })
  }
}
