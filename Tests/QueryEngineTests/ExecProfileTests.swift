import CRDTCore
import DocStore
import QueryEngine
import Synchronization
import TestKit
import Testing

@Suite struct ExecProfileTests {
  private let directory: TemporaryDirectory
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    let store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    let ticks = Ticks()
    engine = Engine(
      store: store, parameters: SystemParameters(), environment: EngineEnvironment(now: { ticks.next() }))
    let documents = (0..<100).map {
      Value.map(["_id": .int(Int64($0)), "n": .int(Int64($0 % 10)), "m": .int(Int64($0 % 4))])
    }
    _ = try engine.execute("INSERT INTO t DOCUMENTS (:d)", arguments: ["d": .array(documents)])
    _ = try engine.execute("CREATE INDEX by_n ON t (n)")
  }

  /// A clock that goes one further each time it is read.
  private final class Ticks: Sendable {
    private let count = Atomic<UInt64>(0)
    func next() -> UInt64 { count.add(1, ordering: .relaxed).newValue }
  }

  /// What a profile says: the rows before it, and its operators with the rows that each gave on.
  private func profile(_ text: String) throws -> (rows: Int, operators: [String], whole: [TextKey: Value]) {
    let result = try engine.execute("PROFILE " + text)
    guard case .map(let whole)? = try result.rows.last?.values()["~request_profile"],
      case .array(let steps)? = whole["plan"]
    else {
      Issue.record("no profile")
      return (0, [], [:])
    }
    let operators = steps.compactMap { step -> String? in
      guard case .map(let step) = step, case .string(let name)? = step["operator"] else { return nil }
      guard case .int(let rows)? = step["rows"] else { return name }
      return "\(name) \(rows)"
    }
    return (result.rows.count - 1, operators, whole)
  }

  private static let queries: [(String, Int, [String])] = [
    ("SELECT * FROM t", 100, ["collectionScan 100", "finalProjection 100"]),
    (
      "SELECT * FROM t WHERE m = 1", 25,
      ["collectionScan 100", "filter 25", "finalProjection 25"]
    ),
    (
      "SELECT * FROM t WHERE n = 3 AND m = 1", 5,
      ["indexScan 10", "fetch 10", "filter 5", "finalProjection 5"]
    ),
    (
      "SELECT * FROM t WHERE m = 1 ORDER BY n DESC LIMIT 3", 3,
      ["indexScan 6", "fetch 6", "filter 3", "limit", "finalProjection 3"]
    ),
    (
      "SELECT * FROM t ORDER BY m LIMIT 3 OFFSET 1", 3,
      ["collectionScan 100", "sort", "limit", "finalProjection 3"]
    ),
    ("SELECT DISTINCT m FROM t", 4, ["collectionScan 100", "distinct", "finalProjection 4"]),
    ("SELECT COUNT(*) FROM t", 1, ["countScan 1", "finalProjection 1"]),
    ("SELECT COUNT(*) FROM t WHERE n = 3", 1, ["indexScan 10", "group 1", "finalProjection 1"]),
    (
      "SELECT m, COUNT(*) AS c FROM t WHERE n < 2 GROUP BY m HAVING COUNT(*) > 3", 4,
      ["indexScan 20", "fetch 20", "filter 20", "group 4", "filter 4", "finalProjection 4"]
    ),
    (
      "SELECT a._id FROM t a JOIN t b ON b._id = a.n WHERE a.m = 1 AND b.m = a.m", 15,
      ["collectionScan 100", "filter 25", "nlJoin 25", "filter 15", "finalProjection 15"]
    ),
    (
      "SELECT n FROM t WHERE _id = 1 UNION ALL SELECT n FROM t WHERE _id IN [2, 3]", 3,
      ["idScan 1", "filter 1", "finalProjection 1", "idScan 2", "filter 2", "finalProjection 2", "union 3"]
    ),
    (
      "SELECT _id FROM t WHERE n IN (SELECT n FROM t WHERE _id = 3)", 10,
      [
        "idScan 1", "filter 1", "finalProjection 1", "indexScan 10", "fetch 10", "filter 10",
        "finalProjection 10",
      ]
    ),
    ("SELECT name FROM system:collections", 1, ["virtualScan 1", "finalProjection 1"]),
  ]

  @Test(arguments: queries) func `a query is run and says what each operator gave on`(
    query: String, rows: Int, operators: [String]
  ) throws {
    let found = try profile(query)
    #expect(found.operators == operators, "\(query)")
    #expect(found.rows == rows && found.whole["rows"] == .int(Int64(rows)))
    guard case .int(let elapsed)? = found.whole["elapsed_ns"] else {
      Issue.record("no time")
      return
    }
    #expect(elapsed > 0)
    #expect(try engine.execute(query).rows.count == rows)
  }

  private static let writes: [(String, Int, [String])] = [
    ("UPDATE t SET x = 1 WHERE n = 3", 10, ["indexScan 10", "fetch 10", "filter 10", "update 10"]),
    ("DELETE FROM t WHERE m = 1", 25, ["collectionScan 100", "filter 25", "delete 25"]),
    ("EVICT FROM t WHERE _id = 5", 1, ["idScan 1", "filter 1", "evict 1"]),
    ("UPDATE nowhere SET x = 1", 0, ["collectionScan", "update 0"]),
    ("INSERT INTO u DOCUMENTS ({'a': 1})", 1, ["insert 1"]),
    (
      "INSERT INTO u SELECT n FROM t WHERE _id = 3", 1,
      ["idScan 1", "filter 1", "finalProjection 1", "insert 1"]
    ),
  ]

  @Test(arguments: writes) func `a statement that writes does so, and says how much`(
    statement: String, mutated: Int, operators: [String]
  ) throws {
    let found = try profile(statement)
    #expect(found.operators == operators)
    #expect(found.whole["mutated"] == .int(Int64(mutated)))
  }

  @Test func `times are those of operators, and together no more than the whole`() throws {
    let whole = try profile("SELECT * FROM t WHERE m = 1").whole
    guard case .array(let steps)? = whole["plan"], case .int(let elapsed)? = whole["elapsed_ns"] else {
      Issue.record("no profile")
      return
    }
    let times = steps.compactMap { step -> Int64? in
      guard case .map(let step) = step, case .int(let time)? = step["ns"] else { return nil }
      return time
    }
    #expect(times.count == 3 && times.allSatisfy { $0 > 0 })
    #expect(times.reduce(0, +) <= elapsed)
  }

  @Test func `what touches no documents is not profiled`() throws {
    for statement in ["SHOW ALL", "CREATE INDEX i ON t (m)", "ALTER SYSTEM RESET ALL"] {
      let error = try #require(throws: QueryError.self) { try engine.execute("PROFILE " + statement) }
      expectEqual(error.code, .unsupported)
    }
    #expect(try engine.execute("SELECT * FROM system:indexes").rows.count == 1)
  }

  @Test func `set operations and statements with queries inside are explained`() throws {
    let plan = try engine.execute(
      """
      EXPLAIN SELECT n FROM t WHERE n = 1 EXCEPT SELECT n FROM t WHERE m = 2 ORDER BY n LIMIT 2
      """
    ).rows[0].values()["plan"]
    guard case .array(let steps)? = plan, case .map(let first)? = steps.first,
      case .array(let inputs)? = first["inputs"]
    else {
      Issue.record("no plan")
      return
    }
    #expect(first["operator"] == .string("except") && first["all"] == .bool(false) && inputs.count == 2)
    #expect(steps.count == 3)
    #expect(JSON.text(of: inputs[0]).contains("indexScan"))
    for statement in [
      "EXPLAIN INSERT INTO u SELECT n FROM t WHERE n IN (SELECT m FROM t)",
      "EXPLAIN DELETE FROM t WHERE n IN (SELECT m FROM t WHERE m = 1)",
      "EXPLAIN UPDATE t SET x = 1 WHERE n IN (SELECT m FROM t WHERE m = 1)",
      "EXPLAIN SELECT n FROM t UNION SELECT n FROM t WHERE n IN (SELECT m FROM t WHERE m = 1)",
    ] {
      let text = JSON.text(of: .map(try engine.execute(statement).rows[0].values()))
      expect(text.contains("indexScan"), "\(statement)")
    }
  }
}
