#if os(Linux)
  import Foundation
  import TestKit
  import Testing

  @testable import dunlin

  /// Progress and colours, which go by whether somebody looks on.
  @Suite(.timeLimit(.minutes(15))) struct ProgressTests {
    let scene: FileScene

    init() throws { scene = try FileScene() }

    private func lines(_ count: Int) throws -> String {
      try scene.file("a.jsonl", (0..<count).map { "{\"_id\":\($0)}\n" }.joined())
    }

    @Test func `on a terminal there is a bar that goes away, with the rate and the time left`() async throws {
      let terminal = try PseudoTerminal(
        ["import", scene.store, "things", try lines(20_000), "--batch", "100"], columns: 80)
      let shown = try await terminal.wait(for: "20,000 documents imported")
      #expect(await terminal.status() == 0)
      let drawn = shown.components(separatedBy: "\r\u{1B}[2K").dropFirst()
      #expect(
        drawn.contains { $0.contains("Importing  ") && $0.contains("documents  ") && $0.contains("/s") })
      #expect(drawn.contains { $0.hasSuffix(" left") })
      #expect(drawn.contains { $0.contains("█") && $0.contains("░") && $0.contains("%") })
      #expect(drawn.dropLast().allSatisfy { $0.count < 80 })
      // Nothing of it stays.
      #expect(drawn.last?.hasPrefix("20,000 documents imported") == true)
    }

    @Test func `the rate goes by the time since the work began`() {
      let filling = Progress("Filling", start: .now - .seconds(100))
      #expect(filling.line(3_000).hasPrefix("Filling  3,000 documents  "))
      let rate = filling.line(3_000).firstMatch(of: /([0-9]+)\/s/).flatMap { Int($0.1) } ?? .max
      #expect((1...30).contains(rate))
    }

    @Test func `elsewhere there is none, unless it is asked for`() async throws {
      let file = try lines(300)
      let quiet = try scene.run("import", scene.store, "things", file)
      #expect(quiet.status == 0 && quiet.errors.isEmpty)
      let told = try scene.run("import", scene.store, "things", file, "--progress", "--batch", "10")
      #expect(told.errors.hasPrefix("Importing  ") && !told.errors.contains("\u{1B}"))
      let terminal = try PseudoTerminal(["import", scene.store, "things", file, "--no-progress"])
      let shown = try await terminal.wait(for: "imported")
      #expect(!shown.contains("\u{1B}") && !shown.contains("Importing"))
      #expect(await terminal.status() == 0)
    }

    @Test func `an import on a terminal is stopped by Control-C, and says how to go on`() async throws {
      let terminal = try PseudoTerminal(
        ["import", scene.store, "things", try lines(200_000), "--batch", "20"], interruptingAt: " left")
      let shown = try await terminal.wait(for: "--resume goes on there.")
      #expect(shown.contains("Stopped: ") && shown.contains("are stored"))
      #expect(await terminal.status() == 130)
    }
  }
#endif
