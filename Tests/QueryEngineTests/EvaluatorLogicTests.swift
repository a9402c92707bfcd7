import CRDTCore
import QueryEngine
import TestKit
import Testing

@Suite struct EvaluatorLogicTests {
  private func evaluate(_ text: String, _ arguments: [TextKey: Value] = [:]) throws -> Value? {
    try Evaluator.evaluate(constant: try DQL.parseExpression(text), arguments: arguments)
  }

  /// The four truth values by the words that make them.
  private static let operands = ["true", "false", "NULL", "MISSING"]

  @Test(arguments: zip(operands, [Value?.some(.bool(false)), .bool(true), .null, nil]))
  func `NOT of an unknown is unknown`(operand: String, expected: Value?) throws {
    #expect(try evaluate("NOT \(operand)") == expected)
  }

  @Test func `AND is false when one operand is, true when all are, else NULL`() throws {
    for left in Self.operands {
      for right in Self.operands {
        let expected: Value =
          left == "false" || right == "false"
          ? .bool(false) : left == "true" && right == "true" ? .bool(true) : .null
        try expectEqual(evaluate("\(left) AND \(right)"), expected, "\(left) AND \(right)")
      }
    }
    #expect(try evaluate("5 AND true") == .null)
  }

  @Test func `OR is true when one operand is, false when all are, else NULL`() throws {
    for left in Self.operands {
      for right in Self.operands {
        let expected: Value =
          left == "true" || right == "true"
          ? .bool(true) : left == "false" && right == "false" ? .bool(false) : .null
        try expectEqual(evaluate("\(left) OR \(right)"), expected, "\(left) OR \(right)")
      }
    }
  }

  @Test func `XOR is known only when both operands are`() throws {
    #expect(try evaluate("true XOR false") == .bool(true))
    #expect(try evaluate("true XOR true") == .bool(false))
    #expect(try evaluate("true XOR NULL") == .null)
    #expect(try evaluate("MISSING XOR false") == .null)
  }

  @Test(arguments: ["=", "!=", "<", "<=", ">", ">="])
  func `a comparison with MISSING is MISSING, with NULL is NULL, of two types is MISSING`(symbol: String)
    throws
  {
    for operand in ["1", "'a'", "true", "NULL", "MISSING"] {
      try expect(evaluate("\(operand) \(symbol) MISSING") == nil)
      try expect(evaluate("MISSING \(symbol) \(operand)") == nil)
    }
    for operand in ["1", "'a'", "true", "NULL", "[1]", "{'a': 1}"] {
      try expectEqual(evaluate("\(operand) \(symbol) NULL"), .null)
    }
    for (left, right) in [("1", "'a'"), ("true", "1"), ("[1]", "1"), ("{'a': 1}", "[1]"), ("'true'", "true")]
    {
      try expect(evaluate("\(left) \(symbol) \(right)") == nil)
    }
  }

  @Test(arguments: [
    ("1 = 1.0", true), ("9007199254740993 = 9007199254740992.0", false),
    ("9223372036854775807 < 9223372036854775808.0", true),
    ("9223372036854775807 = 9223372036854775808.0", false),
    ("-9223372036854775808 = -9223372036854775808.0", true), ("1 < 1.5", true), ("-1 > -1.5", true),
    ("0 = -0.0", true), ("'a' < 'b'", true), ("'Z' < 'a'", true), ("'a' < 'aa'", true),
    ("false < true", true),
    ("[1, 2] = [1, 2.0]", true), ("[1, 2] < [1, 3]", true), ("[1] < [1, 0]", true), ("[null] = [null]", true),
    ("{'a': 1, 'b': 2} = {'b': 2, 'a': 1}", true), ("{'a': 1} = {'a': 1, 'b': 2}", false), ("{} = {}", true),
    ("'é' = 'e\\u0301'", false), ("'\\uFFFD' < '\\uD83D\\uDE00'", true),
  ])
  func `values of one type compare by value`(text: String, expected: Bool) throws {
    #expect(try evaluate(text) == .bool(expected))
  }

  @Test(arguments: [
    ("NULL IS NULL", true), ("1 IS NULL", false), ("MISSING IS NULL", false), ("MISSING IS NOT NULL", true),
    ("MISSING IS MISSING", true), ("NULL IS MISSING", false), ("NULL IS NOT MISSING", true),
    ("1 IS NOT UNKNOWN", true),
    ("MISSING IS NOT UNKNOWN", true), ("NULL IS UNKNOWN", true),
  ])
  func `IS always knows`(text: String, expected: Bool) throws {
    #expect(try evaluate(text) == .bool(expected))
  }

  @Test(arguments: [
    ("1 IN [1, 2]", Value?.some(.bool(true))), ("1.0 IN [1]", .bool(true)), ("3 IN [1, 2]", .bool(false)),
    ("3 NOT IN [1, 2]", .bool(true)), ("3 IN [1, null]", .null), ("3 NOT IN [1, null]", .null),
    ("1 IN [1, null]", .bool(true)),
    ("NULL IN [1]", .null), ("MISSING IN [1]", nil), ("1 IN NULL", .null), ("1 IN 1", nil),
    ("1 IN MISSING", nil),
    ("1 IN (1, 2)", .bool(true)), ("1 IN ([1, 2])", .bool(false)), ("'a' IN [1, 'a']", .bool(true)),
    ("1 IN []", .bool(false)),
    ("1 IN :list", .bool(true)), ("1 IN (:list)", .bool(false)),
  ])
  func `IN looks for an equal element`(text: String, expected: Value?) throws {
    #expect(try evaluate(text, ["list": .array([.int(1)])]) == expected)
  }

  @Test(arguments: [
    ("2 BETWEEN 1 AND 3", Value?.some(.bool(true))), ("1 BETWEEN 1 AND 1", .bool(true)),
    ("5 NOT BETWEEN 1 AND 3", .bool(true)),
    ("NULL BETWEEN 1 AND 3", .null), ("0 BETWEEN 1 AND NULL", .bool(false)), ("2 BETWEEN 1 AND NULL", .null),
    ("0 NOT BETWEEN 1 AND NULL", .bool(true)), ("'a' BETWEEN 1 AND 3", .null),
  ])
  func `BETWEEN includes its bounds`(text: String, expected: Value?) throws {
    #expect(try evaluate(text) == expected)
  }

  @Test func `CASE takes the first true branch, and NULL without one`() throws {
    #expect(try evaluate("CASE WHEN NULL THEN 1 WHEN true THEN 2 WHEN true THEN 3 END") == .int(2))
    #expect(try evaluate("CASE WHEN false THEN 1 ELSE 4 END") == .int(4))
    #expect(try evaluate("CASE WHEN false THEN 1 END") == .null)
    #expect(try evaluate("CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END") == .string("b"))
    #expect(try evaluate("CASE NULL WHEN NULL THEN 'a' ELSE 'b' END") == .string("b"))
  }

  @Test func `literals leave MISSING members out and make missing elements null`() throws {
    #expect(try evaluate("{'a': 1, 'b': x, 'c': NULL}") == .map(["a": .int(1), "c": .null]))
    #expect(try evaluate("[1, x, 2]") == .array([.int(1), .null, .int(2)]))
  }

  @Test func `only objects and arrays can be navigated`() throws {
    let document = Value.map(["a": .map(["b": .array([.int(7)])]), "s": .string("x")])
    let value = { (text: String) in
      try Evaluator.evaluate(try DQL.parseExpression(text), row: { document.value(at: $0) })
    }
    #expect(try value("a.b[0]") == .int(7))
    #expect(try value("a.b[1]") == nil)
    #expect(try value("s.x") == nil)
    #expect(try value("a[0]") == nil)
    #expect(try value("a.b.c") == nil)
    #expect(try value("none.x IS MISSING") == .bool(true))
  }

  @Test func `a parameter needs an argument, once bound or evaluated`() throws {
    let expression = try DQL.parseExpression("a = :p")
    let unbound = try #require(throws: QueryError.self) { try expression.binding([:]) }
    #expect(unbound.code == .argument)
    #expect(throws: QueryError.self) { try Evaluator.evaluate(constant: expression) }
    #expect(try expression.binding(["p": .null]).description == "(a = NULL)")
  }

  @Test(arguments: [
    ("a + (1 + 2 * :n)", "(a + 11)"), ("a IN [1, :n]", "(a IN [1, 5])"), ("1 / 0 = 1 OR a", "(MISSING OR a)"),
    // With strict types this is an error.
    ("1 = 'x' OR a", "((1 = 'x') OR a)"),
    ("upper('x')", "'X'"), ("repeat('x', 99999999)", "repeat('x', 99999999)"), ("{'k': :n}", "{'k': 5}"),
  ])
  func `binding computes what is constant`(text: String, expected: String) throws {
    #expect(try DQL.parseExpression(text).binding(["n": .int(5)]).description == expected)
  }

  @Test(arguments: 0..<100)
  func `binding changes no result`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let values: [Value?] = [
      nil, .null, .bool(true), .int(3), .double(0.5), .string("a%"), .array([.int(3), .null]),
      .map(["a": .int(1)]), .counter(7),
    ]
    for _ in 0..<20 {
      let expression = RandomExpression.make(&random, depth: 5)
      let row = random.pick(values)
      let arguments: [TextKey: Value] = ["p": random.pick(values.compactMap { $0 })]
      let direct = try Evaluator.evaluate(expression, row: { _ in row }, arguments: arguments)
      let bound = try Evaluator.evaluate(expression.binding(arguments), row: { _ in row })
      expectEqual(direct, bound, "seed \(seed): \(expression)")
    }
  }
}
