import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// What statistics make of plans, over documents of which nearly all are of one kind.
@Suite struct PlanStatisticsTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
    let documents = (0..<2_000).map { number -> Value in
      .map([
        "kind": .string(number % 20 == 0 ? "rare \(number / 20 % 5)" : "often"), "n": .int(Int64(number)),
        "grp": .int(Int64(number % 40)),
      ])
    }
    _ = try engine.execute("INSERT INTO t DOCUMENTS (:all)", arguments: ["all": .array(documents)])
    for field in ["kind", "n", "grp"] {
      try store.createIndex(
        IndexDefinition(name: field, collection: "t", fields: [IndexField([TextKey(field)])]))
    }
  }

  private func access(_ rest: String) throws -> String {
    guard case .select(let select) = try DQL.parse("SELECT * FROM t " + rest) else { return "" }
    let plan = try store.read {
      try Planner.plan(select, arguments: [:], catalogue: QueryCatalogue(["t"], in: $0))
    }
    switch plan.access {
    case .index(let scan): return scan.index.definition.name
    case .union(let scans): return scans.map(\.index.definition.name).joined(separator: " | ")
    case .intersection(let scans): return scans.map(\.index.definition.name).joined(separator: " & ")
    default: return String("\(plan.access)".prefix { $0 != "(" })
    }
  }

  @Test(arguments: [
    ("WHERE kind = 'often' AND grp = 3", "grp"),
    ("WHERE kind = 'rare 1' AND grp = 3", "kind"),
    ("WHERE kind = 'rare 1' AND n < 1000", "kind"),
    ("WHERE kind = 'often' AND n < 30", "n"),
    ("WHERE grp = 3 AND n BETWEEN 100 AND 120", "n & grp"),
    ("WHERE grp = 3 AND n BETWEEN 100 AND 1900", "grp"),
    ("WHERE grp = 3 AND n < 200", "grp & n"),
    ("WHERE kind LIKE 'rare%' AND n < 1500", "kind"),
    ("WHERE kind IN ['rare 1', 'rare 2'] AND grp IN [1, 2, 3, 4, 5, 6]", "kind"),
    // Where most documents are wanted, an index is a detour; a count needs the rows alone.
    ("WHERE kind = 'often'", "collectionScan"),
    ("WHERE n > 100", "collectionScan"),
    ("WHERE kind = 'often' OR grp = 7", "collectionScan"),
    ("WHERE kind = 'rare 1' OR grp = 7", "kind | grp"),
    ("USE INDEX 'kind' WHERE kind = 'often'", "kind"),
    // An order is taken from an index where enough of its first rows are wanted.
    ("WHERE kind = 'often' ORDER BY n LIMIT 5", "n"),
    ("WHERE kind = 'rare 1' ORDER BY n LIMIT 50", "kind"),
    ("ORDER BY n", "n"),
  ])
  func `what is known of the values chooses among indexes`(rest: String, expected: String) throws {
    #expect(try access(rest) == expected)
  }

  @Test func `statistics that are no longer true cost time and nothing else`() throws {
    _ = try engine.execute("UPDATE t SET kind = 'rare 1', n = 5 WHERE kind = 'often'")
    _ = try engine.execute("UPDATE t SET kind = 'often' WHERE grp = 3")
    for rest in ["kind = 'rare 1'", "n = 5 AND grp = 3", "kind = 'often' AND n < 30", "n BETWEEN 4 AND 6"] {
      let hinted = try engine.execute("SELECT _id FROM t USE INDEX '' WHERE \(rest) ORDER BY _id").rows
      let planned = try engine.execute("SELECT _id FROM t WHERE \(rest) ORDER BY _id").rows
      try expectEqual(planned.map { try $0.values() }, hinted.map { try $0.values() })
      expect(!planned.isEmpty)
    }
    try store.updateStatistics(of: "t")
    #expect(try access("WHERE kind = 'rare 1' AND grp = 7") == "grp")
    #expect(try access("WHERE kind = 'often' AND n < 2000") == "kind")
  }

  @Test func `EXPLAIN shows no estimates`() throws {
    func plan() throws -> [[TextKey: Value]] {
      try engine.execute("EXPLAIN SELECT * FROM t WHERE n = 7").rows.map { try $0.values() }
    }
    let before = try plan()
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'n': 7}), ({'n': 8})")
    try store.updateStatistics(of: "t")
    #expect(try plan() == before)
  }
}
