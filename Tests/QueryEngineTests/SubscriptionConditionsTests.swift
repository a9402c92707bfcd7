import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// Which conditions of a subscription are not true of a document.
@Suite struct SubscriptionConditionsTests {
  private static let fields: [TextKey: Value] = [
    "color": .string("red"), "km": .int(10), "owner": .map(["name": .string("ann")]),
  ]

  private static func unmet(_ predicate: String, _ arguments: [TextKey: Value] = [:]) throws -> Set<String> {
    let directory = try TemporaryDirectory()
    let store = try Store.open(at: directory.file("store"), options: StoreOptions(mapBytes: 1 << 26))
    defer { store.close() }
    let id = try DocumentID("c1")
    try store.write { try $0.upsert(fields, id: id, into: "cars") }
    let query = try SubscriptionQuery(dql: "SELECT * FROM cars\(predicate)", arguments: arguments)
    return try store.read { transaction in
      let collection = try #require(try transaction.collection("cars"))
      let found = try transaction.withRecord(collection, id) { record, _ in
        Set(query.unmetConditions(of: id, record, collection.keys))
      }
      return try #require(found)
    }
  }

  @Test(arguments: [
    ("", []), (" WHERE color = 'red'", []), (" WHERE color = 'blue'", ["color = 'blue'"]),
    (
      " WHERE color = 'red' AND km > 10 AND (owner.name = 'eve' AND _id = 'c1')",
      ["km > 10", "owner.name = 'eve'"]
    ),
    // Either is enough, so that they are one condition.
    (" WHERE color = 'blue' OR km < 5", ["(color = 'blue') OR (km < 5)"]),
    // What is neither true nor false is not true.
    (" WHERE seats > 2", ["seats > 2"]), (" WHERE NOT color = 'red'", ["NOT (color = 'red')"]),
    (" WHERE color IN ['blue', 'green'] AND km BETWEEN 1 AND 10", ["color IN ['blue', 'green']"]),
    (" WHERE starts_with(color, 'b')", ["starts_with(color, 'b')"]),
  ])
  func `the conditions that are not true of a document are named`(predicate: String, expected: [String])
    throws
  {
    #expect(try Self.unmet(predicate) == Set(expected))
  }

  @Test func `arguments stand in the text`() throws {
    #expect(try Self.unmet(" WHERE km > :least", ["least": .int(50)]) == ["km > 50"])
  }

  @Test(arguments: [
    ("_id = 'c1'", []), ("_id = 'c2' AND km < 5", ["_id = 'c2'"]), ("km < 5", []),
    ("_id = 'c2' OR km < 5", []), ("_id LIKE 'd%'", ["_id LIKE 'd%'"]), ("_id.seat = 1", []),
  ])
  func `of a document of which only the id is known only that is judged`(
    predicate: String, expected: [String]
  ) throws {
    let query = try SubscriptionQuery(dql: "SELECT * FROM cars WHERE \(predicate)")
    #expect(query.unmetConditions(of: try DocumentID("c1")) == expected)
  }
}
