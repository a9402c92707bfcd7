#if os(Linux)
  import Foundation
  import TestKit
  import Testing

  /// `dunlin query` as a user meets it: at a terminal, and with scripts.
  @Suite(.timeLimit(.minutes(15))) struct PromptTests {
    private let directory: TemporaryDirectory
    private var store: String { directory.file("store") }

    init() throws {
      directory = try TemporaryDirectory()
      let cars = (1...3).map { #"{"_id":\#($0),"color":"red","km":\#($0 * 1_000)}"# + "\n" }.joined()
      _ = try run("import", store, "cars", "-", input: cars)
    }

    private func run(_ arguments: String..., input: String = "") throws -> Tool.Outcome {
      try Tool.run(arguments, in: directory.path, input: input)
    }

    private func prompt(columns: UInt16 = 80) throws -> PseudoTerminal {
      try PseudoTerminal(
        ["query", store], columns: columns, environment: ["DUNLIN_HISTORY": directory.file("history")])
    }

    @Test func `statements of several lines run at their semicolon, and come back from the history`()
      async throws
    {
      do {
        let terminal = try prompt()
        try await terminal.wait(for: "dql> ")
        terminal.type("SELECT km, color\r")
        try await terminal.wait(for: "...> ")
        terminal.type("FROM cars WHERE km > 1500;\r")
        let shown = try await terminal.wait(for: "2 rows")
        #expect(shown.contains("  km  color\r\n"))
        #expect(shown.contains("2000  red\r\n"))
        terminal.type("\u{4}")
        #expect(await terminal.status() == 0)
      }
      let again = try prompt()
      try await again.wait(for: "dql> ")
      again.type("\u{1B}[A")
      try await again.wait(for: "SELECT km, color FROM cars WHERE km > 1500;")
      again.type("\u{7F} LIMIT 1;\r")
      try await again.wait(for: "1 row,")
      again.type("quit\r")
      #expect(await again.status() == 0)
      let permissions = try FileManager.default.attributesOfItem(atPath: directory.file("history"))[
        .posixPermissions]
      #expect((permissions as? NSNumber)?.intValue == 0o600)
    }

    @Test func `commands, completion and mistakes`() async throws {
      let terminal = try prompt()
      try await terminal.wait(for: "dql> ")
      terminal.type(".ta\t\r")
      #expect(try await terminal.wait(for: "3\r\n").contains("cars"))
      terminal.type(".schema cars\r")
      let schema = try await terminal.wait(for: "km ")
      #expect(schema.contains("color  string\r\n"))
      terminal.type("SELECT * FROM ca\t;\r")
      try await terminal.wait(for: "3 rows")
      // A collection that is new is completed too.
      terminal.type("INSERT INTO bicycles DOCUMENTS ({'_id': 1});\r")
      try await terminal.wait(for: "1 document changed")
      terminal.type("SELECT * FROM bi\t;\r")
      try await terminal.wait(for: "1 row,")
      terminal.type("CREATE INDEX byKm ON cars (color, km DESC);\r")
      try await terminal.wait(for: "done, ")
      terminal.type(".schema cars\r")
      try await terminal.wait(for: "  index byKm (color, km DESC)\r\n")
      terminal.type("SELECT * FROM crs;\r")
      try await terminal.wait(for: "there is no collection 'crs' yet; did you mean 'cars'?")
      terminal.type("SELECT FROM;\r")
      try await terminal.wait(for: "expected an expression")
      terminal.type(".tabels\r")
      try await terminal.wait(for: "did you mean .tables?")
      terminal.type("abc\u{3}SELECT COUNT(*) AS n FROM cars;\r")
      try await terminal.wait(for: "1 row")
      terminal.type(".quit\r")
      #expect(await terminal.status() == 0)
    }

    @Test(arguments: [true, false])
    func `an error is red on a terminal, unless the user wants no colours`(isColored: Bool) async throws {
      let environment = ["NO_COLOR": isColored ? "" : "1"]
      let nowhere = directory.file("nowhere")
      let command = try PseudoTerminal(["stats", nowhere], environment: environment)
      let shown = try await command.wait(for: "there is no store")
      #expect(await command.status() == 1)
      let red = "\u{1B}[31m"
      #expect(
        shown.contains(isColored ? "\(red)Error:\u{1B}[0m \(nowhere)" : "Error: \(nowhere)"), "\(shown)")
      #expect(shown.contains(red) == isColored)
      let usage = try PseudoTerminal(["stats"], environment: environment)
      #expect(try await usage.wait(for: "Missing expected argument").contains(red) == isColored)
      #expect(await usage.status() == 64)
      let script = try PseudoTerminal(
        ["query", store, "SELECT FROM; SELECT 1 AS n FROM cars"], environment: environment)
      let told = try await script.wait(for: "expected an expression")
      #expect(told.contains("statement:1:8: \(isColored ? red : "")expected"), "\(told)")
      #expect(await script.status() == 1)
      // Where standard error is no terminal there are no colours.
      #expect(try !run("stats", nowhere).errors.contains(red))
    }

    @Test func `a plan is shown whole, a line for each operator`() async throws {
      _ = try run("query", store, "CREATE INDEX byKm ON cars (km, color)")
      let terminal = try prompt(columns: 60)
      try await terminal.wait(for: "dql> ")
      terminal.type(".explain SELECT color FROM cars WHERE km > 1500 ORDER BY color LIMIT 2\r")
      let plan = try await terminal.wait(for: "1 row")
      let lines = plan.split(separator: "\r\n")
      #expect(lines.contains { $0.hasPrefix("indexScan  ") && $0.contains(", index: byKm, ") }, "\(plan)")
      #expect(lines.contains { $0.hasPrefix("limit  ") && $0.contains("rows: 2") } && !plan.contains("…"))
      terminal.type("PROFILE SELECT color FROM cars WHERE km > 1500;\r")
      let profile = try await terminal.wait(for: "3 rows")
      #expect(profile.contains("color\r\n─────\r\nred\r\n") && profile.contains("\r\nplan:\r\n  indexScan"))
      #expect(!profile.contains("…"), "\(profile)")
      terminal.type("\u{4}")
      #expect(await terminal.status() == 0)
      let advice = try run("query", store, "ADVISE SELECT * FROM cars WHERE color = 'x'", "--table")
      #expect(advice.output.contains("suggestions:\n  CREATE INDEX ix_cars_color ON cars (color)\n"))
      let parameters = try run("query", store, "SHOW ALL", "--table")
      #expect(parameters.output.contains("document_size_hard_limit_bytes: 5000000\n"))
      // Programs get lines of JSON.
      let json = try run("query", store, "EXPLAIN SELECT * FROM cars")
      #expect(json.output.hasPrefix(#"{"plan":["#) && json.output.split(separator: "\n").count == 1)
    }

    @Test(arguments: [true, false])
    func `what is wrong in a script is a line with the place`(isFile: Bool) throws {
      let script =
        "SELECT _id FROM cars WHERE _id = 1; SELECT FROM;\n\n.schema no\nSELECT *\nFROM cars WHERE km =;\n"
        + "INSERT INTO cars DOCUMENTS ({'_id': 1});\n"
      let file = directory.file("script.dql")
      try script.write(toFile: file, atomically: true, encoding: .utf8)
      let name = isFile ? file : "standard input"
      let outcome =
        isFile ? try run("query", store, "--file", file) : try run("query", store, input: script)
      #expect(outcome.status == 1 && outcome.output == "{\"_id\":1}\n")
      let told = outcome.errors.split(separator: "\n").map(String.init).filter { $0.hasPrefix(name) }
      let starts = ["1:44: expected an expression", "3:1: there is no collection 'no'", "5:21: ", "6:1: "]
      #expect(told.count == starts.count, "\(outcome.errors)")
      for (line, start) in zip(told, starts) {
        expect(line.hasPrefix("\(name):\(start)") && !line.contains("(line "), "\(line)")
      }
      #expect(!outcome.errors.contains("^"))
    }

    @Test func `a script that is not there, and a script beside a statement, are refused`() throws {
      let absent = try run("query", store, "-f", directory.file("no.dql"))
      #expect(absent.status == 1 && absent.errors.contains("no.dql"))
      #expect(try run("query", store, "SELECT 1", "-f", "x").status == 64)
    }

    @Test func `an interruption ends the statement and not the prompt`() async throws {
      let many = (0..<3_000).map { #"{"_id":\#($0),"n":1}"# + "\n" }.joined()
      _ = try run("import", store, "things", "-", input: many)
      let terminal = try prompt()
      try await terminal.wait(for: "dql> ")
      terminal.type("CREATE INDEX byN ON things (n);\r")
      try await terminal.wait(for: "done, ")
      // No machine comes to its end.
      let long = "FROM things a JOIN things b ON a.n = b.n JOIN things c ON b.n = c.n"
      terminal.type("SELECT COUNT(*) AS n \(long);\r")
      try await terminal.wait(for: "c.n;")
      // One may come before the statement has begun, and has no effect then.
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
      terminal.type("SELECT COUNT(*) AS n FROM cars;\r")
      try await terminal.wait(for: "1 row")
      terminal.type("\u{4}")
      #expect(await terminal.status() == 0)
    }

    @Test func `a table fits the terminal, and says what it leaves out`() async throws {
      let wide =
        #"{"_id":1,"#
        + (0..<20).map { #""field\#($0 + 10)":"\#(String(repeating: "x", count: 40))""# }.joined(
          separator: ",") + "}\n"
      _ = try run("import", store, "wide", "-", input: wide)
      let terminal = try prompt(columns: 60)
      try await terminal.wait(for: "dql> ")
      terminal.type("SELECT * FROM wide;\r")
      let shown = try await terminal.wait(for: "use --json)")
      #expect(shown.contains("not shown: field"))
      let table = shown.split(separator: "\r\n").filter {
        $0.hasPrefix("_id") || $0.hasPrefix("  1") || $0.hasPrefix("─")
      }
      #expect(table.count == 3 && table.allSatisfy { $0.count <= 60 })
      terminal.type("\u{4}")
      #expect(await terminal.status() == 0)
    }

    @Test func `columns stand in the statement's order, in JSON and in a table`() throws {
      let json = try run("query", store, "SELECT km, _id, color FROM cars WHERE _id = 2")
      #expect(json.output == #"{"km":2000,"_id":2,"color":"red"}"# + "\n")
      let table = try run("query", store, "SELECT km, _id, color FROM cars WHERE _id = 2", "--table")
      #expect(table.output == "  km  _id  color\n────  ───  ─────\n2000    2  red\n")
      let union = try run(
        "query", store, "SELECT km AS b, _id AS a FROM cars WHERE _id = 1 UNION SELECT 1, 2 FROM system:dual",
        "--json")
      #expect(union.output.contains(#"{"b":1000,"a":1}"#))
    }

    @Test(
      arguments: [
        "SELECT _id FROM cars WHERE _id = 1; SELECT _id FROM cars\nWHERE _id = 2;\n",
        "SELECT _id FROM cars\nWHERE _id = 1\nSELECT _id FROM cars WHERE _id = 2\n",
        "SELECT _id FROM cars WHERE _id = 1\n\n\nSELECT _id FROM cars WHERE _id = 2",
        "SELECT _id\n\nFROM cars WHERE _id = 1;\n.timer off\nSELECT _id FROM cars WHERE _id = 2\nquit\nSELECT oops",
      ])
    func `a script's statements end at semicolons, or where the next line begins one`(_ script: String) throws
    {
      let outcome = try run("query", store, input: script)
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(outcome.output == "{\"_id\":1}\n{\"_id\":2}\n")
    }

    @Test func `a statement over two lines that both begin like one is one`() throws {
      let outcome = try run(
        "query", store,
        input:
          "EXPLAIN\nSELECT _id FROM cars\nINSERT INTO bikes\nDOCUMENTS ({'_id': 7})\nSELECT _id FROM bikes\n")
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(outcome.output.hasSuffix("{\"_id\":7}\n"))
    }

    @Test func `a result of any size takes little memory, and ends with its reader`() throws {
      let many = (0..<20_000).map {
        #"{"_id":\#($0),"text":"\#(String(repeating: "x", count: 500))"}"# + "\n"
      }.joined()
      _ = try run("import", store, "many", "-", input: many)
      let all = try run("query", store, "SELECT * FROM many", "--json")
      #expect(all.output.utf8.count > 10_000_000 && all.errors.contains("20,000 rows"))
      let table = try run("query", store, "SELECT _id FROM many ORDER BY _id", "--table")
      #expect(table.output.split(separator: "\n").count == 20_002)
    }
  }
#endif
