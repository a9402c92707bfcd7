import CRDTCore
import DocStore
import QueryEngine
import Synchronization
import TestKit
import Testing

@Suite struct ExecRequestTests {
  private final class Log: Sendable {
    let lines = Mutex<[String]>([])
    let nanoseconds = Atomic<UInt64>(0)
    let step = Atomic<UInt64>(0)

    var environment: EngineEnvironment {
      EngineEnvironment(
        now: { self.nanoseconds.add(self.step.load(ordering: .relaxed), ordering: .relaxed).newValue },
        log: { line in self.lines.withLock { $0.append(line) } })
    }
  }

  private let directory: TemporaryDirectory
  private let engine: Engine
  private let log = Log()

  init() throws {
    directory = try TemporaryDirectory()
    let store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: log.environment)
  }

  private func history() throws -> [[TextKey: Value]] {
    try engine.execute("SELECT * FROM system:request_history ORDER BY _id").rows.map { try $0.values() }
  }

  @Test func `the history holds what has run, without literals and arguments`() throws {
    _ = try engine.execute(
      "INSERT INTO t DOCUMENTS ({'_id': 'secret', 'n': :n})", arguments: ["n": .string("hidden")])
    #expect(throws: QueryError.self) { try engine.execute("SELECT :missing FROM system:dual") }
    let kept = try history()
    #expect(kept.map { $0["state"] } == [.string("completed"), .string("failed")])
    #expect(kept[1]["error"] == .string("argument"))
    let text = kept.map { JSON.text(of: .map($0)) }.joined()
    #expect(!text.contains("secret") && !text.contains("hidden") && text.contains("INSERT INTO t"))
    _ = try engine.execute("DELETE FROM system:request_history")
    #expect(try history().count == 1)
    #expect(throws: QueryError.self) {
      try engine.execute("DELETE FROM system:request_history WHERE _id = 1")
    }
  }

  @Test func `the history is as long as its parameter says and keeps the newest`() throws {
    _ = try engine.execute("ALTER SYSTEM SET dql_request_history_size = 3")
    for number in 0..<10 { _ = try engine.execute("SELECT \(number) AS x FROM system:dual") }
    let kept = try history()
    #expect(kept.map { $0["_id"] } == [9, 10, 11].map { .int($0) })
    _ = try engine.execute("ALTER SYSTEM SET dql_request_history_size = 0")
    #expect(try history().isEmpty)
    _ = try engine.execute("ALTER SYSTEM RESET dql_request_history_size")
    let shown = try engine.execute("SHOW dql_request_history_size").rows[0].values()
    #expect(shown.values.first == .int(4_096))
  }

  @Test func `a statement sees itself among those that run`() throws {
    let active = try engine.execute("SELECT statement, state FROM system:active_requests").rows
    #expect(active.count == 1)
    #expect(try active[0].values()["state"] == .string("running"))
  }

  @Test func `slow statements are logged without their values`() throws {
    _ = try engine.execute("ALTER SYSTEM SET dql_slow_request_warn_seconds = 2")
    log.step.store(1_500_000_000, ordering: .relaxed)
    _ = try engine.execute("SELECT * FROM t WHERE a = 'quick'")
    #expect(log.lines.withLock { $0 }.isEmpty)
    log.step.store(2_500_000_000, ordering: .relaxed)
    _ = try engine.execute("SELECT * FROM t WHERE a = 'secret' AND b = :p", arguments: ["p": .int(77)])
    let lines = log.lines.withLock { $0 }
    #expect(lines.count == 1 && lines[0].contains("SELECT * FROM t"))
    #expect(!lines.joined().contains("secret") && !lines.joined().contains("77"))
  }

  @Test func `a field that no document of its collection has is logged once, with the nearest name`() throws {
    _ = try engine.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'color': 'red', 'tag': {'deep': 1}})")
    for text in ["colour = 'red'", "colour = 'red'", "colour = 'blue' AND color = 'red'"] {
      _ = try engine.execute("SELECT * FROM cars WHERE \(text)")
      _ = try engine.find(collection: "cars", predicate: DQL.parseExpression(text))
    }
    #expect(
      log.lines.withLock { $0 } == [
        "a query asks for the field 'colour', which no document of 'cars' has: did you mean 'color'?"
      ])
    _ = try engine.execute("SELECT * FROM cars c JOIN cars d USE INDEX '' ON c.color = d.year AND d.zzzz = 1")
    #expect(log.lines.withLock { $0.dropFirst().map { $0.contains("did you mean") } } == [false, false])
  }

  @Test func `a statement tells of such fields each time, in its result and in request_info`() throws {
    _ = try engine.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'color': 'red'})")
    let hint = "a query asks for the field 'colour', which no document of 'cars' has: did you mean 'color'?"
    for _ in 0..<2 {
      for text in [
        "SELECT * FROM cars WHERE colour = 'red'", "UPDATE cars SET color = 'blue' WHERE colour = 'red'",
        "DELETE FROM cars WHERE colour = 'red'", "EVICT FROM cars WHERE colour = 'red'",
        "SELECT COUNT(*) AS n FROM cars WHERE colour = 'red'",
      ] {
        try expectEqual(engine.execute(text).hints, [hint], "\(text)")
      }
    }
    let info = try engine.execute("SELECT request_info() AS r FROM cars WHERE colour IS MISSING").rows[0]
      .values()
    guard case .map(let fields)? = info["r"] else { return #expect(Bool(false)) }
    #expect(fields["hints"] == .array([.string(hint)]))
    #expect(try engine.execute("SELECT * FROM cars WHERE color = 'red'").hints == [])
    #expect(log.lines.withLock { $0 } == [hint])
  }

  @Test func `a collection that was never written is named in each result, and logged where one is near`()
    throws
  {
    _ = try engine.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'color': 'red'})")
    _ = try engine.execute("CREATE INDEX c ON cars (color)")
    let hint = "there is no collection 'crs' yet; did you mean 'cars'?"
    for text in [
      "SELECT * FROM crs", "SELECT COUNT(*) AS n FROM crs WHERE a = 1", "UPDATE crs SET a = 1 WHERE b = 2",
      "DELETE FROM crs", "EVICT FROM crs WHERE a = 1", "SELECT a FROM crs GROUP BY a",
      "SELECT a FROM cars UNION SELECT a FROM crs", "SELECT * FROM cars WHERE color IN (SELECT a FROM crs)",
      "SELECT a.color AS c FROM crs b JOIN cars a ON a.color = b.color",
      "INSERT INTO new SELECT * FROM crs",
    ] {
      try expectEqual(engine.execute(text).hints, [hint], "\(text)")
    }
    _ = try engine.find(collection: "crs")
    #expect(log.lines.withLock { $0 } == [hint])
    let far = try engine.execute("SELECT * FROM persons WHERE name = 'x'")
    #expect(far.hints == ["there is no collection 'persons' yet"])
    for text in [
      "SELECT * FROM system:dual", "SELECT * FROM __collections", "SELECT * FROM __own",
      "INSERT INTO crs DOCUMENTS ({'_id': 1})", "SELECT * FROM crs",
    ] {
      try expectEqual(engine.execute(text).hints, [], "\(text)")
    }
    #expect(log.lines.withLock { $0 } == [hint])
  }

  @Test func `what an observer's query may have got wrong is logged once`() throws {
    _ = try engine.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'color': 'red'})")
    for _ in 0..<2 {
      engine.logMistakes(in: try DQL.parse("SELECT * FROM cars WHERE colour = 1"))
      engine.logMistakes(in: try DQL.parse("SELECT * FROM crs UNION SELECT * FROM cars WHERE color = 1"))
    }
    #expect(
      log.lines.withLock { $0 } == [
        "a query asks for the field 'colour', which no document of 'cars' has: did you mean 'color'?",
        "there is no collection 'crs' yet; did you mean 'cars'?",
      ])
  }

  @Test func `fields that a document may have are not logged`() throws {
    _ = try engine.execute("SELECT * FROM nothing WHERE colour = 1")
    _ = try engine.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'color': 'red'})")
    let long = String(repeating: "x", count: 65)
    _ = try engine.execute("INSERT INTO cars DOCUMENTS ({'_id': 2, '\(long)': 1})")
    for text in ["_id = 1", "color = 'red'", "\(long) = 1"] {
      _ = try engine.execute("SELECT * FROM cars WHERE \(text)")
    }
    _ = try engine.execute("SELECT * FROM system:indexes WHERE colour = 1")
    // A document that has it now.
    _ = try engine.execute("INSERT INTO cars DOCUMENTS ({'_id': 3, 'year': 1})")
    _ = try engine.execute("SELECT * FROM cars WHERE year = 1")
    #expect(log.lines.withLock { $0 } == [])
  }
}
