import CRDTCore
import QueryEngine
import Testing

@Suite struct ParserErrorTests {
  /// The error of a text that must not parse.
  private func failure(_ text: String) -> QueryError? {
    #expect(throws: QueryError.self, "\(text)") { try DQL.parse(text) }
  }

  @Test(arguments: [
    ("", 0, "expected SELECT"), ("SELEC * FROM c", 0, "expected SELECT"),
    ("SELECT * FROM collection", 24, "identifier"),
    ("SELECT * FROM", 13, "identifier"), ("SELECT FROM c", 7, "keyword FROM"),
    ("SELECT a b c FROM d", 9, "FROM"), ("SELECT DISTINC a FROM c", 15, "FROM"),
    ("SELECT a 1 FROM c", 9, "FROM"),
    ("SELECT a", 7, "SELECT without FROM cannot read fields"), ("SELECT 1 WHERE a > 1", 15, "without FROM"),
    ("SELECT *", 7, "SELECT without FROM cannot read whole documents"), ("SELECT 1 b c", 9, "FROM"),
    ("SELECT c.*", 7, "no collection"), ("SELECT 1 ORDER BY a", 18, "without FROM"),
    ("SELECT * FROM orders, customers", 20, "end of the query"), ("SELECT a, a FROM c", 10, "two columns"),
    ("SELECT x.* FROM c", 7, "no collection"), ("SELECT 'it''s' FROM c", 11, "doubled quote"),
    ("SELECT 'abc FROM c", 7, "never closed"), ("SELECT `abc FROM c", 7, "never closed"),
    ("SELECT a FROM ``", 14, "1 to 100 bytes"),
    ("SELECT 1 /* x", 9, "never closed"), ("SELECT '\\", 8, "never closed"),
    ("SELECT '\\uD800' FROM c", 8, "surrogate"),
    ("SELECT 1st FROM c", 7, "runs into a name"), ("SELECT 0x FROM c", 9, "no digits"),
    ("SELECT 1e FROM c", 9, "exponent"),
    ("SELECT 1e999 FROM c", 7, "too large"), ("SELECT 99999999999999999999 FROM c", 7, "64 bits"),
    ("SELECT a ? b FROM c", 9, "character"), ("SELECT (a FROM c", 10, "')'"), ("SELECT [a FROM c", 10, "']'"),
    ("INSERT INTO c VALUES ({a: 1})", 23, "quotes"), ("SELECT {1: 1} FROM c", 8, "quotes"),
    ("SELECT {'a': 1, 'a': 2} FROM c", 16, "twice"),
    ("SELECT a.1 FROM c", 9, "field's name"), ("SELECT a[x] FROM c", 9, "index"),
    ("SELECT CASE a END FROM c", 14, "WHEN"),
    ("SELECT CASE WHEN a THEN b FROM c", 26, "END"), ("SELECT a IS 1 FROM c", 12, "MISSING"),
    ("SELECT a BETWEEN 1 OR 2 FROM c", 19, "AND"), ("SELECT a NOT 1 FROM c", 9, "FROM"),
    ("SELECT * FROM c WHERE", 21, "an expression"), ("SELECT * FROM c ORDER a", 22, "BY"),
    ("SELECT * FROM c LIMIT a", 22, "whole number"), ("SELECT * FROM c WHERE a IN b * c", 27, "list"),
    ("SELECT * FROM c LIMIT 1 LIMIT 2", 24, "end of the query"),
    ("INSERT INTO c (:a)", 14, "DOCUMENTS"), ("INSERT INTO c DOCUMENTS :a", 24, "'('"),
    ("INSERT INTO c DOCUMENTS (a)", 25, "fields"),
    ("INSERT INTO c INITIAL DOCUMENTS (:a) ON ID CONFLICT DO NOTHING", 37, "INITIAL"),
    ("INSERT INTO c DOCUMENTS (:a) ON ID CONFLICT NOTHING", 44, "DO"), ("UPDATE c", 8, "APPLY, SET or UNSET"),
    ("UPDATE c WHERE a", 9, "APPLY, SET or UNSET"), ("UPDATE c SET _id = 1", 13, "cannot be modified"),
    ("UPDATE c UNSET _id", 15, "cannot be modified"),
    ("UPDATE c SET a = 1, a = 2", 20, "More than one modification specified for the path"),
    ("UPDATE c SET a.b = 1 UNSET a.b", 27, "More than one modification specified for the path"),
    ("UPDATE c UNSET a SET b = 1", 17, "order"),
    ("UPDATE c SET a 1", 15, "'='"), ("DROP COLLECTION cars", 5, "INDEX"),
    ("EXPLAIN EXPLAIN SELECT * FROM c", 8, "SELECT"),
    ("SELECT *, year + 1 AS n FROM cars", 7, "unqualified *"), ("SELECT 1, * FROM cars", 10, "unqualified *"),
    ("ALTER SYSTEM SET a", 18, "TO"), ("ALTER SYSTEM SET a = b", 21, "fields"),
    ("SHOW ALL LIKE a", 14, "pattern"),
    ("SELECT * FROM c; SELECT * FROM c", 17, "end of the query"), ("DELETE cars", 7, "FROM"),
  ])
  func `a mistake is found at its place`(text: String, offset: Int, part: String) throws {
    let error = try #require(failure(text))
    #expect(error.position?.offset == offset, "\(text): \(error)")
    #expect(error.message.contains(part), "\(text): \(error)")
  }

  @Test(arguments: [
    ("SELECT * FROM a FULL JOIN b ON x = y", "FULL JOIN"), ("SELECT * FROM a x CROSS JOIN b", "CROSS JOIN"),
    ("SELECT * FROM a NATURAL JOIN b", "NATURAL JOIN"),
    ("UPDATE c SET a[0] = 1", "array"),
    ("SELECT (SELECT a FROM c) FROM c", "a scalar subquery"),
    ("SELECT a FROM c WHERE a = (SELECT MAX(b) FROM d)", "a scalar subquery"),
    ("SELECT * FROM (SELECT a FROM c) x", "a query in place of a collection"),
    ("SELECT * FROM a JOIN (SELECT b FROM c) x ON x.b = a.b", "a query in place of a collection"),
    ("WITH x AS (SELECT 1) SELECT * FROM x", "WITH"),
    ("EXPLAIN WITH x AS (SELECT 1) SELECT * FROM x", "WITH"),
    ("SELECT a FROM c ORDER BY a NULLS FIRST", "NULLS FIRST"),
    (
      "SELECT * FROM a JOIN b ON b._id = a.b RIGHT JOIN d ON d._id = a.d",
      "RIGHT OUTER join that isn't the first join is not supported"
    ),
    ("SELECT a IN (SELECT a FROM c UNION SELECT a FROM d) FROM c", "inside a query"),
    ("SELECT a FROM c UNION (SELECT a FROM d UNION SELECT a FROM e LIMIT 1)", "in parentheses"),
  ])
  func `a feature that is left out is named`(text: String, feature: String) throws {
    let error = try #require(failure(text))
    #expect(error.code == .unsupported, "\(text): \(error)")
    #expect(error.message.contains(feature), "\(text): \(error)")
    #expect(error.position != nil)
  }

  @Test func `an unknown function suggests the nearest name`() throws {
    let error = try #require(failure("SELECT uper(a) FROM c"))
    #expect(error.code == .unknownFunction)
    #expect(error.message == "there is no function 'uper': did you mean 'upper'?")
    #expect(failure("SELECT zzzzzzzzzz(a) FROM c")?.message == "there is no function 'zzzzzzzzzz'")
  }

  @Test(arguments: [
    "SELECT upper() FROM c", "SELECT upper(a, b) FROM c", "SELECT decode(a, b) FROM c",
    "SELECT cast(a AS blob) FROM c",
    "SELECT * FROM c LIMIT -1", "SELECT * FROM c LIMIT 1.5", "SELECT * FROM c OFFSET '1'",
    "SELECT 9223372036854775808 FROM c",
    "SELECT -9223372036854775809 FROM c", "SELECT a LIKE b ESCAPE 'xy' FROM c",
  ])
  func `an argument that does not fit is refused`(text: String) {
    #expect(failure(text)?.code == .argument, "\(text)")
  }

  @Test(arguments: [
    ("SELECT * FROM c WHERE a == 1 && b == 2", 29, "DQL writes AND"),
    ("SELECT * FROM c WHERE (a == 1 && b == 2)", 30, "DQL writes AND"),
    ("SELECT * FROM c WHERE !a", 22, "DQL writes NOT"),
    ("SELECT * FROM c WHERE a == $args.a", 27, "DQL writes :name"),
    ("SELECT * FROM c WHERE a == 1 || b == 2", 29, "write OR"),
    ("SELECT * FROM c WHERE a = :a || b.c = 2", 29, "write OR"),
    ("color == 'red' AND km > 5", 0, "goes to 'find'"),
  ])
  func `a mistake of the builder language is named as such`(text: String, offset: Int, part: String) throws {
    let error = try #require(failure(text))
    #expect(error.code == .syntax)
    #expect(error.position?.offset == offset, "\(text): \(error)")
    #expect(error.message.contains(part), "\(text): \(error)")
  }

  @Test func `a text that is put together can be compared`() throws {
    for text in [
      "a || b = c", "a = b || c", "a = (b || c) = d", "a = concat(b || c) = d", "a = b || c AND d = e",
    ] {
      _ = try DQL.parseExpression(text)
    }
  }

  @Test func `an error shows line, column and a caret`() throws {
    let error = try #require(failure("SELECT 'é', b\nFROM cars\nWHERE a == = 1"))
    #expect(error.position == QueryError.Position(offset: 36, line: 3, column: 12))
    #expect(error.found == "'='")
    #expect(error.expected == ["an expression"])
    #expect(
      error.description
        == "expected an expression, found '=' (line 3, column 12)\nWHERE a == = 1\n           ^")
  }

  @Test func `a message shows no literal, and an excerpt is short`() throws {
    let text = "SELECT '" + String(repeating: "secret", count: 100) + "' 'secret' FROM c"
    let error = try #require(failure(text))
    #expect(!error.message.contains("secret"))
    #expect((error.excerpt ?? "").utf8.count < 200)
  }
}
