import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct ExecPlannerTests {
  private func plan(_ statement: String, _ arguments: [TextKey: Value] = [:]) throws -> Plan {
    guard case .select(let select) = try DQL.parse(statement) else {
      throw QueryError(.syntax, "not a SELECT")
    }
    return try Planner.plan(select, arguments: arguments)
  }

  private func ids(_ values: Value...) throws -> AccessPath {
    .ids(try values.map { try DocumentID($0) }.sorted())
  }

  @Test func `goes straight to documents that are named by id`() throws {
    let a = Value.string("a")
    let b = Value.string("b")
    #expect(try plan("SELECT * FROM t WHERE _id = 'a'").access == ids(a))
    #expect(try plan("SELECT * FROM t WHERE 'a' = _id AND n > 2").access == ids(a))
    #expect(try plan("SELECT * FROM t WHERE _id IN :l", ["l": .array([b, a, b])]).access == ids(a, b))
    #expect(try plan("SELECT * FROM t WHERE _id = 'a' OR _id = 'b'").access == ids(a, b))
    #expect(try plan("SELECT * FROM t WHERE _id IN ['a', 'b'] AND _id > 'a'").access == ids(a, b))
    #expect(try plan("SELECT * FROM t WHERE _id IN ['a', 'b'] AND _id = 'b'").access == ids(b))
    #expect(try plan("SELECT * FROM t USE IDS 'a', 'b'").access == ids(a, b))
    #expect(try plan("SELECT * FROM t WHERE _id = 7.0").access == ids(.int(7)))
  }

  @Test func `looks nowhere when no id can match`() throws {
    #expect(try plan("SELECT * FROM t WHERE _id = 'a' AND _id = 'b'").access == .ids([]))
    #expect(try plan("SELECT * FROM t WHERE _id = null").access == .ids([]))
    #expect(try plan("SELECT * FROM t WHERE _id = 1.5").access == .ids([]))
    #expect(try plan("SELECT * FROM t WHERE _id IN []").access == .ids([]))
  }

  @Test func `scans a range of ids where their order is that of their bytes`() throws {
    let from = try DocumentID("a").bytes
    let to = try DocumentID("c").bytes
    #expect(try plan("SELECT * FROM t WHERE _id >= 'a' AND _id < 'c'").access == .idRange(from: from, to: to))
    #expect(
      try plan("SELECT * FROM t WHERE _id BETWEEN 'a' AND 'c'").access == .idRange(from: from, to: to + [0]))
  }

  @Test(arguments: [
    "SELECT * FROM t", "SELECT * FROM t WHERE n = 1", "SELECT * FROM t WHERE _id = 'a' OR n = 1",
    "SELECT * FROM t WHERE NOT _id = 'a'", "SELECT * FROM t WHERE _id != 'a'",
    "SELECT * FROM t WHERE _id NOT IN ['a']",
    "SELECT * FROM t WHERE _id.x = 'a'", "SELECT * FROM t WHERE _id = [1.5]",
  ])
  func `scans the collection for everything else`(statement: String) throws {
    #expect(try plan(statement).access == .collectionScan)
  }

  @Test func `a column's name in ORDER BY stands for its expression`() throws {
    let plan = try plan("SELECT price * 2 AS p FROM t ORDER BY p LIMIT 3 OFFSET 2")
    #expect(plan.order == [SortKey(expression: try DQL.parseExpression("price * 2"))])
    #expect(plan.window == 5)
    #expect(!plan.stopsEarly)
    #expect(try self.plan("SELECT * FROM t LIMIT 3").stopsEarly)
  }

  /// An access path may only leave out what the predicate refuses.
  @Test(arguments: 0..<12) func `finds by id what a scan finds`(seed: UInt64) throws {
    try TemporaryDirectory.with { directory in
      let store = try Store.open(
        at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
      defer { store.close() }
      var queries = RandomQueries(seed: seed)
      _ = try store.write { transaction in
        for _ in 0..<60 {
          let id = try DocumentID(queries.id())
          try transaction.upsert(queries.document(), id: id, into: "t")
        }
      }
      for _ in 0..<80 {
        let predicate = queries.idPredicate(depth: 2)
        let plan = try Planner.plan(
          Select(collection: "t", predicate: predicate), arguments: [:], totalOrder: true)
        var scan = plan
        scan.access = .idRange(from: nil, to: nil)
        let found = try store.read { try plan.ids(in: $0) }
        let expected = try store.read { try scan.ids(in: $0) }
        expectEqual(found, expected, "\(predicate)")
      }
    }
  }

  @Test func `explains a plan without running it`() throws {
    try TemporaryDirectory.with { directory in
      let store = try Store.open(
        at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
      defer { store.close() }
      let engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
      func steps(_ statement: String) throws -> [Value] {
        let rows = try engine.execute("EXPLAIN " + statement).rows
        #expect(rows.count == 1)
        guard case .array(let steps) = try rows[0].values()["plan"] else { return [] }
        return steps.map { step in
          if case .map(let details) = step { details["operator"] ?? .null } else { .null }
        }
      }
      #expect(
        try steps("SELECT a FROM t WHERE _id = 'x' ORDER BY a LIMIT 2 OFFSET 1")
          == ["idScan", "filter", "sort", "limit", "finalProjection"].map { .string($0) })
      #expect(
        try steps("SELECT * FROM t WHERE _id > 'x'")
          == ["idScan", "filter", "finalProjection"].map { .string($0) })
      #expect(
        try steps("SELECT DISTINCT a FROM t ORDER BY a")
          == ["collectionScan", "sort", "distinct", "finalProjection"].map { .string($0) })
      #expect(try steps("DELETE FROM t") == ["collectionScan", "delete"].map { .string($0) })
      #expect(try steps("INSERT INTO t DOCUMENTS ({})") == [.string("insert")])
      #expect(
        try steps("SELECT * FROM system:dual") == ["virtualScan", "finalProjection"].map { .string($0) })
      #expect(
        try steps("SELECT COUNT(*) FROM t") == ["countScan", "finalProjection"].map { .string($0) })
      #expect(
        try steps("SELECT COUNT(*) FROM t WHERE a")
          == ["collectionScan", "filter", "group", "finalProjection"].map { .string($0) })
      #expect(try engine.execute("SELECT * FROM system:collections").rows.isEmpty)
    }
  }
}
