import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct CollationTests {
  private func evaluate(_ text: String, _ arguments: [TextKey: Value] = [:]) throws -> Value? {
    try Evaluator.evaluate(constant: try DQL.parseExpression(text), arguments: arguments)
  }

  @Test(arguments: [
    ("'A' COLLATE nocase = 'a'", Value?.some(.bool(true))), ("'a' = 'A' COLLATE nocase", .bool(true)),
    ("'a' = 'A'", .bool(false)), ("'a' = 'A' COLLATE binary", .bool(false)),
    ("'a' COLLATE binary = 'A' COLLATE nocase", .bool(true)), ("'Ä' COLLATE NOCASE = 'ä'", .bool(true)),
    ("'b' COLLATE nocase > 'A'", .bool(true)), ("'_' < 'A' COLLATE nocase", .bool(true)),
    ("'B' COLLATE nocase BETWEEN 'a' AND 'c'", .bool(true)),
    ("'B' BETWEEN 'a' AND 'c' COLLATE nocase", .bool(true)), ("'B' BETWEEN 'a' AND 'c'", .bool(false)),
    ("'B' COLLATE nocase IN ('a', 'b', 1)", .bool(true)),
    ("'B' COLLATE nocase NOT IN ('a', 'b')", .bool(false)),
    ("'Bar' COLLATE nocase LIKE 'b%'", .bool(true)), ("'Bar' COLLATE binary LIKE 'b%'", .bool(false)),
    ("1 COLLATE nocase = 1.0", .bool(true)), ("1 COLLATE nocase = 'a'", nil),
    ("NULL COLLATE nocase = 'a'", .null), ("MISSING COLLATE nocase = 'a'", nil),
    ("CASE 'A' COLLATE nocase WHEN 'a' THEN 1 ELSE 2 END", .int(1)),
    ("['A'] COLLATE nocase = ['a']", .bool(false)),
  ])
  func `comparisons follow the collation of either operand`(text: String, expected: Value?) throws {
    #expect(try evaluate(text) == expected)
  }

  private static let names = ["Volvo", "audi", "AUDI", "fiat", "Volvo", "VW"]

  private func withNames(_ body: (Engine) throws -> Void) throws {
    try TemporaryDirectory.with { directory in
      let peer = try CasePeer(directory.file("store"))
      defer { peer.store.close() }
      for (number, name) in Self.names.enumerated() {
        _ = try peer.engine.execute(
          "INSERT INTO t DOCUMENTS ({'_id': :i, 'name': :n})",
          arguments: ["i": .int(Int64(number)), "n": .string(name)])
      }
      try body(peer.engine)
    }
  }

  private func column(_ engine: Engine, _ statement: String) throws -> [Value] {
    try engine.execute(statement).rows.map { try $0.values().values.first ?? .null }
  }

  @Test(arguments: [
    ("SELECT _id FROM t WHERE name COLLATE nocase = 'Audi'", ["1", "2"], false),
    ("SELECT _id FROM t WHERE name = 'Audi' COLLATE nocase", ["1", "2"], false),
    ("SELECT _id FROM t WHERE name COLLATE nocase IN ('VOLVO', 'vw')", ["0", "4", "5"], false),
    ("SELECT _id FROM t WHERE name COLLATE nocase LIKE 'v%'", ["0", "4", "5"], false),
    ("SELECT _id FROM t WHERE name BETWEEN 'A' COLLATE nocase AND 'b'", ["1", "2"], false),
    ("SELECT _id FROM t WHERE name > 'FIAT' COLLATE nocase", ["0", "4", "5"], false),
    ("SELECT _id FROM t ORDER BY name COLLATE nocase, _id", ["1", "2", "3", "0", "4", "5"], true),
    ("SELECT _id FROM t ORDER BY name COLLATE nocase DESC, _id LIMIT 2", ["5", "0"], true),
    ("SELECT _id FROM t ORDER BY name, _id", ["2", "5", "0", "4", "1", "3"], true),
  ])
  func `rows are found and sorted without regard to case, also beside an index`(
    statement: String, ids: [String], ordered: Bool
  ) throws {
    try withNames { engine in
      for index in [nil, "CREATE INDEX by_name ON t (name)"] {
        if let index { _ = try engine.execute(index) }
        let found = try column(engine, statement).map { JSON.text(of: $0) }
        expect(ordered ? found == ids : found.sorted() == ids, "\(statement): \(found)")
      }
    }
  }

  @Test func `columns show what is stored, groups and distinct rows the small letters that they share`()
    throws
  {
    try withNames { engine in
      let shown = try column(engine, "SELECT name COLLATE nocase AS n FROM t WHERE _id = 2")
      #expect(shown == [.string("AUDI")])
      let sorted = try column(engine, "SELECT name COLLATE nocase AS n FROM t ORDER BY n LIMIT 3").last
      #expect(sorted == .string("fiat"))
      let distinct = try column(engine, "SELECT DISTINCT name COLLATE nocase AS n FROM t ORDER BY n")
      #expect(distinct == ["audi", "fiat", "volvo", "vw"].map(Value.string))
      let counts = try engine.execute(
        "SELECT name COLLATE nocase AS n, COUNT(*) AS c FROM t GROUP BY name COLLATE nocase ORDER BY c DESC, n LIMIT 2"
      ).rows.map { try $0.values() }
      #expect(counts == [["n": .string("audi"), "c": .int(2)], ["n": .string("volvo"), "c": .int(2)]])
      #expect(try column(engine, "SELECT COUNT(DISTINCT name COLLATE nocase) AS c FROM t") == [.int(4)])
      let written = try engine.execute("UPDATE t SET x = 1 WHERE _id = 2 RETURNING name COLLATE nocase AS n")
      #expect(try written.rows.first?.values() == ["n": .string("AUDI")])
    }
  }

  @Test func `joins compare by collation where all documents are tried`() throws {
    try withNames { engine in
      let rows = try column(
        engine,
        "SELECT a._id FROM t a JOIN t b USE INDEX '' ON a.name COLLATE nocase = b.name WHERE b._id = 2")
      #expect(rows.map { JSON.text(of: $0) }.sorted() == ["1", "2"])
    }
  }

  @Test func `subscriptions may compare without regard to case`() throws {
    let query = try SubscriptionQuery(dql: "SELECT * FROM t WHERE name COLLATE nocase = 'Audi'")
    #expect(query.predicate != nil)
  }
}
