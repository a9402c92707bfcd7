import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// Hints about fields whose texts are dates or numbers.
@Suite struct TextComparisonTests {
  private func hints(
    _ statement: String, _ arguments: [TextKey: Value] = [:], documents: [String]
  ) throws -> [String] {
    try TemporaryDirectory.with { directory in
      let store = try Store.open(
        at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
      defer { store.close() }
      let environment = EngineEnvironment(now: { 0 }, wallClock: { 0 })
      let engine = Engine(store: store, parameters: SystemParameters(), environment: environment)
      for document in documents { _ = try engine.execute("INSERT INTO t DOCUMENTS (\(document))") }
      let first = try engine.execute(statement, arguments: arguments).hints
      try expectEqual(engine.execute(statement, arguments: arguments).hints, first, "\(statement)")
      return first
    }
  }

  private static let dates = [
    "{'_id': 1, 'at': '2026-03-01T12:00:00.000Z'}", "{'_id': 2, 'at': '2026-03-02T12:00:00.000Z'}",
    "{'_id': 3}",
  ]
  private static let prices = ["{'_id': 1, 'p': '9'}", "{'_id': 2, 'p': '10'}", "{'_id': 3, 'p': '1.5'}"]

  @Test(arguments: [
    "at > '2026-03-01T00:00:00Z'", "at = :day", "at BETWEEN :day AND :end",
    "NOT (at < date_trunc('2026-03-01T00:00:00+01:00', 'day')) AND _id > 0",
  ])
  func `a date in another spelling draws a hint`(condition: String) throws {
    let arguments: [TextKey: Value] = [
      "day": .string("2026-03-01T12:00:00+00:00"), "end": .string("2026-03-02T12:00:00.000Z"),
    ]
    let hints = try hints("SELECT _id FROM t WHERE \(condition)", arguments, documents: Self.dates)
    #expect(hints.count == 1)
    #expect(hints.first?.contains("'at' of 't' has dates in another spelling") == true)
  }

  @Test(arguments: [
    "at > '2026-03-01T00:00:00.000Z'", "date_cast(at) > date_cast('2026-03-01T00:00:00Z')", "at > 'x'",
    "at = date_trunc('2026-03-01T12:00:00.123Z', 'hour')", "_id > '2026-03-01T00:00:00Z'",
  ])
  func `a date in the same spelling draws none`(condition: String) throws {
    let statement = "SELECT _id FROM t WHERE \(condition) ORDER BY at"
    #expect(try hints(statement, documents: Self.dates).isEmpty)
  }

  @Test(arguments: [
    ("WHERE p > 9", "compares it with a number"), ("WHERE :n = p", "compares it with a number"),
    ("WHERE p >= '9'", "compares them as texts"), ("WHERE p BETWEEN '1' AND '9'", "compares them as texts"),
    ("ORDER BY p DESC", "orders or compares"),
  ])
  func `numbers as texts draw a hint`(clause: String, part: String) throws {
    let hints = try hints("SELECT _id FROM t \(clause)", ["n": .int(9)], documents: Self.prices)
    #expect(hints.count == 1)
    #expect(hints.first?.contains(part) == true && hints.first?.contains("decimal()") == true)
  }

  @Test(arguments: [
    "WHERE p = '9'", "WHERE decimal(p) > 9 ORDER BY decimal(p)", "WHERE p IN ['9'] ORDER BY _id",
  ])
  func `numbers as texts that are compared well draw none`(clause: String) throws {
    #expect(try hints("SELECT _id FROM t \(clause)", documents: Self.prices).isEmpty)
  }

  @Test func `codes of one length, and fields with other values, draw none`() throws {
    let codes = ["{'_id': 1, 'p': '10115'}", "{'_id': 2, 'p': '80331'}"]
    #expect(try hints("SELECT _id FROM t ORDER BY p", documents: codes).isEmpty)
    #expect(try hints("SELECT _id FROM t WHERE p > '2'", documents: codes).isEmpty)
    let mixed = ["{'_id': 1, 'p': '9'}", "{'_id': 2, 'p': 10}", "{'_id': 3, 'p': '100'}"]
    #expect(try hints("SELECT _id FROM t WHERE p > 9 ORDER BY p", documents: mixed).isEmpty)
  }
}
