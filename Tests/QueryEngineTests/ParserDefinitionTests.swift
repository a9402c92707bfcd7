import CRDTCore
import QueryEngine
import TestKit
import Testing

/// RETURNING, INSERT … SELECT, declared types, indexes and the statements about statements.
@Suite struct ParserDefinitionTests {
  private func failure(_ text: String) throws -> QueryError {
    try #require(throws: QueryError.self, "\(text)") { try DQL.parse(text) }
  }

  private static let a = Expression.path([.key("a")])
  private static let named = Select.Projection.columns([Select.Column(expression: a, name: "a")])

  @Test func `all four mutations return rows`() throws {
    let one = Expression.literal(.int(1))
    let cases: [(String, Statement)] = [
      (
        "INSERT INTO c VALUES (:d) ON ID CONFLICT DO NOTHING RETURNING c.a",
        .insert(
          Insert(
            into: Source("c"), .documents([.parameter("d")]), conflict: .doNothing, returning: Self.named))
      ),
      (
        "UPDATE c AS k SET k.a = 1 WHERE k.a RETURNING k.*",
        .update(
          Update(
            Source("c"), assignments: [Update.Assignment(path: ["a"], value: one)], predicate: Self.a,
            returning: .all))
      ),
      (
        "DELETE FROM c LIMIT 1 RETURNING a",
        .delete(Removal(from: Source("c"), limit: one, returning: Self.named))
      ),
      ("EVICT FROM c RETURNING *", .evict(Removal(from: Source("c"), returning: .all))),
      ("TOMBSTONE FROM c WHERE a", .delete(Removal(collection: "c", predicate: Self.a))),
      (
        "INSERT INTO c SELECT d.a FROM d ON ID CONFLICT DO UPDATE RETURNING a",
        .insert(
          Insert(
            into: Source("c"), .query(Select(collection: "d", projection: Self.named)), conflict: .doUpdate,
            returning: Self.named))
      ),
    ]
    for (text, expected) in cases {
      try expectEqual(DQL.parse(text), expected, "\(text)")
      try expectEqual(DQL.parse(expected.description), expected, "\(expected)")
    }
  }

  @Test func `types are declared after COLLECTION`() throws {
    let types = [
      FieldDeclaration("m", .map([FieldDeclaration("r", .register), FieldDeclaration("n", .map([]))])),
      FieldDeclaration("n", .counter), FieldDeclaration("p", .pnCounter), FieldDeclaration("f", .attachment),
    ]
    let text = "COLLECTION c (m MAP(r REGISTER, n map), n Counter, p PN_COUNTER, f ATTACHMENT)"
    guard case .select(let select) = try DQL.parse("SELECT * FROM \(text) k WHERE k.n > 1"),
      case .update(let update) = try DQL.parse("UPDATE \(text) SET n = 1"),
      case .insert(let insert) = try DQL.parse("INSERT INTO \(text) VALUES (:a)"),
      case .delete(let removal) = try DQL.parse("DELETE FROM \(text)")
    else { throw QueryError(.runtime, "another statement") }
    #expect(select.source.types == types)
    #expect(update.target.types == types)
    #expect(insert.target.types == types)
    #expect(removal.target.types == types)
    #expect(update.target.declaredType(of: ["m", "r"]) == .register)
    #expect(update.target.declaredType(of: ["m", "x"]) == nil)
    #expect(update.target.declaredType(of: ["n", "r"]) == nil)
  }

  @Test func `the arrow forms of SET are SET and UNSET`() throws {
    let text = """
      UPDATE COLLECTION c (m MAP, r REGISTER) SET m -> (a = 1, b -> tombstone(), d -> (e = x)), c.r -> default(),
      m2 = 2, m.k -> default() WHERE a
      """
    let same =
      "UPDATE COLLECTION c (m MAP, r REGISTER) SET m.a = 1, m.d.e = x, r = NULL, m2 = 2, m.k = NULL UNSET m.b WHERE a"
    #expect(try DQL.parse(text) == DQL.parse(same))
    let map = try DQL.parse("UPDATE COLLECTION c (m MAP) SET m -> default()")
    #expect(try map == DQL.parse("UPDATE COLLECTION c (m MAP) SET m = {}"))
  }

  @Test(arguments: [
    (
      "CREATE INDEX i ON c (a)", Statement.createIndex(CreateIndex("i", on: "c", [.init(["a"])])),
      "CREATE INDEX i ON c (a)"
    ),
    (
      "create index if not exists `my index` on collection c (a.b ASC, c DESC, `x y`)",
      .createIndex(
        CreateIndex(
          "my index", on: "c", [.init(["a", "b"]), .init(["c"], descending: true), .init(["x y"])],
          allowsExisting: true)),
      "CREATE INDEX IF NOT EXISTS `my index` ON c (a.b, c DESC, `x y`)"
    ),
    (
      "CREATE INDEX i ON c ((lower(a.b)) DESC, tags[*])",
      .createIndex(
        CreateIndex(
          "i", on: "c",
          [.init(["a", "b"], part: .lowercase, descending: true), .init(["tags"], part: .elements)])),
      "CREATE INDEX i ON c ((lower(a.b)) DESC, tags[*])"
    ),
    ("DROP INDEX i ON c", .dropIndex(DropIndex("i", on: "c")), "DROP INDEX i ON c"),
    (
      "DROP INDEX IF EXISTS i ON c", .dropIndex(DropIndex("i", on: "c", allowsMissing: true)),
      "DROP INDEX IF EXISTS i ON c"
    ),
    (
      "PROFILE SELECT * FROM c", .profile(.select(Select(collection: "c"))), "PROFILE SELECT * FROM c"
    ),
    (
      "ADVISE SELECT * FROM c", .advise(.select(Select(collection: "c")), provisioning: false),
      "ADVISE SELECT * FROM c"
    ),
    (
      "ADVISE AND PROVISION DELETE FROM c", .advise(.delete(Removal(collection: "c")), provisioning: true),
      "ADVISE AND PROVISION DELETE FROM c"
    ),
    ("EXPLAIN DROP INDEX i ON c", .explain(.dropIndex(DropIndex("i", on: "c"))), "EXPLAIN DROP INDEX i ON c"),
  ])
  func `statements on indexes and on statements`(text: String, expected: Statement, printed: String) throws {
    #expect(try DQL.parse(text) == expected)
    #expect(expected.description == printed)
    #expect(try DQL.parse(printed) == expected)
  }

  @Test(arguments: [
    ("UPDATE shop (n COUNTER) APPLY n INCREMENT BY 1", 12, "Missing SET and/or UNSET clause"),
    ("SELECT * FROM c (a MAP)", 16, "declared after COLLECTION"),
    ("DELETE FROM c k (a MAP)", 16, "declared after COLLECTION"),
    ("SELECT * FROM COLLECTION c (a MPA)", 30, "did you mean 'MAP'?"),
    ("SELECT * FROM COLLECTION c (a MAP, a MAP)", 35, "twice"),
    ("SELECT * FROM COLLECTION c (_id MAP)", 28, "id of a document"),
    ("SELECT * FROM COLLECTION c ()", 28, "field's name"),
    ("UPDATE c SET a -> 1", 18, "tombstone()"), ("UPDATE c SET a -> tombstone", 27, "'('"),
    ("UPDATE c SET a -> (b = 1, b = 2)", 26, "More than one modification specified for the path"),
    ("UPDATE c SET _id -> (b = 1)", 21, "cannot be modified"),
    ("UPDATE COLLECTION c (a COUNTER) SET a -> default()", 41, "REGISTER or MAP"),
    ("CREATE INDEX i ON c (lower(make))", 26, "')'"), ("CREATE INDEX i ON c ()", 21, "field's name"),
    ("CREATE INDEX ON c (a)", 13, "index's name"), ("CREATE INDEX i ON c (a[0])", 23, "'*'"),
    ("CREATE INDEX i ON c (upper(a))", 26, "')'"), ("CREATE INDEX i ON c ((upper(a)))", 22, "LOWER"),
    ("CREATE TABLE c", 7, "INDEX"), ("DROP INDEX i", 12, "ON"),
    ("PROFILE ADVISE SELECT * FROM c", 8, "SELECT"), ("ADVISE AND SELECT * FROM c", 11, "PROVISION"),
    ("EXPLAIN PROFILE SELECT * FROM c", 8, "SELECT"),
    ("INSERT INTO c INITIAL SELECT * FROM d", 22, "not a query"),
    ("INSERT INTO c (SELECT * FROM d)", 14, "SELECT"),
    ("DELETE FROM c RETURNING", 23, "an expression"), ("DELETE FROM c RETURNING d.*", 24, "no collection"),
    ("DELETE FROM c RETURNING a WHERE b", 26, "end of the query"),
  ])
  func `a mistake is found at its place`(text: String, offset: Int, part: String) throws {
    let error = try failure(text)
    #expect(error.position?.offset == offset, "\(text): \(error)")
    #expect(error.message.contains(part), "\(text): \(error)")
  }

  @Test func `deep types are bounded`() throws {
    let types = String(repeating: "(a MAP", count: 100) + String(repeating: ")", count: 100)
    #expect(try failure("SELECT * FROM COLLECTION c \(types)").code == .limit)
  }
}
