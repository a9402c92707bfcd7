import CRDTCore
import QueryEngine
import Testing

/// Joins, groups, aggregates, sets and the rest of the grammar around them.
@Suite struct ParserQueryTests {
  private func select(_ text: String) throws -> Select {
    guard case .select(let select) = try DQL.parse(text) else { throw QueryError(.runtime, "no SELECT") }
    return select
  }

  private func failure(_ text: String) throws -> QueryError {
    try #require(throws: QueryError.self, "\(text)") { try DQL.parse(text) }
  }

  private func field(_ source: Int, _ name: TextKey) -> Expression { .field(source: source, [.key(name)]) }

  private static let a = Expression.path([.key("a")])

  // MARK: Joins

  @Test func `a query with joins has its fields by their sources`() throws {
    let parsed = try select(
      """
      SELECT o._id AS id, c.name.first, o FROM orders o LEFT OUTER JOIN customers AS c ON c._id = o.customerId
      INNER JOIN items USE INDEX '' ON items.o = o._id WHERE c.name IS MISSING ORDER BY id DESC, items.n
      """)
    #expect(parsed.source == Source("orders", alias: "o"))
    #expect(parsed.joins.map(\.kind) == [.left, .inner])
    #expect(parsed.joins.map(\.source.collection) == ["customers", "items"])
    #expect(parsed.joins[1].source.hints == Hints(indexes: []))
    #expect(parsed.joins[0].condition == .binary(.equal, field(1, "_id"), field(0, "customerId")))
    #expect(parsed.joins[1].condition == .binary(.equal, field(2, "o"), field(0, "_id")))
    #expect(parsed.predicate == .isMissing(field(1, "name"), negated: false))
    #expect(parsed.order.map(\.expression) == [field(0, "_id"), field(2, "n")])
    #expect(
      parsed.projection
        == .columns([
          Select.Column(expression: field(0, "_id"), name: "id"),
          Select.Column(expression: .field(source: 1, [.key("name"), .key("first")]), name: "first"),
          Select.Column(expression: .field(source: 0, []), name: "o"),
        ]))
  }

  @Test(arguments: [
    (
      "SELECT name FROM customers a JOIN customers b ON b._id = a._id", 7,
      "Ambiguous reference to field: name"
    ),
    ("SELECT a.x FROM a JOIN b ON b._id = x.y", 36, "Ambiguous reference to field: x.y"),
    ("SELECT a.x FROM a JOIN b ON c._id = b.y JOIN c ON true", 28, "joined after"),
    ("SELECT a.x FROM a JOIN b ON c.z JOIN c ON c._id = a.c", 28, "joined after"),
    ("SELECT a.x FROM a JOIN a ON a._id = a.x", 23, "two sources"),
    ("SELECT a.x FROM a JOIN b", 24, "ON"), ("SELECT a.x FROM a LEFT b ON 1", 23, "JOIN"),
    ("SELECT c.* FROM a JOIN b ON b._id = a.x", 7, "no collection"),
    ("SELECT * FROM orders, customers", 20, "end of the query"),
  ])
  func `a name that joins leave open is refused`(text: String, offset: Int, part: String) throws {
    let error = try failure(text)
    #expect(error.code == .syntax)
    #expect(error.position?.offset == offset, "\(text): \(error)")
    #expect(error.message.contains(part), "\(text): \(error)")
  }

  @Test func `a query has at most ten joins`() throws {
    let joins = { (0..<$0).map { " JOIN c\($0) ON c\($0)._id = a.x" }.joined() }
    #expect(try select("SELECT * FROM a" + joins(10)).joins.count == 10)
    #expect(try failure("SELECT * FROM a" + joins(11)).code == .limit)
  }

  @Test func `RIGHT is the first join or none`() throws {
    #expect(try select("SELECT * FROM a RIGHT JOIN b ON b._id = a.b").joins[0].kind == .right)
    #expect(try select("SELECT * FROM a RIGHT OUTER JOIN b ON b._id = a.b").joins[0].kind == .right)
  }

  // MARK: Projections

  @Test func `whole documents stand beside columns, and fields are left out of them`() throws {
    #expect(
      try select("SELECT c.*, MISSING c.a.b, MISSING `d`, 1 AS n FROM c").projection
        == .elements([
          .star(source: 0), .without([.key("a"), .key("b")]), .without([.key("d")]),
          .column(Select.Column(expression: .literal(.int(1)), name: "n")),
        ]))
    #expect(
      try select("SELECT b.*, a.x FROM a JOIN b ON b._id = a.b").projection
        == .elements([.star(source: 1), .column(Select.Column(expression: field(0, "x"), name: "x"))]))
    #expect(try select("SELECT MISSING AS m, MISSING FROM c").projection.description.contains("m"))
    #expect(try failure("SELECT MISSING a FROM c").position?.offset == 7)
  }

  @Test func `a name in ORDER BY is a column before it is a field`() throws {
    let swapped = try select("SELECT b AS a, a AS b FROM c ORDER BY a, c.a, lower(a)")
    #expect(swapped.order.map(\.expression.description) == ["b", "a", "lower(a)"])
    #expect(try DQL.parse(Statement.select(swapped).description) == .select(swapped))
    #expect(try select("SELECT a.b FROM c ORDER BY b").order[0].expression.description == "a.b")
    #expect(
      try select("SELECT c.*, a + 1 AS b FROM c ORDER BY b").order[0].expression.description == "(a + 1)")
  }

  // MARK: Groups

  @Test func `aggregates take an expression, DISTINCT, or all rows`() throws {
    let parsed = try select(
      """
      SELECT color, COUNT(*) AS n, count(DISTINCT k.a), Sum(ALL a), AVG(a), MIN(a), MAX(a), MEDIAN(a), MID(a)
      FROM cars k WHERE a > 1 GROUP BY k.color, a % 2 HAVING COUNT(*) > 1 ORDER BY n DESC
      """)
    let aggregates: [Aggregate] = [.count, .count, .sum, .avg, .min, .max, .median, .mid]
    guard case .columns(let columns) = parsed.projection else { throw QueryError(.runtime, "no columns") }
    #expect(
      columns.dropFirst().map(\.expression)
        == aggregates.enumerated().map { index, aggregate in
          .aggregate(aggregate, distinct: index == 1, index == 0 ? nil : Self.a)
        })
    #expect(parsed.groups.map(\.description) == ["color", "(a % 2)"])
    #expect(parsed.having?.description == "(COUNT(*) > 1)")
    #expect(parsed.order[0].expression == .aggregate(.count, distinct: false, nil))
    #expect(parsed.isGrouped)
  }

  @Test(arguments: [
    "SELECT color, a % 2, upper(color), COUNT(*) + MAX(b), 1, :p FROM c GROUP BY color, a % 2 ORDER BY SUM(z)",
    "SELECT c.color FROM c GROUP BY color HAVING c.color = 'x'", "SELECT 1 FROM c HAVING COUNT(*) > 1",
    "SELECT a.x AS y, COUNT(b.z) FROM a LEFT JOIN b ON b._id = a.b GROUP BY a.x ORDER BY a.x, y",
    "SELECT CASE WHEN SUM(a) > 1 THEN color END FROM c GROUP BY color",
  ])
  func `a grouped query shows keys and aggregates`(text: String) throws {
    #expect(try select(text).isGrouped)
  }

  @Test(arguments: [
    ("SELECT lower(a) AS d, SUM(b) FROM c GROUP BY d", 13, "a"),
    ("SELECT a, COUNT(*) AS n FROM c GROUP BY a HAVING n > 1", 49, "n"),
    ("SELECT a, COUNT(*) FROM c", 7, "a"), ("SELECT COUNT(*) FROM c ORDER BY a", 32, "a"),
    ("SELECT a FROM c GROUP BY b", 7, "a"), ("SELECT a FROM c GROUP BY a ORDER BY b", 36, "b"),
    ("SELECT k.a.b FROM c k GROUP BY a", 7, "a.b"),
    ("SELECT b.x FROM a JOIN b ON b._id = a.b GROUP BY a.x", 7, "b.x"),
  ])
  func `a field that is no key is refused`(text: String, offset: Int, name: String) throws {
    let error = try failure(text)
    #expect(error.code == .syntax)
    #expect(error.message == "'\(name)' must depend only on group keys or aggregates")
    #expect(error.position?.offset == offset, "\(text): \(error)")
  }

  @Test(arguments: [
    ("SELECT * FROM c WHERE SUM(a) > 1", 22, "WHERE"), ("SELECT a FROM c GROUP BY MAX(a)", 25, "GROUP BY"),
    ("SELECT SUM(COUNT(*)) FROM c", 7, "another"), ("UPDATE c SET a = MAX(b)", 17, "SET"),
    ("DELETE FROM c ORDER BY MIN(a)", 23, "ORDER BY"),
    ("DELETE FROM c RETURNING a, COUNT(*)", 24, "must depend only on group keys"),
    ("INSERT INTO c VALUES (MAX(1))", 22, "a document"), ("SELECT SUM(*) FROM c", 11, "expression"),
    ("SELECT SUM(a, b) FROM c", 7, "1 argument"), ("SELECT * FROM a JOIN b ON MAX(a.x) = b._id", 26, "ON"),
    ("SELECT ANY x IN a SATISFIES MAX(x) > 1 END FROM c", 28, "inside ANY"),
  ])
  func `an aggregate stands where rows are grouped`(text: String, offset: Int, part: String) throws {
    let error = try failure(text)
    #expect(error.position?.offset == offset, "\(text): \(error)")
    #expect(error.message.contains(part), "\(text): \(error)")
  }

  @Test func `the count of rows is a projection of its own only alone`() throws {
    #expect(try select("SELECT COUNT(*) AS n FROM c ORDER BY n").projection == .countAll(alias: "n"))
    for text in [
      "SELECT COUNT(*) FROM c GROUP BY a", "SELECT COUNT(*), 1 FROM c", "SELECT COUNT(*) FROM c HAVING true",
      "SELECT COUNT(*) FROM a JOIN b ON b._id = a.b",
    ] {
      guard case .columns = try select(text).projection else {
        Issue.record("\(text)")
        continue
      }
    }
  }

  // MARK: Sets and queries inside

  @Test func `set operators bind from the left, INTERSECT tighter`() throws {
    let query = { (name: String) in CompoundSelect.Operand.select(Select(collection: name)) }
    let text =
      "SELECT * FROM a UNION ALL SELECT * FROM b INTERSECT SELECT * FROM c EXCEPT SELECT * FROM d ORDER BY x LIMIT 1"
    let body = CompoundSelect.Operand.combined(
      .except, all: false,
      .combined(.union, all: true, query("a"), .combined(.intersect, all: false, query("b"), query("c"))),
      query("d"))
    #expect(
      try DQL.parse(text)
        == .compound(
          CompoundSelect(
            body, order: [SortKey(expression: .path([.key("x")]))], limit: .literal(.int(1)))))
    #expect(try DQL.parse("(SELECT * FROM a)") == .select(Select(collection: "a")))
    #expect(
      try DQL.parse("(SELECT * FROM a) UNION DISTINCT ((SELECT * FROM b))")
        == .compound(CompoundSelect(.combined(.union, all: false, query("a"), query("b")))))
  }

  @Test func `the number of combined queries is bounded`() throws {
    let text = { repeatElement("SELECT * FROM a", count: $0).joined(separator: " UNION ") }
    _ = try DQL.parse(text(64))
    #expect(try failure(text(65)).code == .limit)
    #expect(try failure(String(repeating: "(", count: 100) + "SELECT * FROM a").code == .limit)
  }

  @Test func `a query after IN has one column and names of its own`() throws {
    let parsed = try select("SELECT k.a FROM c k WHERE k.a NOT IN (SELECT k FROM d k WHERE k.k = :p LIMIT 3)")
    #expect(parsed.predicate?.description == "(a NOT IN (SELECT k FROM d AS k WHERE (k.k = :p) LIMIT 3))")
    #expect(try select("SELECT * FROM c WHERE a IN (SELECT COUNT(*) FROM d)").predicate != nil)
    #expect(try failure("SELECT * FROM c WHERE a IN (SELECT * FROM d)").position?.offset == 28)
    #expect(try failure("SELECT * FROM c WHERE a IN (SELECT x, y FROM d)").message.contains("one column"))
    #expect(try failure("SELECT * FROM c WHERE x IN (SELECT a FROM d").message.contains("')'"))
  }

  // MARK: Hints

  @Test(arguments: [
    ("SELECT * FROM c USE INDEX 'i' WHERE a", Hints(indexes: ["i"])),
    ("SELECT * FROM c USE INDEX '' WHERE a", Hints(indexes: [])),
    ("SELECT * FROM c USE INDEX 'i', \"j\"", Hints(indexes: ["i", "j"])),
    (
      "SELECT * FROM c USE DIRECTIVES '{\"#index\":\"i\",\"#prefer_order\":true,\"#max_scans\":2,\"#max_joins\":3,\"#x\":1}'",
      Hints(indexes: ["i"], prefersOrder: true, maximumScans: 2, maximumJoins: 3)
    ),
    ("SELECT * FROM c USE DIRECTIVES '{\"#index\":[]}'", Hints(indexes: [])),
    ("SELECT /*+ {\"#index\": \"i\"} */ * FROM c", Hints(indexes: ["i"])),
    ("SELECT * FROM c --+ {\"#max_scans\": 1}\nWHERE a", Hints(maximumScans: 1)),
    ("SELECT /*+ {\"#index\": \"i\"} */ * FROM c USE INDEX ''", Hints(indexes: [])),
    ("SELECT /*+ not directives */ * FROM c --+---", Hints()),
  ])
  func `hints are read from USE and from comments`(text: String, hints: Hints) throws {
    #expect(try select(text).source.hints == hints, "\(text)")
  }

  @Test func `each source has its own hints`() throws {
    let parsed = try select(
      "SELECT * FROM a /*+ {\"#max_joins\": 2} */ JOIN b USE IDS 'x' USE INDEX 'i' ON b._id = a.b")
    #expect(parsed.source.hints == Hints(maximumJoins: 2))
    #expect(parsed.joins[0].source.hints == Hints(indexes: ["i"]))
    #expect(parsed.joins[0].condition.description.contains("IN ['x']"))
    guard case .update(let update) = try DQL.parse("UPDATE c USE INDEX 'i' SET a = 1") else { return }
    #expect(update.target.hints == Hints(indexes: ["i"]))
  }

  @Test(arguments: [
    ("SELECT * FROM c USE INDEX i", 26, "quotes"), ("SELECT * FROM c USE DIRECTIVES '[]'", 31, "JSON object"),
    ("SELECT * FROM c USE DIRECTIVES '{\"#index\": 1}'", 31, "#index"),
    ("SELECT * FROM c USE DIRECTIVES '{\"#max_scans\": -1}'", 31, "#max_scans"),
    ("SELECT * FROM c USE DIRECTIVES '{\"#prefer_order\": 1}'", 31, "#prefer_order"),
    ("SELECT * FROM c USE IDS ('a')", 24, "without parentheses"), ("SELECT * FROM c USE IDS a", 24, "fields"),
    ("SELECT * FROM c USE INDEXS 'i'", 20, "did you mean 'INDEX'?"),
    ("SELECT * FROM c USE INDEX 'i' USE INDEX 'j'", 34, "twice"),
  ])
  func `a hint that cannot be read is refused`(text: String, offset: Int, part: String) throws {
    let error = try failure(text)
    #expect(error.position?.offset == offset, "\(text): \(error)")
    #expect(error.message.contains(part), "\(text): \(error)")
  }

  @Test(arguments: [
    ("SELEC * FROM c", "SELECT"), ("SELECT * FROM c WERE a = 1", "WHERE"),
    ("SELECT * FROM c k GRUOP BY a", "GROUP"),
    ("SELECT * FROM c WHERE a = 1 LIMT 3", "LIMIT"), ("UPDATE c STE a = 1", "SET"),
    ("SELECT * FROM c WHERE a COLLATE nocse", "nocase"), ("SELECT summ(a) FROM c", "sum"),
  ])
  func `a mistyped word suggests the nearest`(text: String, word: String) throws {
    let error = try failure(text)
    #expect(error.message.contains("did you mean '\(word)'?"), "\(text): \(error)")
  }
}

extension Select.Projection {
  var description: String { Statement.select(Select(collection: "c", projection: self)).description }
}
