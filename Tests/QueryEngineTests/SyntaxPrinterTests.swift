import CRDTCore
import QueryEngine
import Testing

@Suite struct SyntaxPrinterTests {
  @Test(arguments: [
    "SELECT * FROM c", "SELECT DISTINCT a, b.c AS x, a + 1, 'it\\'s' FROM c WHERE a = :p LIMIT 5 OFFSET :o",
    "SELECT COUNT(*) FROM c", "SELECT COUNT(*) AS n FROM c WHERE NOT (a IN [1, -2, 'x'])",
    "SELECT {'a': 1, 'b c': [x, null]} AS o FROM `select` ORDER BY a DESC, lower(b)",
    "SELECT k.k.x FROM k", "SELECT a FROM system:collections",
    "SELECT * FROM c USE IDS 'a', 'b' WHERE x LIKE 'a%'",
    "SELECT CASE WHEN a IS NULL THEN 1 ELSE b BETWEEN 2 AND 3 END AS `a b` FROM c",
    "INSERT INTO c DOCUMENTS ({'_id': 1}), (:d) ON ID CONFLICT DO UPDATE_LOCAL_DIFF",
    "INSERT INTO c INITIAL VALUES (:d)", "INSERT INTO c VALUES (:d) ON ID CONFLICT DO NOTHING",
    "UPDATE c APPLY n INCREMENT BY 3, m.k RESTART SET a = 1, b.c = a || 'x' UNSET d, e.f WHERE _id = 'z'",
    "UPDATE c SET c.c.a = 1", "UPDATE c SET a = 1 WHERE b ORDER BY b DESC LIMIT 1 OFFSET 2",
    "DELETE FROM c WHERE a ORDER BY b DESC LIMIT 1 OFFSET 2", "EVICT FROM c",
    "ALTER SYSTEM SET a = {'x': [1]}", "ALTER SYSTEM RESET a", "ALTER SYSTEM RESET ALL", "SHOW a", "SHOW ALL",
    "SHOW ALL ILIKE 'a%'", "EXPLAIN DELETE FROM c",
    "SELECT o.a AS x, c.b.d, o FROM a o JOIN b AS c ON c._id = o.k AND c.z LEFT JOIN d ON d.x = c.y ORDER BY x, d.q",
    "SELECT o.*, MISSING a.b, c.x AS y FROM a o RIGHT JOIN b c ON c._id = o.k WHERE o.n > 1",
    "SELECT a.x, COUNT(*) AS n FROM a JOIN b ON b._id = a.b GROUP BY a.x HAVING MAX(b.z) > 1 ORDER BY n DESC",
    "SELECT c, SUM(DISTINCT a) FROM t GROUP BY c, a + 1 HAVING COUNT(b) = 2 ORDER BY AVG(a), c LIMIT 3",
    "SELECT b AS a, a AS b FROM c ORDER BY a, c.a", "SELECT c.*, MISSING x FROM c ORDER BY a",
    "SELECT * FROM COLLECTION c (m MAP(r REGISTER), n COUNTER) k USE INDEX 'i' WHERE k.k.a",
    "SELECT * FROM c USE DIRECTIVES '{\"#max_scans\": 1}' USE INDEX ''",
    "SELECT /*+ {\"#index\": \"i\"} */ * FROM c",
    "SELECT * FROM c WHERE a NOT IN (SELECT k.b FROM d k WHERE k.x SIMILAR TO 'a|b' ESCAPE '!')",
    "SELECT ANY v IN a SATISFIES v.x > c.v.x AND EVERY i : w WITHIN v SATISFIES w = i END END FROM c",
    "SELECT ARRAY x + y FOR x IN a WHEN x > 1 END, OBJECT k : upper(v) FOR k : v IN o END, ANY AND EVERY e IN [] SATISFIES e END FROM c",
    "SELECT ARRAY (ARRAY y FOR y IN x END) FOR x IN a END, {a: 1, 'b': 2, a.b: 3} FROM c ORDER BY a COLLATE nocase DESC",
    "SELECT TRIM(LEADING 'x' FROM a), TRIM(TRAILING FROM a), TRIM(b FROM a), TRIM(BOTH FROM a) FROM c",
    "SELECT a FROM c UNION ALL SELECT b FROM d INTERSECT (SELECT a FROM e LIMIT 1) EXCEPT SELECT a FROM f ORDER BY a LIMIT 2",
    "INSERT INTO c SELECT d.*, 1 AS n FROM d JOIN e ON e._id = d.x ON ID CONFLICT DO NOTHING RETURNING *",
    "INSERT INTO COLLECTION c (n COUNTER) VALUES ({'a': ARRAY x FOR x IN [1] END}) RETURNING a, _id AS b",
    "UPDATE COLLECTION c (m MAP) k SET m -> (a = k.x, b -> tombstone()), k.r = ANY v IN k.a SATISFIES v END RETURNING k.*, MISSING a",
    "EVICT FROM c k WHERE k.a ORDER BY k.b RETURNING k.a",
    "CREATE INDEX IF NOT EXISTS i ON c (a.b DESC, (lower(x)), t[*])", "DROP INDEX IF EXISTS `i j` ON c",
    "SELECT `x y`, `a.b`.`c``d`, a[''], a['b c'][0]['`'] AS `a b` FROM c WHERE `` = :`x y` AND c['true'] > 1",
    "UPDATE c SET `a.b` = 1, m['x y'] = 2, ``.`` = 3 UNSET `` WHERE c[''] = 1",
    "CREATE INDEX `` ON c (`a.b`, m['x y'] DESC, ``, t['`'][*])",
    "SELECT {'': 1, 'a.b': ``} AS `x``y` FROM c",
    "SELECT c, c.c AS f, object_length(c) AS n FROM c WHERE c = :p AND c.c > 1 ORDER BY c.c, object_length(c)",
    "SELECT k, COUNT(k) FROM c k WHERE k.k = c GROUP BY k ORDER BY k", "SELECT a AS c FROM c ORDER BY c, c.c",
    "UPDATE c k SET a = k, k.k = 1 UNSET k.b WHERE k.k RETURNING k",
    "EVICT FROM c WHERE c.c AND c IS NOT MISSING",
    "DELETE FROM c k ORDER BY k RETURNING k, k.k AS f", "INSERT INTO c VALUES (:d) RETURNING c",
    "ADVISE AND PROVISION SELECT * FROM c WHERE a = 1", "PROFILE UPDATE c SET a = 1",
  ])
  func `a statement parses back from its text`(text: String) throws {
    let statement = try DQL.parse(text)
    #expect(try DQL.parse(statement.description) == statement, "\(statement)")
  }

  @Test func `a log shows no value of a statement`() throws {
    let text = """
      SELECT a, 'x' AS n, {'k': 1} FROM c USE INDEX 'i' WHERE a IN ['s', 2, true, NULL] AND b LIKE '%t%' AND
      c IN (SELECT d FROM e WHERE f = -3.5) LIMIT 7
      """
    #expect(
      try DQL.parse(text).redacted
        == "SELECT a, ? AS n, {'k': ?} FROM c USE INDEX 'i' WHERE ((a IN [?, ?, ?, ?]) AND (b LIKE ?) "
        + "AND (c IN (SELECT d FROM e WHERE (f = ?)))) LIMIT ?")
    #expect(try DQL.parse("INSERT INTO c VALUES ({'_id': 1}), (:d)").redacted.contains("({'_id': ?}), (:d)"))
    #expect(try DQL.parse("SHOW ALL LIKE 'a%'").redacted == "SHOW ALL LIKE ?")
  }

  private static let a = Expression.path([.key("a")])
  private static let one = Expression.literal(.int(1))
  private static let iteration = Iteration(
    position: Variable("i", slot: 0), element: Variable("v", slot: 1), source: a)
  private static let element = Expression.variable(Variable("v", slot: 1), [.key("x")])
  private static let query = Select(
    collection: "d", projection: .columns([Select.Column(expression: a, name: "a")]),
    predicate: .binary(.equal, a, .parameter("p")))

  private static let expressions: [(Expression, String)] = [
    (.aggregate(.count, distinct: false, nil), "COUNT(*)"),
    (.aggregate(.sum, distinct: true, a), "SUM(DISTINCT a)"),
    (.collate(a, .caseInsensitive), "(a COLLATE nocase)"),
    (
      .similar(a, pattern: .literal(.string("x|y")), escape: .literal(.string("!")), negated: true),
      "(a NOT SIMILAR TO 'x|y' ESCAPE '!')"
    ),
    (.inQuery(a, query, negated: false), "(a IN (SELECT a FROM d WHERE (a = :p)))"),
    (.existsQuery(query), "EXISTS (SELECT a FROM d WHERE (a = :p))"), (.call(.exists, [a]), "exists(a)"),
    (
      .quantified(.anyAndEvery, iteration, satisfies: .binary(.equal, element, one)),
      "ANY AND EVERY i : v IN a SATISFIES (v.x = 1) END"
    ),
    (
      .arrayFor(element, Iteration(element: Variable("v", slot: 0), source: a, isDeep: true), when: nil),
      "ARRAY v.x FOR v WITHIN a END"
    ),
    (
      .objectFor(key: .literal(.string("k")), value: element, iteration, when: one),
      "OBJECT 'k' : v.x FOR i : v IN a WHEN 1 END"
    ),
    (.object([ObjectMember(key: a, value: one)]), "{a: 1}"),
    (.field(source: 1, [.key("b")]), "`source 1`.b"),
  ]

  @Test(arguments: expressions)
  func `each construct has its text`(expression: Expression, text: String) {
    #expect(expression.description == text)
  }

  @Test func `statements print joins, groups, sets, types, hints and indexes`() {
    let join = Select(
      from: Source("c", alias: "x", hints: Hints(indexes: [])),
      joins: [
        Join(
          .left, Source("d", hints: Hints(indexes: ["i"], maximumJoins: 2)),
          on: .binary(.equal, .field(source: 0, [.key("k")]), .field(source: 1, [.key("_id")])))
      ],
      projection: .elements([
        .star(source: 1), .without([.key("b")]), .column(Select.Column(expression: Self.one, name: "n")),
      ]),
      groups: [Self.a], having: Self.one)
    #expect(
      Statement.select(join).description == """
        SELECT d.*, MISSING b, 1 AS n FROM c AS x USE INDEX '' LEFT JOIN d \
        USE DIRECTIVES '{"#index":["i"],"#max_joins":2}' ON (x.k = d._id) GROUP BY a HAVING 1
        """)
    let compound = CompoundSelect(
      .combined(
        .union, all: true, .select(Select(collection: "c")),
        .combined(
          .except, all: false, .select(Select(collection: "d", limit: Self.one)),
          .select(Select(collection: "e")))),
      order: [SortKey(expression: Self.a)], limit: Self.one)
    #expect(
      Statement.compound(compound).description
        == "SELECT * FROM c UNION ALL ((SELECT * FROM d LIMIT 1) EXCEPT SELECT * FROM e) ORDER BY a LIMIT 1")
    let typed = Source(
      "c",
      types: [
        FieldDeclaration("m", .map([FieldDeclaration("r", .register)])), FieldDeclaration("n", .pnCounter),
      ])
    #expect(
      Statement.insert(Insert(into: typed, .query(Select(collection: "d")), returning: .all)).description
        == "INSERT INTO COLLECTION c (m MAP(r REGISTER), n PN_COUNTER) SELECT * FROM d RETURNING *")
    let index = CreateIndex(
      "i", on: "c",
      [.init(["a", "b"]), .init(["m"], part: .lowercase, descending: true), .init(["t"], part: .elements)],
      allowsExisting: true)
    #expect(
      Statement.advise(.createIndex(index), provisioning: true).description
        == "ADVISE AND PROVISION CREATE INDEX IF NOT EXISTS i ON c (a.b, (lower(m)) DESC, t[*])")
    #expect(
      Statement.profile(.dropIndex(DropIndex("i", on: "c", allowsMissing: true))).description
        == "PROFILE DROP INDEX IF EXISTS i ON c")
  }

  // MARK: Walking

  @Test(arguments: expressions)
  func `rewriting reaches every part and leaves the rest`(expression: Expression, text: String) {
    #expect(expression.rewritten { $0 } == expression)
    let renamed = expression.rewritten { $0 == Self.a ? .path([.key("z")]) : $0 }
    #expect(!renamed.paths.contains([.key("a")]), "\(renamed)")
    #expect(expression.nodeCount == renamed.nodeCount)
  }

  @Test func `a query inside keeps its paths, and shows its parameters and nodes`() {
    let inside = Expression.inQuery(Self.a, Self.query, negated: false)
    #expect(inside.paths == [[.key("a")]])
    #expect(inside.parameters == ["p"])
    #expect(inside.nodeCount == 6)
    #expect(!inside.isDeterministic)
  }
}
