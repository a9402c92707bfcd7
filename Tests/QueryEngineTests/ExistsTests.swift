import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct ExistsTests {
  @Test(arguments: [
    ("EXISTS [1]", Value?.some(.bool(true))), ("EXISTS []", .bool(false)), ("EXISTS ([null])", .bool(true)),
    ("NOT EXISTS []", .bool(true)), ("EXISTS NULL", .null), ("EXISTS MISSING", nil), ("EXISTS 'a'", nil),
    ("EXISTS {'a': 1}", nil), ("EXISTS [1] AND EXISTS []", .bool(false)),
    ("EXISTS (ARRAY v FOR v IN [1, 2] WHEN v > 1 END)", .bool(true)),
    ("exists split('a', 'b')", .bool(true)),
  ])
  func `an array exists when it has elements`(text: String, expected: Value?) throws {
    #expect(try Evaluator.evaluate(constant: try DQL.parseExpression(text)) == expected)
  }

  @Test(arguments: [
    ("SELECT COUNT(*) AS n FROM cars WHERE EXISTS (SELECT * FROM orders WHERE total > 0)", 5),
    ("SELECT COUNT(*) AS n FROM cars WHERE EXISTS (SELECT * FROM orders WHERE total < 0)", 0),
    ("SELECT COUNT(*) AS n FROM cars WHERE NOT EXISTS (SELECT 1 FROM nowhere)", 5),
    ("SELECT COUNT(*) AS n FROM cars WHERE EXISTS (SELECT * FROM orders LIMIT 0)", 0),
  ])
  func `a query exists when it has rows`(statement: String, count: Int) throws {
    try withCars { engine in
      let total = try engine.execute("SELECT COUNT(*) AS n FROM cars").rows[0].values()["n"]
      let found = try engine.execute(statement).rows[0].values()["n"]
      #expect(found == (count == 0 ? .int(0) : total), "\(statement)")
    }
  }

  @Test(arguments: [
    "SELECT _id FROM cars ORDER BY EXISTS (SELECT * FROM orders), _id LIMIT 1",
    "SELECT MIN(_id) AS _id FROM cars GROUP BY 1 IN (SELECT 1 FROM orders) HAVING EXISTS (SELECT 1 FROM cars)",
    "SELECT a._id FROM cars a JOIN cars b ON b._id = a._id AND EXISTS (SELECT 1 FROM orders) WHERE b._id = 'c1'",
  ])
  func `a query may be asked in every clause`(statement: String) throws {
    try withCars { engine in
      let ids = try engine.execute(statement).rows.map { try $0.values() }
      #expect(ids == [["_id": .string("c1")]], "\(statement)")
    }
  }

  @Test func `a query may be asked in columns, in what is written and in what is removed`() throws {
    try withCars { engine in
      let rows = try engine.execute(
        "SELECT EXISTS (SELECT * FROM orders) AS e, 1 IN (SELECT 1 FROM cars) AS i FROM system:dual"
      ).rows
      #expect(try rows.map { try $0.values() } == [["e": .bool(true), "i": .bool(true)]])
      let unchanged = try engine.execute("DELETE FROM cars WHERE EXISTS (SELECT * FROM nowhere)")
      #expect(unchanged.mutatedDocumentIDs.isEmpty)
      let changed = try engine.execute(
        "UPDATE cars SET e = EXISTS (SELECT * FROM orders) WHERE _id = 'c1' AND EXISTS tags RETURNING e")
      #expect(try changed.rows.map { try $0.values() } == [["e": .bool(true)]])
    }
  }

  @Test func `EXISTS needs an operand, and no query in a subscription`() throws {
    let empty = try #require(throws: QueryError.self) { try DQL.parse("SELECT * FROM c WHERE EXISTS") }
    #expect(empty.position?.offset == 28 && empty.expected == ["an expression"])
    let asked = try #require(throws: QueryError.self) {
      try SubscriptionQuery(dql: "SELECT * FROM c WHERE EXISTS (SELECT * FROM d)")
    }
    #expect(asked.message == "Unsupported feature: a subquery")
    #expect(try SubscriptionQuery(dql: "SELECT * FROM c WHERE EXISTS tags").predicate != nil)
  }

  private func withCars(_ body: (Engine) throws -> Void) throws {
    try TemporaryDirectory.with { directory in
      let peer = try CasePeer(directory.file("store"))
      defer { peer.store.close() }
      for collection in ["cars", "orders"] { try peer.load(collection) }
      try body(peer.engine)
    }
  }
}
