import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct ExecPreparedTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
    let documents = (0..<100).map { Value.map(["_id": .int(Int64($0)), "n": .int(Int64($0 % 10))]) }
    _ = try engine.execute("INSERT INTO t DOCUMENTS (:d)", arguments: ["d": .array(documents)])
  }

  private func count(_ prepared: PreparedStatement, _ arguments: [TextKey: Value] = [:]) throws -> Int {
    try engine.execute(prepared, arguments: arguments).rows.count
  }

  private func areSame(_ left: String, _ right: String) throws -> Bool {
    try engine.prepare(left) === engine.prepare(right)
  }

  private func operators(_ text: String) throws -> [Value] {
    let plan = try engine.execute("EXPLAIN " + text).rows[0].values()["plan"]
    guard case .array(let steps) = plan else { return [] }
    return steps.compactMap { if case .map(let step) = $0 { step["operator"] } else { nil } }
  }

  @Test func `a prepared statement is executed with other arguments, and planned once without any`() throws {
    let prepared = try engine.prepare("SELECT * FROM t WHERE n = :n")
    #expect(try count(prepared, ["n": .int(3)]) == 10)
    #expect(try count(prepared, ["n": .int(30)]) == 0)
    #expect(try count(prepared, ["n": .int(3)]) == 10)
    #expect(throws: QueryError.self) { try engine.execute(prepared) }
    let fixed = try engine.prepare("SELECT * FROM t WHERE n = 3")
    for _ in 0..<5 { try expectEqual(count(fixed), 10) }
    #expect(fixed.planCount == 1)
  }

  @Test func `a plan is not remembered with large arguments, which would stay in memory`() throws {
    let prepared = try engine.prepare("SELECT * FROM t WHERE n = :n")
    for (bytes, plans) in [(1_000, 1), (100_000, 3), (100_000, 5), (1_000, 5)] {
      let text = Value.string(String(repeating: "x", count: bytes))
      for _ in 0..<2 { try expectEqual(count(prepared, ["n": text]), 0) }
      expectEqual(prepared.planCount, plans, "\(bytes)")
    }
    let fixed = try engine.prepare("SELECT * FROM t WHERE n = 3")
    #expect(try count(fixed) == 10 && count(fixed) == 10 && fixed.planCount == 1)
  }

  @Test func `one text gives one statement, whoever prepares it`() throws {
    let text = "SELECT * FROM t WHERE n = 4"
    #expect(try areSame(text, text))
    #expect(try engine.execute(text).rows.count == 10)
    #expect(try engine.prepare(text).planCount == 1)
    #expect(try !areSame(text + " ", text))
  }

  @Test func `indexes that come and go make another plan`() throws {
    let prepared = try engine.prepare("SELECT * FROM t WHERE n = 3")
    #expect(try count(prepared) == 10)
    _ = try engine.execute("CREATE INDEX by_n ON t (n)")
    #expect(try count(prepared) == 10)
    #expect(prepared.planCount == 2)
    #expect(try operators(prepared.text).first == .string("indexScan"))
    _ = try engine.execute("DROP INDEX by_n ON t")
    #expect(try count(prepared) == 10)
    #expect(prepared.planCount == 3)
    #expect(try count(prepared) == 10)
    #expect(prepared.planCount == 3)
  }

  @Test func `collections and fields that are new make another plan`() throws {
    let prepared = try engine.prepare("SELECT * FROM late WHERE x = 1")
    #expect(try count(prepared) == 0)
    _ = try engine.execute("INSERT INTO late DOCUMENTS ({'x': 1})")
    #expect(try count(prepared) == 1)
    let field = try engine.prepare("SELECT * FROM late WHERE later = 1")
    #expect(try count(field) == 0)
    _ = try engine.execute("INSERT INTO late DOCUMENTS ({'later': 1})")
    #expect(try count(field) == 1)
  }

  @Test func `a plan is kept while documents are written, until there are many more or fewer`() throws {
    _ = try engine.execute("CREATE INDEX by_n ON t (n)")
    let prepared = try engine.prepare("SELECT * FROM t WHERE n = 3")
    #expect(try count(prepared) == 10)
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'n': 3})")
    #expect(try count(prepared) == 11)
    #expect(prepared.planCount == 1)
    let documents = (0..<200).map { _ in Value.map(["n": .int(3)]) }
    _ = try engine.execute("INSERT INTO t DOCUMENTS (:d)", arguments: ["d": .array(documents)])
    #expect(try count(prepared) == 211)
    #expect(prepared.planCount == 2)
  }

  @Test func `inside a transaction a statement sees what was written, and plans nothing that stays`() throws {
    let select = try engine.prepare("SELECT * FROM t WHERE n = :n")
    let insert = try engine.prepare("INSERT INTO t DOCUMENTS ({'n': :n})")
    _ = try store.write { transaction in
      _ = try engine.execute(insert, arguments: ["n": .int(77)], in: transaction)
      #expect(
        try engine.execute(select, arguments: ["n": .int(77)], in: transaction).rows.count == 1)
    }
    #expect(try count(select, ["n": .int(77)]) == 1)
    try store.read { transaction in
      let found = try engine.execute(select, arguments: ["n": .int(5)], in: transaction)
      #expect(found.rows.count == 10)
      do {
        _ = try engine.execute(insert, in: transaction)
        Issue.record("a statement that writes has run on a snapshot")
      } catch let error as QueryError {
        #expect(error.code == .unsupported)
      }
    }
  }

  @Test func `a query with a query inside is answered anew each time`() throws {
    let prepared = try engine.prepare("SELECT * FROM t WHERE n IN (SELECT m FROM u)")
    #expect(try count(prepared) == 0)
    _ = try engine.execute("INSERT INTO u DOCUMENTS ({'m': 2})")
    #expect(try count(prepared) == 10)
  }

  @Test func `errors of prepared statements have their place`() throws {
    let prepared = try engine.prepare("SELECT *\nFROM t WHERE n = :n")
    let error = try #require(throws: QueryError.self) { try engine.execute(prepared) }
    #expect(error.position == QueryError.Position(offset: 26, line: 2, column: 18))
    #expect(throws: QueryError.self) { try engine.prepare("SELECT") }
  }

  @Test func `many threads may use one statement while indexes come and go`() async throws {
    let prepared = try engine.prepare("SELECT * FROM t WHERE n = :n")
    let wrong = await withTaskGroup(of: Int.self) { [engine] group in
      for number in 0..<4 {
        group.addTask {
          (0..<100).count { round in
            let argument = Int64((round + number) % 12)
            let found = try? engine.execute(prepared, arguments: ["n": .int(argument)]).rows.count
            return found != (argument < 10 ? 10 : 0)
          }
        }
      }
      group.addTask {
        for _ in 0..<5 {
          _ = try? engine.execute("CREATE INDEX i ON t (n)")
          _ = try? engine.execute("DROP INDEX i ON t")
        }
        return 0
      }
      return await group.reduce(0, +)
    }
    #expect(wrong == 0)
  }

  @Test func `the statements kept are the last used, and bounded in number and size`() throws {
    let first = try engine.prepare("SELECT 1 AS x FROM system:dual")
    for number in 0..<1_000 {
      _ = try engine.execute("SELECT \(number) AS x FROM system:dual")
      _ = try engine.prepare(first.text)
    }
    let again = try engine.prepare(first.text)
    #expect(again === first)
    let kept = try engine.execute("SELECT * FROM system:shared_statements").rows
    #expect(kept.count == 256)
    for number in 0..<50 {
      let text = "SELECT '\(number)" + String(repeating: "x", count: 8_000) + "' AS x FROM system:dual"
      _ = try engine.prepare(text)
    }
    #expect(try engine.execute("SELECT * FROM system:shared_statements").rows.count <= 17)
  }

  @Test func `the statements kept are shown without literals`() throws {
    _ = try engine.execute("SELECT * FROM t WHERE n = 'secret'")
    _ = try engine.execute("SELECT * FROM t WHERE n = 'secret'")
    let rows = try engine.execute(
      "SELECT statement, uses, plans FROM system:shared_statements WHERE statement LIKE '%FROM t%'"
    ).rows
    let shown = try #require(try rows.first?.values())
    #expect(rows.count == 1 && shown["uses"] == .int(2) && shown["plans"] == .int(1))
    #expect(!JSON.text(of: .map(shown)).contains("secret"))
  }

  @Test func `ids that settle a filter spare it, and find what it finds`() throws {
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'_id': 'a'}), ({'_id': true})")
    for (filter, found) in [
      ("_id = 7", 1), ("_id = '7'", 0), ("_id = 7.0", 1), ("_id = 'a'", 1), ("_id = NULL", 0),
      ("_id = true", 1), ("_id = 1.5", 0), ("_id IN [1, 'a', 'b', 2.0, NULL]", 3), ("_id IN ['a', 5]", 2),
      ("NOT (_id = 7)", 99), ("_id = 7 AND n = 8", 0), ("_id = 7 AND n = 7", 1),
    ] {
      try expectEqual(engine.execute("SELECT * FROM t WHERE " + filter).rows.count, found, "\(filter)")
    }
  }
}
