import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// Queries put together, queries inside of statements, and declared types.
@Suite struct ExecCompositionTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
    _ = try engine.execute(
      "INSERT INTO t DOCUMENTS ({'_id': 1, 'a': 1}), ({'_id': 2, 'a': 2}), ({'_id': 3, 'a': 2}), ({'_id': 4})"
    )
    _ = try engine.execute(
      "INSERT INTO u DOCUMENTS ({'_id': 1, 'b': 2.0}), ({'_id': 2, 'b': 2}), ({'_id': 3, 'b': 9})")
  }

  private func texts(_ statement: String) throws -> [String] {
    try engine.execute(statement).rows.map { JSON.text(of: .map(try $0.values())) }
  }

  // MARK: Sets

  @Test(
    arguments: [
      ("UNION", [1, 2, 9, nil]), ("UNION ALL", [1, 2, 2, 2, 2, 9, nil]), ("INTERSECT", [2]),
      ("INTERSECT ALL", [2, 2]), ("EXCEPT", [1, nil]), ("EXCEPT ALL", [1, nil]),
    ] as [(String, [Int?])])
  func `set operators keep the rows that their names say`(symbol: String, expected: [Int?]) throws {
    let rows = try texts("SELECT a AS x FROM t \(symbol) SELECT b AS x FROM u ORDER BY x")
    #expect(
      rows.map { $0.replacing("2.0", with: "2") }
        == expected.map { $0.map { "{\"x\":\($0)}" } ?? "{}" })
  }

  @Test func `the whole of a set has its own order and bounds`() throws {
    #expect(
      try texts(
        "SELECT a AS x FROM t UNION SELECT b AS x FROM u WHERE b > 5 ORDER BY x DESC LIMIT 2 OFFSET 1")
        == [#"{"x":9}"#, #"{"x":2}"#])
    #expect(throws: QueryError.self) {
      try engine.execute(
        "SELECT a FROM t UNION SELECT b FROM u", context: StatementContext(.still, memoryBytes: 100))
    }
  }

  // MARK: Queries after IN

  @Test func `a query after IN is answered before the statement around it`() throws {
    #expect(
      try texts("SELECT _id FROM t WHERE a IN (SELECT b FROM u) ORDER BY _id") == [
        #"{"_id":2}"#, #"{"_id":3}"#,
      ])
    #expect(
      try texts("SELECT _id FROM t WHERE a NOT IN (SELECT b FROM u WHERE b < 9) ORDER BY _id")
        == [#"{"_id":1}"#])
    #expect(
      try texts("SELECT COUNT(*) AS n FROM t WHERE _id IN (SELECT _id FROM u WHERE b IN (SELECT a FROM t))")
        == [#"{"n":2}"#])
    #expect(try texts("EXPLAIN SELECT * FROM t WHERE _id IN (SELECT _id FROM u)")[0].contains("idScan"))
    _ = try engine.execute("UPDATE t SET hit = true WHERE a IN (SELECT b FROM u)")
    _ = try engine.execute("DELETE FROM t WHERE a IN (SELECT MIN(a) FROM t)")
    #expect(
      try texts("SELECT _id, hit FROM t ORDER BY _id") == [
        #"{"_id":2,"hit":true}"#, #"{"_id":3,"hit":true}"#, #"{"_id":4}"#,
      ])
    #expect(throws: QueryError.self) { try engine.execute("SELECT * FROM t WHERE a IN (SELECT * FROM u)") }
  }

  // MARK: Types

  @Test func `a declared register is replaced as a whole, all else merges`() throws {
    _ = try engine.execute(
      "INSERT INTO v DOCUMENTS ({'_id': 1, 'r': {'x': 1}, 'm': {'r': {'x': 1}, 'y': 1}})")
    _ = try engine.execute(
      "UPDATE COLLECTION v (r REGISTER, m MAP(r REGISTER)) SET r = {'z': 2}, m = {'r': {'z': 2}, 'w': 2}")
    let replaced = #"{"_id":1,"m":{"r":{"z":2},"w":2,"y":1},"r":{"z":2}}"#
    #expect(try texts("SELECT * FROM v") == [replaced])
    _ = try engine.execute(
      """
      INSERT INTO COLLECTION v (r REGISTER) DOCUMENTS ({'_id': 1, 'r': {'q': 3}, 'm': {'w': 3}})
      ON ID CONFLICT DO UPDATE
      """
    )
    #expect(try texts("SELECT * FROM v") == [#"{"_id":1,"m":{"r":{"z":2},"w":3,"y":1},"r":{"q":3}}"#])
    _ = try engine.execute("UPDATE v SET r = {'s': 4}")
    #expect(try texts("SELECT r FROM v") == [#"{"r":{"q":3,"s":4}}"#])
  }

  @Test func `a declared counter counts`() throws {
    _ = try engine.execute(
      """
      INSERT INTO COLLECTION v (n COUNTER, m MAP(k PN_COUNTER)) DOCUMENTS ({'_id': 1, 'n': 5, 'm': {'k': 1}})
      """
    )
    let stored = try store.read { transaction -> Value? in
      let collection = try #require(try transaction.collection("v"))
      return try transaction.withRecord(collection, DocumentID(.int(1))) { record, _ in
        try record.fields(collection.keys)["n"]
      }.flatMap { $0 }
    }
    #expect(stored == .counter(5))
    _ = try engine.execute("UPDATE COLLECTION v (n COUNTER) APPLY n INCREMENT BY 2")
    _ = try engine.execute("UPDATE COLLECTION v (m MAP(k PN_COUNTER)) SET m = {'k': 7}")
    #expect(try texts("SELECT n, m FROM v") == [#"{"m":{"k":7},"n":7}"#])
    #expect(throws: QueryError.self) {
      try engine.execute("UPDATE COLLECTION v (n COUNTER, n REGISTER) SET n = 1")
    }
  }

  // MARK: From text

  @Test func `joins, groups and RETURNING run as they are written`() throws {
    #expect(
      try texts(
        "SELECT t.a, COUNT(*) AS n FROM t JOIN u USE INDEX '' ON u.b = t.a GROUP BY t.a HAVING COUNT(*) > 1")
        == [#"{"a":2,"n":4}"#])
    #expect(
      try texts("SELECT t._id, u.b FROM t LEFT JOIN u ON u._id = t._id WHERE u.b IS MISSING") == [
        #"{"_id":4}"#
      ])
    #expect(try texts("SELECT COUNT(*) AS n FROM t JOIN u ON u._id = t._id") == [#"{"n":3}"#])
    #expect(try texts("DELETE FROM t WHERE a = 1 RETURNING _id, a * 10 AS b") == [#"{"_id":1,"b":10}"#])
    #expect(try texts("INSERT INTO w SELECT _id, a FROM t WHERE a = 2 RETURNING _id").count == 2)
  }
}
