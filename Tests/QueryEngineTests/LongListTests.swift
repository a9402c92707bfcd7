import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// Lists of constants around the number of ranges that a scan of an index has at most.
@Suite struct LongListTests {
  /// Few documents, all over what the lists span; every other one has an odd value, which no list has.
  private static let values = (0..<100).map { Int64($0 * 180 + $0 % 2) }

  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
    _ = try store.write { transaction in
      for value in Self.values {
        try transaction.upsert(
          ["v": .int(value), "w": .int(value % 3), "l": .array([.int(value), .int(-1)]), "n": .int(0)],
          id: DocumentID(.int(value)), into: "c")
      }
    }
  }

  private func create(_ fields: IndexField...) throws {
    try store.createIndex(IndexDefinition(name: "i", collection: "c", fields: fields))
  }

  /// The even numbers from zero.
  private static func list(_ count: Int) -> Value { .array((0..<count).map { .int(2 * Int64($0)) }) }

  /// The values that a list of even numbers has.
  private static func found(_ count: Int, where condition: (Int64) -> Bool = { _ in true }) -> [Int64] {
    values.filter { $0 % 2 == 0 && $0 < 2 * count && condition($0) }
  }

  private func number(_ statement: String, _ list: Value) throws -> Value? {
    try engine.execute(statement, arguments: ["l": list]).rows.first?.values()["n"]
  }

  @Test func `a query inside finds as many documents as it has values`() throws {
    try create(IndexField(["v"]))
    _ = try store.write { transaction in
      for value in 0..<Int64(8_193) {
        try transaction.upsert(["x": .int(2 * value)], id: DocumentID(.int(value)), into: "d")
      }
    }
    let row = try engine.execute("SELECT COUNT(*) AS n FROM c WHERE v IN (SELECT x FROM d)")
    #expect(try row.rows[0].values() == ["n": .int(Int64(Self.found(8_193).count))])
  }

  @Test(arguments: [8_191, 8_192, 8_193, 20_000], [false, true])
  func `a long list finds what a short one does`(count: Int, descending: Bool) throws {
    try create(IndexField(["v"], descending: descending))
    let list = Self.list(count)
    let values = Self.found(count)
    let found = Value.int(Int64(values.count))
    let others = Value.int(Int64(Self.values.count - values.count))
    #expect(try number("SELECT COUNT(*) AS n FROM c USE INDEX 'i' WHERE v IN :l", list) == found)
    #expect(try number("SELECT COUNT(v) AS n FROM c USE INDEX 'i' WHERE v IN :l", list) == found)
    #expect(try number("SELECT COUNT(*) AS n FROM c USE INDEX 'i' WHERE v NOT IN :l", list) == others)
    #expect(try number("SELECT COUNT(v) AS n FROM c USE INDEX 'i' WHERE v NOT IN :l", list) == others)
    #expect(
      try number("SELECT COUNT(*) AS n FROM c USE INDEX 'i' WHERE v IN :l AND w = 1", list)
        == .int(Int64(values.count { $0 % 3 == 1 })))
    let ordered = try engine.execute(
      "SELECT v FROM c USE INDEX 'i' WHERE v IN :l ORDER BY v DESC LIMIT 3", arguments: ["l": list])
    #expect(try ordered.rows.map { try $0.values()["v"] } == values.suffix(3).reversed().map { .int($0) })
  }

  @Test func `further fields of an index are settled by values that were not joined`() throws {
    try create(IndexField(["w"]), IndexField(["v"]))
    let list = Self.list(8_193)
    let found = Value.int(Int64(Self.found(8_193) { $0 % 3 == 1 }.count))
    #expect(try number("SELECT COUNT(*) AS n FROM c USE INDEX 'i' WHERE w = 1 AND v IN :l", list) == found)
    #expect(
      try number("SELECT COUNT(v) AS n FROM c USE INDEX 'i' WHERE w IN [1, 7] AND v IN :l", list) == found)
  }

  @Test func `elements are found by a long list`() throws {
    try create(IndexField(["l"], part: .elements))
    let list = Self.list(8_193)
    #expect(
      try number("SELECT COUNT(*) AS n FROM c USE INDEX 'i' WHERE ANY x IN l SATISFIES x IN :l END", list)
        == .int(Int64(Self.found(8_193).count)))
  }

  @Test func `statements that write and observers follow a long list`() throws {
    try create(IndexField(["v"]))
    let arguments: [TextKey: Value] = ["l": Self.list(8_193)]
    let found = Self.found(8_193).count
    var live = try LiveQuery(dql: "SELECT COUNT(*) AS n FROM c WHERE v IN :l", arguments: arguments)
    #expect(try live.start(engine).map { try $0.values() } == [["n": .int(Int64(found))]])
    var documents = try LiveQuery(dql: "SELECT v FROM c WHERE v NOT IN :l", arguments: arguments)
    #expect(try documents.start(engine).count == Self.values.count - found)
    let updated = try engine.execute(
      "UPDATE c USE INDEX 'i' APPLY n INCREMENT BY 1 WHERE v IN :l", arguments: arguments)
    #expect(updated.mutatedDocumentIDs.count == found)
    #expect(try number("SELECT SUM(n) AS n FROM c", .null) == .int(Int64(found)))
    let removed = try engine.execute("DELETE FROM c USE INDEX 'i' WHERE v NOT IN :l", arguments: arguments)
    #expect(removed.mutatedDocumentIDs.count == Self.values.count - found)
    #expect(try number("SELECT COUNT(*) AS n FROM c", .null) == .int(Int64(found)))
  }

  @Test func `a plan says that the filter is left to do where ranges were joined`() throws {
    try create(IndexField(["v"]))
    func plan(_ count: Int) throws -> Plan {
      let select = Select(
        collection: "c", projection: .countAll(alias: "n"),
        predicate: .in(.path([.key("v")]), .literal(Self.list(count)), negated: false))
      return try store.read {
        try Planner.plan(select, arguments: [:], catalogue: QueryCatalogue(["c"], in: $0))
      }
    }
    let (most, more) = (try plan(8_192), try plan(8_193))
    #expect(most.coversFilter && most.countedScan?.spans.count == 8_192)
    #expect(!more.coversFilter && more.countedScan == nil)
    guard case .index(let scan) = more.access else {
      Issue.record("no index is used")
      return
    }
    // Neighbours are joined, and not all ranges to one.
    #expect(scan.spans.count == 4_097)
  }
}
