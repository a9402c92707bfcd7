#if os(Linux)
  import Foundation
  import TestKit
  import Testing

  /// The prompt on a running peer, and what is watched.
  @Suite(.timeLimit(.minutes(15))) struct RunningPromptTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func prompt(_ store: String) throws -> PseudoTerminal {
      try PseudoTerminal(["query", store], environment: ["DUNLIN_HISTORY": ""])
    }

    @Test func `the prompt works on a running peer, and an interruption ends the statement`() async throws {
      let served = try await ServedStore(directory, documents: 3_000)
      let terminal = try prompt(served.store)
      try await terminal.wait(for: "dql> ")
      terminal.type(".tables\r")
      try await terminal.wait(for: "3,000")
      terminal.type(".schema things\r")
      try await terminal.wait(for: "integer")
      terminal.type("SELECT COUNT(*) AS n FROM thin\t;\r")
      try await terminal.wait(for: "1 row")
      terminal.type("CREATE INDEX byN ON things (n);\r")
      try await terminal.wait(for: "done, ")
      // No machine comes to its end.
      terminal.type(
        "SELECT COUNT(*) AS n FROM things a JOIN things b ON a.n = b.n JOIN things c ON b.n = c.n;\r")
      try await terminal.wait(for: "c.n;")
      try await withThrowingTaskGroup { group in
        group.addTask { [interrupt = terminal.interrupt] in
          while !Task.isCancelled {
            interrupt()
            try await Task.sleep(for: .milliseconds(100))
          }
        }
        try await terminal.wait(for: "interrupted")
        group.cancelAll()
        try? await group.waitForAll()
      }
      terminal.type("SELECT _id FROM things WHERE _id = 7;\r")
      try await terminal.wait(for: "1 row")
      terminal.type("\u{4}")
      #expect(await terminal.status() == 0)
    }

    @Test(arguments: [true, false])
    func `a watched query is shown again when it changes, until Control-C`(isRunning: Bool) async throws {
      let served = try await ServedStore(directory, documents: 5)
      if !isRunning { await served.stop() }
      let terminal = try prompt(served.store)
      try await terminal.wait(for: "dql> ")
      terminal.type(".watch SELECT COUNT(*) AS count FROM things;\r")
      try await terminal.wait(for: "Control-C ends it")
      if isRunning {
        #expect(try served.run("query", served.store, "DELETE FROM things WHERE _id < 3").status == 0)
        let shown = try await terminal.wait(for: "Control-C ends it")
        #expect(shown.contains("\u{1B}[H\u{1B}[2J") && shown.contains("2"), "\(shown)")
      }
      terminal.interrupt()
      try await terminal.wait(for: "no longer watched")
      terminal.type(".watch DELETE FROM things\r")
      try await terminal.wait(for: "only SELECT can be observed")
      terminal.type("SELECT COUNT(*) AS count FROM things;\r")
      try await terminal.wait(for: "1 row")
      terminal.type("\u{4}")
      #expect(await terminal.status() == 0)
    }

    @Test func `the peer's screen is painted anew until it is ended`() async throws {
      let served = try await ServedStore(directory, documents: 5)
      let terminal = try PseudoTerminal(["top", served.store, "--interval", "0.1"], columns: 120)
      for _ in 1...3 {
        let shown = try await terminal.wait(for: "no peer is there")
        expect(shown.contains("depot (small)") && shown.contains("\u{1B}[H\u{1B}[2J"))
      }
      terminal.interrupt()
      #expect(await terminal.status() != 0)
    }
  }
#endif
