import CRDTCore
import QueryEngine
import TestKit
import Testing

@Suite struct ParserExpressionTests {
  @Test(arguments: [
    ("a + b * c", "(a + (b * c))"),
    ("(a + b) * c", "((a + b) * c)"),
    ("a - b - c", "((a - b) - c)"),
    ("a % b / c", "((a % b) / c)"),
    ("a + b << c + d", "((a + b) << (c + d))"),
    ("a << b < c", "((a << b) < c)"),
    ("a || b || c", "((a || b) || c)"),
    ("a || b + c", "(a || (b + c))"),
    ("a || b = c", "((a || b) = c)"),
    ("-a + b", "((- a) + b)"),
    ("-a * b", "((- a) * b)"),
    ("a - -b", "(a - (- b))"),
    ("a = -1", "(a = -1)"),
    ("a = b AND c = d OR e = f", "(((a = b) AND (c = d)) OR (e = f))"),
    ("a OR b AND c", "(a OR (b AND c))"),
    ("a OR b XOR c AND d", "(a OR (b XOR (c AND d)))"),
    ("a AND b AND c", "(a AND b AND c)"),
    ("NOT a = b AND c", "((NOT (a = b)) AND c)"),
    ("NOT NOT a", "(NOT (NOT a))"),
    ("NOT a IS NULL", "(NOT (a IS NULL))"),
    ("a = b IS NULL", "((a = b) IS NULL)"),
    ("a LIKE b || '%'", "(a LIKE (b || '%'))"),
    ("a = b LIKE c", "((a = b) LIKE c)"),
    ("a LIKE b IS MISSING", "((a LIKE b) IS MISSING)"),
    ("a BETWEEN b AND c AND d", "((a BETWEEN b AND c) AND d)"),
    ("a BETWEEN b + 1 AND c * 2 OR d", "((a BETWEEN (b + 1) AND (c * 2)) OR d)"),
    ("a NOT BETWEEN 1 AND 2", "(a NOT BETWEEN 1 AND 2)"),
    ("a IN b AND c", "((a IN b) AND c)"),
    ("a + 1 NOT IN (1, 2)", "((a + 1) NOT IN [1, 2])"),
    ("a NOT LIKE 'x!%' ESCAPE '!'", "(a NOT LIKE 'x!%' ESCAPE '!')"),
    ("a ILIKE b", "(a ILIKE b)"),
    ("a <> b", "(a != b)"),
    ("a == b", "(a = b)"),
    ("a IS NOT UNKNOWN", "(a IS NOT NULL)"),
    ("a is not missing", "(a IS NOT MISSING)"),
  ])
  func `operators bind as the language says`(text: String, expected: String) throws {
    #expect(try DQL.parseExpression(text).description == expected)
  }

  @Test(arguments: [
    ("0", Value.int(0)), ("-9223372036854775808", .int(.min)), ("9223372036854775807", .int(.max)),
    ("0xFF", .int(255)), ("1e3", .double(1000)), ("1.5", .double(1.5)), ("2.5e-1", .double(0.25)),
    ("-1.5", .double(-1.5)), ("TRUE", .bool(true)), ("false", .bool(false)), ("Null", .null),
    ("'a'", .string("a")), ("\"it's\"", .string("it's")), (#"'it\'s'"#, .string("it's")),
    (#"'a\\b\n\t\/'"#, .string("a\\b\n\t/")), (#"'\u00e9\uD83D\uDE00'"#, .string("\u{e9}😀")),
    ("''", .string("")), ("'-- no comment'", .string("-- no comment")),
  ])
  func `literals have their values`(text: String, expected: Value) throws {
    #expect(try DQL.parseExpression(text) == .literal(expected))
  }

  @Test(arguments: [
    ("a.b.c", [PathComponent.key("a"), .key("b"), .key("c")]),
    ("a[0][12].b", [.key("a"), .index(0), .index(12), .key("b")]),
    ("`street-line`", [.key("street-line")]),
    ("a.`my field`", [.key("a"), .key("my field")]),
    ("a.select", [.key("a"), .key("select")]),
    ("collection", [.key("collection")]), ("collection.x", [.key("collection"), .key("x")]),
    ("year", [.key("year")]), ("_id", [.key("_id")]), ("date.value", [.key("date"), .key("value")]),
  ])
  func `paths are read step by step`(text: String, expected: FieldPath) throws {
    #expect(try DQL.parseExpression(text) == .path(expected))
  }

  @Test func `parameters are names right after a colon`() throws {
    #expect(try DQL.parseExpression(":limit") == .parameter("limit"))
    #expect(try DQL.parseExpression("{'a'::p, 'b':true}").description == "{'a': :p, 'b': true}")
    #expect(throws: QueryError.self) { try DQL.parseExpression(": limit") }
  }

  @Test func `a simple CASE compares its operand in every branch`() throws {
    let expected = "CASE WHEN (a = 1) THEN 'x' WHEN (a = 2) THEN 'y' ELSE 'z' END"
    #expect(
      try DQL.parseExpression("CASE a WHEN 1 THEN 'x' WHEN 2 THEN 'y' ELSE 'z' END").description == expected)
    #expect(try DQL.parseExpression("CASE WHEN a THEN b END").description == "CASE WHEN a THEN b END")
  }

  @Test(arguments: [
    ("CAST(a AS INTEGER)", "cast(a, 'integer')"), ("cast(a, 'text')", "cast(a, 'text')"),
    ("POSITION('b' IN a)", "pos(a, 'b')"), ("pos(a, 'b')", "pos(a, 'b')"),
    ("TRIM(BOTH 'x' FROM a)", "trim(a, 'x')"), ("Upper(a)", "upper(a)"), ("ceil(a)", "ceil(a)"),
    ("ifmissingornull(a, b)", "coalesce(a, b)"), ("character_length(a)", "char_length(a)"),
  ])
  func `calls take their special forms and other names`(text: String, expected: String) throws {
    #expect(try DQL.parseExpression(text).description == expected)
  }

  @Test func `comments and blanks stand anywhere between words`() throws {
    let text = "a /* one */ + -- two\n\t b\r\n/*+ {} */"
    #expect(try DQL.parseExpression(text).description == "(a + b)")
  }

  @Test(arguments: 0..<200)
  func `a printed expression parses back to the same tree`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let expression = RandomExpression.make(&random, depth: 5)
    #expect(try DQL.parseExpression(expression.description) == expression, "seed \(seed)")
  }
}

/// Expressions as the parser of DQL can make them.
enum RandomExpression {
  static func make(_ random: inout SeededGenerator, depth: Int) -> Expression {
    if depth == 0 || random.oneIn(4) { return leaf(&random) }
    let child = { (random: inout SeededGenerator) in make(&random, depth: depth - 1) }
    switch random.int(below: 11) {
    case 0: return .unary(.not, child(&random))
    case 1:
      let symbols: [BinaryOperator] = [
        .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .add, .subtract, .multiply,
        .divide,
        .remainder, .concatenate, .xor, .shiftLeft, .shiftRight,
      ]
      return .binary(random.pick(symbols), child(&random), child(&random))
    case 2: return .and((0..<2 + random.int(below: 2)).map { _ in child(&random) })
    case 3: return .or((0..<2 + random.int(below: 2)).map { _ in child(&random) })
    case 4:
      return .between(child(&random), low: child(&random), high: child(&random), negated: random.oneIn(2))
    case 5: return .in(child(&random), .array([child(&random), child(&random)]), negated: random.oneIn(2))
    case 6:
      return .like(
        child(&random), pattern: leaf(&random), escape: random.oneIn(2) ? .literal(.string("!")) : nil,
        caseInsensitive: random.oneIn(2), negated: random.oneIn(2))
    case 7: return .isNull(child(&random), negated: random.oneIn(2))
    case 8: return .isMissing(child(&random), negated: random.oneIn(2))
    case 9: return .call(random.pick([.concat, .coalesce]), [child(&random), child(&random)])
    default:
      let clause = WhenClause(condition: child(&random), result: child(&random))
      return .case([clause], otherwise: random.oneIn(2) ? child(&random) : nil)
    }
  }

  static func leaf(_ random: inout SeededGenerator) -> Expression {
    switch random.int(below: 8) {
    case 0: .missing
    case 1: .literal(.null)
    case 2: .literal(.bool(random.oneIn(2)))
    case 3: .literal(.int(random.pick([0, -1, .min, .max, 77])))
    case 4: .literal(.double(random.pick([0.5, -2.25, 1e300, 3])))
    case 5: .literal(.string(random.pick(["", "it's", "a\\b", "%x_", "é\n"])))
    case 6: .parameter("p")
    default: .path(random.pick([[.key("a")], [.key("a"), .key("b c")], [.key("select"), .index(3)]]))
    }
  }
}
