import CRDTCore
import QueryEngine
import TestKit
import Testing

@Suite struct ParserStatementTests {
  private func select(_ text: String) throws -> Select {
    guard case .select(let select) = try DQL.parse(text) else { throw QueryError(.runtime, "no SELECT") }
    return select
  }

  private func update(_ text: String) throws -> Update {
    guard case .update(let update) = try DQL.parse(text) else { throw QueryError(.runtime, "no UPDATE") }
    return update
  }

  private let color = Expression.path([.key("color")])

  @Test func `SELECT reads all its clauses`() throws {
    let text = """
      select distinct _id, features.trim, year + 1 AS next, 5 FROM COLLECTION cars c
      WHERE c.color = :color ORDER BY next DESC, make LIMIT 10 OFFSET :skip;
      """
    let parsed = try select(text)
    #expect(parsed.collection == "cars")
    #expect(parsed.distinct)
    guard case .columns(let columns) = parsed.projection else {
      Issue.record("no columns")
      return
    }
    #expect(columns.map(\.name) == ["_id", "trim", "next", "($4)"])
    #expect(parsed.predicate == .binary(.equal, color, .parameter("color")))
    #expect(parsed.order.map(\.expression.description) == ["(year + 1)", "make"])
    #expect(parsed.order.map(\.descending) == [true, false])
    #expect(parsed.limit == .literal(.int(10)))
    #expect(parsed.offset == .parameter("skip"))
  }

  @Test func `OFFSET stands alone and before LIMIT`() throws {
    #expect(try select("SELECT * FROM c OFFSET 3").offset == .literal(.int(3)))
    let parsed = try select("SELECT * FROM c OFFSET 3 LIMIT 4 ORDER BY a")
    #expect(parsed.limit == .literal(.int(4)))
    #expect(parsed.order.count == 1)
  }

  @Test(arguments: [
    "SELECT k.color FROM cars AS k", "SELECT k.color FROM cars k", "SELECT cars.color FROM cars",
    "SELECT `cars`.color FROM cars", "SELECT color FROM cars",
  ])
  func `a collection's name or alias may qualify a field`(text: String) throws {
    #expect(try select(text).projection == .columns([Select.Column(expression: color, name: "color")]))
  }

  @Test func `an alias hides the collection's name, and a field may have either name`() throws {
    let parsed = try select("SELECT cars.color FROM cars k WHERE k.k.x = cars")
    let path = Expression.path([.key("cars"), .key("color")])
    #expect(parsed.projection == .columns([Select.Column(expression: path, name: "color")]))
    #expect(parsed.predicate?.description == "(k.x = cars)")
  }

  @Test(arguments: [
    ("SELECT 1", "SELECT 1 FROM system:dual"),
    ("SELECT DISTINCT 1 + 1 AS two;", "SELECT DISTINCT 1 + 1 AS two FROM system:dual"),
    ("SELECT COUNT(*) WHERE :a", "SELECT COUNT(*) FROM system:dual WHERE :a"),
    ("SELECT 1 a LIMIT 0", "SELECT 1 AS a FROM system:dual LIMIT 0"),
    (
      "SELECT ARRAY v FOR v IN :list END ORDER BY 1",
      "SELECT ARRAY v FOR v IN :list END FROM system:dual ORDER BY 1"
    ),
    (
      "SELECT 1 UNION (SELECT 2) EXCEPT SELECT 3",
      "SELECT 1 FROM system:dual UNION (SELECT 2 FROM system:dual) EXCEPT SELECT 3 FROM system:dual"
    ),
    ("SELECT a FROM c WHERE a IN (SELECT 1)", "SELECT a FROM c WHERE a IN (SELECT 1 FROM system:dual)"),
    (
      "INSERT INTO c SELECT 1 AS _id ON ID CONFLICT DO NOTHING",
      "INSERT INTO c SELECT 1 AS _id FROM system:dual ON ID CONFLICT DO NOTHING"
    ),
    (
      "INSERT INTO c SELECT 1 AS _id RETURNING *",
      "INSERT INTO c SELECT 1 AS _id FROM system:dual RETURNING *"
    ),
    ("EXPLAIN SELECT 1", "EXPLAIN SELECT 1 FROM system:dual"),
  ])
  func `a SELECT without FROM reads one empty document`(text: String, same: String) throws {
    #expect(try DQL.parse(text) == DQL.parse(same))
  }

  @Test(arguments: [
    ("SELECT color c FROM cars", "SELECT color AS c FROM cars"),
    (
      "SELECT color `the color`, year + 1 next, COUNT FROM cars k",
      "SELECT color AS `the color`, year + 1 AS next, COUNT FROM cars AS k"
    ),
    ("SELECT COUNT(*) n FROM cars", "SELECT COUNT(*) AS n FROM cars"),
    (
      "SELECT make m, COUNT(*) n FROM cars GROUP BY make ORDER BY m",
      "SELECT make AS m, COUNT(*) AS n FROM cars GROUP BY make ORDER BY m"
    ),
    ("SELECT cars.* , km k FROM cars", "SELECT cars.*, km AS k FROM cars"),
    ("SELECT 1 one", "SELECT 1 AS one"),
    ("DELETE FROM cars RETURNING make m", "DELETE FROM cars RETURNING make AS m"),
    ("SELECT a FROM c WHERE a IN (SELECT b x FROM d)", "SELECT a FROM c WHERE a IN (SELECT b AS x FROM d)"),
    ("SELECT upper(make) year FROM cars", "SELECT upper(make) AS year FROM cars"),
  ])
  func `a column's name stands without AS too`(text: String, same: String) throws {
    #expect(try DQL.parse(text) == DQL.parse(same))
  }

  @Test func `all columns and the count of rows are projections of their own`() throws {
    #expect(try select("SELECT * FROM c").projection == .all)
    #expect(try select("SELECT c.* FROM c").projection == .all)
    #expect(try select("SELECT COUNT(*) FROM c").projection == .countAll(alias: "($1)"))
    #expect(try select("SELECT count ( * ) AS n FROM c").projection == .countAll(alias: "n"))
    #expect(try select("SELECT count FROM c").projection != .countAll(alias: "n"))
  }

  @Test func `virtual collections and quoted names are collections`() throws {
    #expect(try select("SELECT 1 FROM system:dual").collection == "system:dual")
    #expect(try select("SELECT * FROM `collection`").collection == "collection")
    #expect(try select("SELECT * FROM `a b`").collection == "a b")
  }

  @Test func `USE IDS is a test of the id`() throws {
    #expect(
      try select("SELECT * FROM c USE IDS 'a', 'b' WHERE x").predicate?.description
        == "((_id IN ['a', 'b']) AND x)")
    #expect(try select("SELECT * FROM c USE IDS LIST :ids").predicate?.description == "(_id IN :ids)")
    #expect(try select("SELECT * FROM c use").predicate == nil)
  }

  @Test func `INSERT takes several documents and a conflict rule`() throws {
    let one = Expression.object([ObjectMember(key: "_id", value: .literal(.string("1")))])
    let cases: [(String, Insert)] = [
      (
        "INSERT INTO c DOCUMENTS (:a), (:b)",
        Insert(collection: "c", documents: [.parameter("a"), .parameter("b")])
      ),
      ("INSERT INTO c VALUES ({'_id': '1'})", Insert(collection: "c", documents: [one])),
      (
        "INSERT INTO c INITIAL DOCUMENTS (:a)",
        Insert(collection: "c", initial: true, documents: [.parameter("a")])
      ),
      (
        "INSERT INTO c DOCUMENTS (:a) ON ID CONFLICT FAIL",
        Insert(collection: "c", documents: [.parameter("a")])
      ),
      (
        "INSERT INTO c DOCUMENTS (:a) ON ID CONFLICT DO FAIL",
        Insert(collection: "c", documents: [.parameter("a")])
      ),
      (
        "INSERT INTO c DOCUMENTS (:a) ON ID CONFLICT DO NOTHING",
        Insert(collection: "c", documents: [.parameter("a")], conflict: .doNothing)
      ),
      (
        "INSERT INTO c DOCUMENTS (:a) on id conflict do update",
        Insert(collection: "c", documents: [.parameter("a")], conflict: .doUpdate)
      ),
      (
        "INSERT INTO c DOCUMENTS (:a) ON ID CONFLICT DO UPDATE_LOCAL_DIFF",
        Insert(collection: "c", documents: [.parameter("a")], conflict: .doUpdateLocalDiff)
      ),
    ]
    for (text, expected) in cases { try expectEqual(DQL.parse(text), .insert(expected), "\(text)") }
  }

  @Test func `UPDATE reads APPLY, SET, UNSET and WHERE`() throws {
    let parsed = try update(
      """
      UPDATE c APPLY n INCREMENT BY 3, m.k PN_INCREMENT BY -1, r RESTART, s RESTART WITH 7
      SET a = 1, b.c = {'x': a} UNSET d, e.f WHERE _id = 'z'
      """)
    #expect(parsed.applications.map(\.path) == [["n"], ["m", "k"], ["r"], ["s"]])
    #expect(parsed.applications[1].operation == .increment(.literal(.int(-1))))
    #expect(parsed.applications[2].operation == .restart(.literal(.int(0))))
    #expect(parsed.applications[3].operation == .restart(.literal(.int(7))))
    #expect(parsed.assignments.map(\.path) == [["a"], ["b", "c"]])
    #expect(parsed.removals == [["d"], ["e", "f"]])
    #expect(parsed.predicate?.description == "(_id = 'z')")
    #expect(try update("UPDATE COLLECTION c UNSET a").removals == [["a"]])
  }

  @Test func `DELETE and EVICT take an order and bounds, in any order`() throws {
    let order = [SortKey(expression: .path([.key("year")]))]
    let removal = Removal(
      collection: "cars", order: order, limit: .literal(.int(1)), offset: .literal(.int(2)))
    #expect(try DQL.parse("EVICT FROM cars ORDER BY year LIMIT 1 OFFSET 2") == .evict(removal))
    #expect(try DQL.parse("EVICT FROM cars LIMIT 1 OFFSET 2 ORDER BY year ASC") == .evict(removal))
    #expect(try DQL.parse("DELETE FROM cars") == .delete(Removal(collection: "cars")))
  }

  @Test func `ALTER SYSTEM and SHOW take names in any case`() throws {
    let scopes = Expression.object([
      ObjectMember(key: "collection_1", value: .literal(.string("BigPeerOnly")))
    ])
    let cases: [(String, Statement)] = [
      (
        "ALTER SYSTEM SET DQL_STRICT_MODE = true",
        .alterSystem(.set("dql_strict_mode", .literal(.bool(true))))
      ),
      ("ALTER SYSTEM SET a TO :v", .alterSystem(.set("a", .parameter("v")))),
      ("ALTER SYSTEM SET a TO DEFAULT", .alterSystem(.reset("a"))),
      ("ALTER SYSTEM RESET A", .alterSystem(.reset("a"))),
      ("ALTER SYSTEM RESET ALL", .alterSystem(.resetAll)),
      (
        "ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = {collection_1: \"BigPeerOnly\"}",
        .alterSystem(.set("user_collection_sync_scopes", scopes))
      ),
      ("SHOW Dql_Strict_Mode", .show(.parameter("dql_strict_mode"))),
      ("SHOW ALL", .show(.all(like: nil, caseInsensitive: false))),
      ("SHOW ALL LIKE 'a%'", .show(.all(like: "a%", caseInsensitive: false))),
      ("SHOW ALL ILIKE 'a%'", .show(.all(like: "a%", caseInsensitive: true))),
      ("EXPLAIN DELETE FROM c", .explain(.delete(Removal(collection: "c")))),
    ]
    for (text, expected) in cases { try expectEqual(DQL.parse(text), expected, "\(text)") }
  }
}
