import CRDTCore
import QueryEngine
import Testing

@Suite struct ParserBuilderTests {
  @Test(arguments: [
    ("color == 'blue' && year > 2019", "((color == 'blue') AND (year > 2019))"),
    ("a == 1 || b == 2 && c < 3", "((a == 1) OR ((b == 2) AND (c < 3)))"),
    ("(a == 1 || b != 2) && c >= 3.5", "(((a == 1) OR (b !== 2)) AND (c >= 3.5))"),
    ("!(a == 1) && !b", "((! (a == 1)) AND (! b))"),
    ("!!a", "(! (! a))"),
    ("true", "true"), ("a == null", "(a == NULL)"), ("a != \"x\"", "(a !== 'x')"),
    ("a <= -5", "(a <= -5)"),
    ("mileage > $args.m", "(mileage > :m)"), ("a == $args['x y']", "(a == :`x y`)"),
    ("starts_with(make, 'Vo')", "starts_with(make, 'Vo')"),
    ("ends_with(make, $args.s)", "ends_with(make, :s)"),
    ("contains(tags, 'city')", "array_contains(tags, 'city')"),
    ("contains($args.ids, _id)", "array_contains(:ids, _id)"),
    ("contains(['blue','red'], color)", "array_contains(['blue', 'red'], color)"),
    ("contains(['blue'], color)", "array_contains(['blue'], color)"),
    ("contains([], color)", "array_contains([], color)"),
    ("contains(['x y'].b, 1)", "array_contains(`x y`.b, 1)"), ("a == ['b']", "(a == b)"),
    ("a == [1, $args.b, [true, null]]", "(a == [1, :b, [true, NULL]])"), ("[0] == a", "([0] == a)"),
    ("a == -9223372036854775808", "(a == -9223372036854775808)"),
  ])
  func `predicates are read with the usual precedence`(text: String, expected: String) throws {
    #expect(try Builder.parse(text).description == expected)
  }

  @Test(arguments: [
    ("a.b", [PathComponent.key("a"), .key("b")]), ("a['x-y']", [.key("a"), .key("x-y")]),
    ("a[0][1][\"_123\"]", [.key("a"), .index(0), .index(1), .key("_123")]),
    ("a[\"0\"]", [.key("a"), .key("0")]),
    ("['x y'].a", [.key("x y"), .key("a")]), ("[\"\"][0]", [.key(""), .index(0)]),
    ("a['']", [.key("a"), .key("")]),
    ("`a.b`.`c``d`", [.key("a.b"), .key("c`d")]), ("``", [.key("")]), ("`true`", [.key("true")]),
    ("a['b'].c", [.key("a"), .key("b"), .key("c")]), ("select.from", [.key("select"), .key("from")]),
  ])
  func `paths have keys and indexes`(text: String, expected: FieldPath) throws {
    #expect(try Builder.parse(text) == .path(expected))
  }

  @Test(arguments: [
    ("$foo", 0), ("a[1st] == 1", 2), ("b[$foo]", 2), ("b[foo$]", 2), ("a[\"foo\"]b", 8), ("", 0), ("a ==", 4),
    ("a = 1", 2),
    ("a == 1 and b == 2", 7), ("a == b == c", 7), ("(a == 1", 7), ("a == 'x", 5), ("a -- b", 2),
    ("`a == 1", 0), ("[a] == 1", 1), ("['a' == 1", 5), ("['a', 'b' == 1", 10),
    ("[1, a] == 1", 4), ("contains([1,], a)", 12),
    ("a.", 2), ("a[-1]", 2), ("$args", 5), ("$args.1", 6), ("a == 1 &", 7), ("starts_with(a 'b')", 14),
    ("a b", 2),
  ])
  func `a mistake is found at its place`(text: String, offset: Int) throws {
    let error = try #require(throws: QueryError.self) { try Builder.parse(text) }
    #expect(error.code == .syntax, "\(error)")
    #expect(error.position?.offset == offset, "\(error)")
  }

  @Test(arguments: [
    ("a = 1", 2, "writes '=='"), ("a == 1 AND b == 2", 7, "writes '&&'"),
    ("a == 1 or b == 2", 7, "writes '||'"),
    ("NOT a == 1", 4, "writes '!'"), ("a == :a", 5, "writes $args.name"),
    ("a LIKE 'x'", 2, "starts_with"),
    ("a IN ['x']", 2, "contains(array, value)"), ("a IS NULL", 2, "== null"), ("a + 1 == 2", 2, "calculate"),
    ("a BETWEEN 1 AND 2", 2, "'>=' and '<='"), ("(a == 1 AND b == 2)", 8, "writes '&&'"),
    ("a == 1 ORDER BY b", 7, ".sort"), ("SELECT * FROM c WHERE a = 1", 7, "'execute' takes statements"),
  ])
  func `a mistake of DQL is named as such`(text: String, offset: Int, part: String) throws {
    let error = try #require(throws: QueryError.self) { try Builder.parse(text) }
    #expect(error.code == .syntax)
    #expect(error.position?.offset == offset, "\(error)")
    #expect(error.message.contains(part), "\(error)")
  }

  @Test func `words of DQL are names of fields all the same`() throws {
    for text in ["and == 1", "a.like == 'x' && order == 2", "in > limit"] { _ = try Builder.parse(text) }
  }

  @Test func `functions are few and take two arguments`() throws {
    #expect(throws: QueryError.self) { try Builder.parse("upper(a) == 'X'") }
    let unknown = try #require(throws: QueryError.self) { try Builder.parse("upper(a) == 'X'") }
    #expect(unknown.code == .unknownFunction)
    let argument = try #require(throws: QueryError.self) { try Builder.parse("starts_with(a)") }
    #expect(argument.code == .argument)
  }

  @Test(arguments: [
    ("a == null", Value?.none, true), ("a == null", .null, true), ("a == null", .int(1), false),
    ("a != 1", nil, true), ("a != 1", .null, true), ("a != 1", .int(1), false), ("a != 1", .double(1), false),
    ("a != 1", .string("1"), true), ("!(a == 1)", nil, true), ("!(a > 1)", nil, true),
    ("!(a > 1)", .string("x"), true),
    ("a > 1", .string("x"), false), ("a > 1", nil, false), ("a <= 1", .null, false), ("true", nil, true),
    ("!a", nil, true), ("!a", .bool(true), false),
  ])
  func `equality is two-valued, a missing value counts as null`(text: String, a: Value?, expected: Bool)
    throws
  {
    #expect(try Evaluator.matches(try Builder.parse(text), row: { _ in a }) == expected)
  }
}
