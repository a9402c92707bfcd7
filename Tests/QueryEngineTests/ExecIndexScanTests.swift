import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct ExecIndexScanTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
  }

  private func createIndex(_ name: String, _ fields: [IndexField]) throws {
    try store.createIndex(IndexDefinition(name: name, collection: "t", fields: fields))
  }

  private func access(_ predicate: String, _ hints: Hints = Hints()) throws -> AccessPath {
    let select = Select(
      from: Source("t", hints: hints), predicate: try DQL.parseExpression(predicate))
    return try store.read { transaction in
      try Planner.plan(select, arguments: [:], catalogue: QueryCatalogue(["t"], in: transaction)).access
    }
  }

  private func scanned(_ path: AccessPath) -> (index: String, spans: [IndexSpan])? {
    guard case .index(let scan) = path else { return nil }
    return (scan.index.definition.name, scan.spans)
  }

  @Test func `an index answers for the fields that the filter settles`() throws {
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'a': 1})")
    try createIndex("ia", [IndexField(["a"])])
    try createIndex("iab", [IndexField(["a"], descending: true), IndexField(["m", "b"])])
    let one = try #require(scanned(access("a = 1 AND c > 2")))
    #expect(one.index == "ia" && one.spans == [.equal([.int(1)])])
    let two = try #require(scanned(access("m.b = 'x' AND 1 = a")))
    #expect(two.index == "iab" && two.spans == [.equal([.int(1), .string("x")])])
    #expect(try scanned(access("a = 1", Hints(indexes: ["iab"])))?.index == "iab")
    #expect(try scanned(access("a = 1", Hints(indexes: ["unknown"])))?.index == "ia")
    #expect(try access("a = 1", Hints(indexes: [])) == .collectionScan)
    for predicate in ["m.b = 'x'", "a = 1 OR c = 2", "lower(a) = 'x'", "a[0] = 1"] {
      try expectEqual(access(predicate), .collectionScan, "\(predicate)")
    }
    #expect(try access("a = 1 AND _id = 'x'") == .ids([DocumentID("x")]))
    let live = try store.read {
      try Planner.plan(
        Select(collection: "t", predicate: DQL.parseExpression("a = 1")), arguments: [:],
        catalogue: QueryCatalogue(["t"], in: $0), totalOrder: true)
    }
    #expect(live.access == .idRange(from: nil, to: nil))
  }

  @Test func `EXPLAIN shows the index, its spans and the fetch`() throws {
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'color': 'blue'})")
    try createIndex("ix_color", [IndexField(["color"])])
    let row = try engine.execute("EXPLAIN SELECT * FROM t WHERE color = 'blue'").rows[0].values()
    guard case .array(let steps) = row["plan"] else {
      Issue.record("no plan")
      return
    }
    let names = steps.map { $0.value(at: [.key("operator")]) }
    #expect(names == ["indexScan", "fetch", "filter", "finalProjection"].map { .string($0) })
    #expect(steps[0].value(at: [.key("index")]) == .string("ix_color"))
    #expect(
      steps[0].value(at: [.key("spans")])
        == .array([.map(["from": .string("before 'blue'"), "to": .string("after 'blue'")])]))
  }

  /// What is written in the same transaction and what was deleted is found and left out as by a scan.
  @Test(arguments: 0..<8) func `finds by an index what a scan finds`(seed: UInt64) throws {
    var queries = RandomQueries(seed: seed)
    func write(_ transaction: WriteTransaction) throws {
      for number in 0..<90 where !queries.random.oneIn(3) {
        let id = try DocumentID("d\(number)")
        if queries.random.oneIn(5) {
          _ = try transaction.remove(id, in: "t")
        } else {
          try transaction.upsert(queries.document(), id: id, into: "t")
        }
      }
    }
    func expectSame(_ constants: [Value], _ source: borrowing some RecordSource & ~Copyable) throws {
      for constant in constants {
        let predicate = Expression.binary(.equal, .path([.key("a")]), .literal(constant))
        let plan = try Planner.plan(
          Select(collection: "t", predicate: predicate), arguments: [:],
          catalogue: QueryCatalogue(["t"], in: source))
        var scan = plan
        scan.access = .collectionScan
        try expectEqual(plan.ids(in: source).sorted(), scan.ids(in: source).sorted(), "\(predicate)")
        guard case .index(var reversed) = plan.access else { continue }
        reversed.isReversed = true
        var backwards = plan
        backwards.access = .index(reversed)
        let turned = try backwards.ids(in: source)
        let straight = try plan.ids(in: source)
        expectEqual(turned, straight.reversed(), "\(predicate)")
      }
    }
    _ = try store.write { try write($0) }
    try createIndex("ia", [IndexField(["a"]), IndexField(["b"], descending: true)])
    let constants = (0..<30).map { _ in queries.value(depth: 1) }
    try store.read { try expectSame(constants, $0) }
    _ = try store.write { transaction in
      try write(transaction)
      try expectSame(constants, transaction)
    }
  }
}
