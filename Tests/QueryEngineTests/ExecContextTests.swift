import CRDTCore
import DocStore
import QueryEngine
import Synchronization
import TestKit
import Testing

/// A clock that tests move.
private final class ManualClock: Sendable {
  private let nanoseconds = Atomic<UInt64>(5)

  func advance(_ by: UInt64) { nanoseconds.add(by, ordering: .relaxed) }

  var environment: EngineEnvironment {
    EngineEnvironment(now: { [nanoseconds = self] in nanoseconds.now })
  }

  private var now: UInt64 { nanoseconds.load(ordering: .relaxed) }
}

@Suite struct ExecContextTests {
  private static let second: UInt64 = 1_000_000_000
  private let directory: TemporaryDirectory
  private let store: Store
  private let clock = ManualClock()
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: clock.environment)
    let documents = (0..<1_000).map { Value.map(["_id": .int(Int64($0)), "n": .int(Int64($0 % 10))]) }
    _ = try engine.execute("INSERT INTO t DOCUMENTS (:d)", arguments: ["d": .array(documents)])
  }

  private static let statements = [
    "SELECT * FROM t", "SELECT COUNT(*) FROM t WHERE n = 1", "SELECT DISTINCT n FROM t ORDER BY n",
    "SELECT * FROM t WHERE _id >= 0", "SELECT * FROM t ORDER BY n LIMIT 3", "UPDATE t SET n = 1",
    "DELETE FROM t WHERE n = 2", "EVICT FROM t", "SELECT * FROM system:collections WHERE name = 't'",
    "INSERT INTO t DOCUMENTS ({'_id': 'new'})",
  ]

  /// Counts what a statement asks for, and refuses beyond a bound.
  private final class CountingMemory: StatementMemory {
    let reserved = Atomic(0)
    let largeRows = Atomic(0)
    let limit: Int

    init(limit: Int = .max) { self.limit = limit }

    func reserve(_ bytes: Int) throws(QueryError) {
      let sum = reserved.wrappingAdd(bytes, ordering: .relaxed).newValue
      guard sum <= limit else { throw QueryError(.limit, "all statements together") }
    }

    func beginLargeRow(_ poll: () throws(QueryError) -> Void) throws(QueryError) {
      largeRows.wrappingAdd(1, ordering: .relaxed)
      try poll()
    }
  }

  @Test(arguments: [
    "FROM t LIMIT 1", "FROM t WHERE _id = 1", "FROM system:collections",
    "FROM t AS a JOIN t AS b ON a._id = b._id WHERE a._id = 1", "FROM t GROUP BY n LIMIT 1",
  ])
  func `functions of all columns of a row share one bound`(source: String) throws {
    let context = StatementContext(clock.environment)
    let columns = ["x", "y"].map { "repeat('\($0)', 5000000) AS \($0)" }.joined(separator: ", ")
    try expect(.limit, "SELECT \(columns) \(source)", context)
    #expect(try engine.execute("SELECT repeat('x', 8000000) AS x \(source)").rows.isEmpty == false)
  }

  @Test func `what a statement keeps counts with that of others`() throws {
    let memory = CountingMemory(limit: 20_000)
    let context = StatementContext(clock.environment)
    context.share(memory)
    try expect(.limit, "SELECT * FROM t ORDER BY n, _id", context)
    #expect(memory.reserved.load(ordering: .relaxed) > 20_000)
    #expect(memory.largeRows.load(ordering: .relaxed) == 0)
  }

  @Test(arguments: [
    "SELECT repeat('x', 70000) AS x FROM t LIMIT 1", "SELECT * FROM large", "SELECT more FROM large",
    "SELECT concat(repeat('x', 70000), cast(n AS string)) AS x FROM t LIMIT 1",
  ])
  func `a large row waits until its statement may make it`(statement: String) throws {
    _ = try engine.execute(
      "INSERT INTO large DOCUMENTS ({'_id': 1, 'more': :large})",
      arguments: ["large": .string(String(repeating: "x", count: 70_000))])
    let memory = CountingMemory()
    let context = StatementContext(clock.environment)
    context.share(memory)
    #expect(try engine.execute(statement, context: context).rows.count == 1)
    #expect(memory.largeRows.load(ordering: .relaxed) > 0)
    context.cancel()
    try expect(.cancelled, statement, context)
  }

  private func expect(
    _ code: QueryError.Code, _ statement: String, _ context: StatementContext
  ) throws {
    let before = try texts()
    #expect { try engine.execute(statement, context: context) } throws: { ($0 as? QueryError)?.code == code }
    #expect(try texts() == before, "\(statement)")
  }

  private func texts() throws -> [String] {
    try engine.execute("SELECT * FROM t ORDER BY _id").rows.map { JSON.text(of: .map(try $0.values())) }
  }

  @Test(arguments: [
    "UPDATE t SET n = n + 100", "DELETE FROM t", "INSERT INTO t SELECT n AS m FROM t",
  ])
  func `a statement that is alone in its transaction may also end while it writes`(statement: String) throws {
    let ticks = Atomic<UInt64>(0)
    let ticking = EngineEnvironment(now: { ticks.add(1, ordering: .relaxed).newValue })
    let before = try texts()
    let context = StatementContext(ticking, timeout: .nanoseconds(200))
    context.isAloneInTransaction()
    try expect(.timeout, statement, context)
    // One that is not ends before its first write or not at all.
    let shared = StatementContext(ticking, timeout: .nanoseconds(200))
    _ = try engine.execute(statement, context: shared)
    #expect(try texts() != before)
  }

  @Test(arguments: statements) func `a cancelled statement reads and writes nothing`(statement: String) throws
  {
    let context = engine.makeContext()
    context.cancel()
    try expect(.cancelled, statement, context)
    #expect(throws: Never.self) { try engine.execute(statement) }
  }

  @Test(arguments: statements) func `a statement whose time is over ends`(statement: String) throws {
    let context = StatementContext(clock.environment, timeout: .seconds(2))
    clock.advance(2 * Self.second - 1)
    try context.poll()
    clock.advance(1)
    try expect(.timeout, statement, context)
  }

  @Test func `time is looked at while a scan goes on`() throws {
    let ticking = EngineEnvironment(now: { [clock] in
      clock.advance(Self.second)
      return clock.environment.now()
    })
    // Each look takes a second: one at the start, then one for every 256 of the 1,000 rows.
    #expect(throws: Never.self) {
      try engine.execute("SELECT * FROM t", context: StatementContext(ticking, timeout: .seconds(5)))
    }
    try expect(.timeout, "SELECT * FROM t", StatementContext(ticking, timeout: .seconds(4)))
    #expect(throws: Never.self) {
      try engine.execute("SELECT * FROM t LIMIT 10", context: StatementContext(ticking, timeout: .seconds(2)))
    }
  }

  @Test func `a statement from another thread can be cancelled while it runs`() throws {
    let context = StatementContext()
    let visits = Atomic(0)
    let counting = EngineEnvironment(now: {
      if visits.add(1, ordering: .relaxed).newValue == 3 { context.cancel() }
      return 0
    })
    let watched = Engine(store: store, parameters: engine.parameters, environment: counting)
    let bounded = StatementContext(counting, timeout: .seconds(1))
    #expect(throws: Never.self) { try watched.execute("SELECT * FROM t WHERE n = 3", context: bounded) }
    #expect(visits.load(ordering: .relaxed) >= 5)
    try expect(.cancelled, "SELECT * FROM t", context)
  }

  @Test func `a statement visits no more rows than it may`() throws {
    try expect(.limit, "SELECT * FROM t WHERE n = 77", StatementContext(.still, steps: 700))
    #expect(throws: Never.self) {
      try engine.execute("SELECT * FROM t", context: StatementContext(.still, steps: 1_000))
    }
  }

  @Test func `the system parameter gives every statement its time`() throws {
    #expect(try engine.execute("SHOW DQL_REQUEST_TIMEOUT_SECONDS").rows[0].values().values.first == .int(0))
    let unbounded = engine.makeContext()
    _ = try engine.execute("ALTER SYSTEM SET DQL_REQUEST_TIMEOUT_SECONDS = 3")
    let bounded = engine.makeContext()
    clock.advance(3 * Self.second)
    #expect { try bounded.poll() } throws: { ($0 as? QueryError)?.code == .timeout }
    try unbounded.poll()
    _ = try engine.execute("ALTER SYSTEM RESET ALL")
    let reset = engine.makeContext()
    clock.advance(3 * Self.second)
    try reset.poll()
    for value in ["-1", "1.5", "'1'"] {
      #expect(throws: QueryError.self) {
        try engine.execute("ALTER SYSTEM SET DQL_REQUEST_TIMEOUT_SECONDS = \(value)")
      }
    }
  }

  @Test func `cancelling the task cancels its statement`() async throws {
    let task = Task { [engine] in
      while !Task.isCancelled { await pause() }
      return try await engine.execute("SELECT * FROM t").rows.count
    }
    task.cancel()
    await #expect { try await task.value } throws: { ($0 as? QueryError)?.code == .cancelled }
  }
}
