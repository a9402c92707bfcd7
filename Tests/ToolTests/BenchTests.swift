import Foundation
import TestKit
import Testing

@testable import dunlin

/// `dunlin bench`: what it measures, shows and leaves behind.
@Suite(.timeLimit(.minutes(15))) struct BenchTests {
  let scene: FileScene

  init() throws { scene = try FileScene() }

  private func bench(_ arguments: String...) throws -> Tool.Outcome {
    let temporary = scene.directory.file("temporary")
    try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
    let outcome = try Tool.run(
      ["bench", "--documents", "200"] + arguments, in: scene.directory.path,
      environment: ["TMPDIR": temporary])
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary) == [])
    return outcome
  }

  @Test func `it shows a line and a bar for each figure, and cleans up`() throws {
    let outcome = try bench()
    #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
    let lines = outcome.output.split(separator: "\n").map(String.init)
    #expect(lines.allSatisfy { $0.count <= 80 && !$0.contains("\u{1B}") })
    for name in ["writing", "replication"] {
      expect(lines.contains { $0.contains(name) && $0.contains("documents/s") && $0.contains("█") })
    }
    #expect(lines.contains { $0.contains("251 KB") && $0.contains("above 250 KB: a warning") })
    #expect(lines.contains { $0.contains("249 KB") && !$0.contains("warning") })
    #expect(lines.contains { $0.contains("4.99 MB") && $0.contains("█") })
    #expect(lines.contains { $0.contains("5.01 MB") && $0.contains("not sent") && $0.contains("stays here") })
    #expect(!outcome.output.contains("✗"))
  }

  @Test func `its figures are numbers for programs`() throws {
    let outcome = try bench("--json")
    #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
    let figures = try object(outcome)
    #expect(figures["documents"] as? Int == 200)
    let replication = try #require(figures["replication"] as? [String: Double])
    #expect((replication["perSecond"] ?? 0) > 0 && (replication["seconds"] ?? 0) > 0)
    let sizes = try #require(figures["sizes"] as? [[String: Any]])
    #expect(sizes.map { $0["isSent"] as? Bool } == [true, true, true, true, true, true, false])
    #expect(sizes.map { $0["isWarned"] as? Bool } == [false, false, false, true, true, true, true])
    #expect(try bench("--documents", "0").status == 64)
  }

  @Test func `what is not as the limits say is marked, and fails`() {
    var result = BenchResult()
    result.sizes = [BenchResult.Size(bytes: 10_000, time: nil, isWarned: false)]
    #expect(!result.isAsExpected)
    #expect(result.text(Style(of: -1)).contains("✗ not as it should be"))
    result.sizes = [
      BenchResult.Size(bytes: 250_001, time: .milliseconds(3), isWarned: true),
      BenchResult.Size(bytes: 5_000_001, time: nil, isWarned: true),
    ]
    #expect(result.isAsExpected)
  }

  #if os(Linux)
    @Test(arguments: [(["NO_COLOR": ""], true), (["NO_COLOR": "1"], false)] as [([String: String], Bool)])
    func `bars are coloured on a terminal, unless nobody wants that`(
      environment: [String: String], isColored: Bool
    ) async throws {
      let terminal = try PseudoTerminal(
        ["bench", "--documents", "50"],
        environment: environment.merging(["TMPDIR": scene.directory.path]) { $1 })
      let shown = try await terminal.wait(for: "stays here")
      #expect(shown.contains("\u{1B}[36m█") == isColored && shown.contains("\u{1B}") == isColored)
      #expect(await terminal.status() == 0)
    }
  #endif
}
