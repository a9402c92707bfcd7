import CRDTCore
import QueryEngine
import TestKit
import Testing

@Suite struct EvaluatorFunctionTests {
  private func evaluate(_ text: String, _ arguments: [TextKey: Value] = [:]) throws -> Value? {
    try Evaluator.evaluate(constant: try DQL.parseExpression(text), arguments: arguments)
  }

  @Test(arguments: [
    ("5 / 2", Value?.some(.int(2))), ("5 / 2.0", .double(2.5)), ("-7 % 3", .int(-1)),
    ("7.5 % 2", .double(1.5)),
    ("2 + 3 * 4", .int(14)), ("1 + 0.5", .double(1.5)), ("9223372036854775807 + 1", nil),
    ("-9223372036854775808 - 1", nil),
    ("9223372036854775807 * 2", nil), ("-9223372036854775808 / -1", nil), ("-9223372036854775808 % -1", nil),
    ("1 / 0", nil),
    ("1 % 0", nil), ("1.0 / 0", nil), ("0.0 / 0", nil), ("1e308 * 10", nil), ("-(-9223372036854775808)", nil),
    ("1 + NULL", .null),
    ("'a' + 1", nil), ("NULL + MISSING", nil), ("1 << 4", .int(16)), ("-16 >> 2", .int(-4)), ("1 << 64", nil),
    ("1 << -1", nil),
    ("1.5 << 1", nil), ("-NULL", .null), ("-'a'", nil), ("true + 1", nil), ("'a' || 'b'", .string("ab")),
    ("'a' || 1", nil),
    ("'a' || NULL", .null),
  ])
  func `arithmetic is total`(text: String, expected: Value?) throws {
    #expect(try evaluate(text) == expected)
  }

  @Test(arguments: [
    ("abs(-5)", Value?.some(.int(5))), ("abs(-2.5)", .double(2.5)), ("abs(-9223372036854775808)", nil),
    ("ceil(1.2)", .double(2)),
    ("floor(-1.2)", .double(-2)), ("ceil(3)", .int(3)), ("abs('x')", nil), ("abs(NULL)", .null),
    ("concat('a', 'b', 'c')", .string("abc")), ("concat('a', 1)", nil),
    ("contains('abc', 'bc')", .bool(true)),
    ("contains('abc', '')", .bool(true)), ("contains('aab', 'ab')", .bool(true)),
    ("contains('abc', 'x')", .bool(false)),
    ("starts_with('abc', 'ab')", .bool(true)), ("starts_with('ab', 'abc')", .bool(false)),
    ("ends_with('abc', 'bc')", .bool(true)),
    ("ends_with('abc', 'ab')", .bool(false)), ("byte_length('café')", .int(5)),
    ("char_length('café')", .int(4)),
    ("lower('ÄB')", .string("äb")), ("upper('äb')", .string("ÄB")), ("substr('hello', 1)", .string("ello")),
    ("substr('hello', 1, 2)", .string("el")), ("substr('hello', -2)", .string("lo")),
    ("substr('hello', 9)", nil),
    ("substr('hello', -9)", nil), ("substr('hello', 5)", .string("")), ("substr('hello', 0, -1)", nil),
    ("substr('hello', 1, 9223372036854775807)", .string("ello")), ("substr('a', -9223372036854775808)", nil),
    ("pos('äbc', 'c')", .int(2)), ("pos('abc', 'x')", .int(-1)), ("POSITION('b' IN 'abc')", .int(1)),
    ("split('a,b,,c', ',')", .array([.string("a"), .string("b"), .string(""), .string("c")])),
    ("split('a', '')", nil),
    ("joinstr('-', 'a', 'b')", .string("a-b")), ("joinstr('-', ['a', 'b'], 'c')", .string("a-b-c")),
    ("joinstr('-', 1)", nil),
    ("trim('  a b ')", .string("a b")), ("ltrim('xxa', 'x')", .string("a")),
    ("rtrim('axx', 'x')", .string("a")),
    ("TRIM(BOTH 'xy' FROM 'xyaxy')", .string("a")), ("trim('   ')", .string("")),
    ("lpad('7', 3, '0')", .string("007")),
    ("rpad('a', 4, 'xy')", .string("axyx")), ("lpad('abc', 2)", .string("ab")),
    ("lpad('a', 3)", .string("  a")), ("lpad('a', -1)", nil),
    ("lpad('a', 3, '')", nil), ("repeat('ab', 3)", .string("ababab")), ("repeat('ab', 0)", .string("")),
    ("repeat('', 9223372036854775807)", .string("")),
    ("repeat('ab', -1)", nil),
  ])
  func `functions of numbers and strings`(text: String, expected: Value?) throws {
    #expect(try evaluate(text) == expected)
  }

  @Test(arguments: [
    ("array_contains(['blue'], 'blue')", Value?.some(.bool(true))), ("array_contains([1], 1.0)", .bool(true)),
    ("array_contains([1], 2)", .bool(false)), ("array_contains(1, 1)", nil),
    ("array_contains_null([1, null])", .bool(true)),
    ("array_contains_null([1])", .bool(false)), ("array_length([])", .int(0)), ("array_length('a')", nil),
    ("array_length(NULL)", .null),
    ("object_keys({'b': 1, 'a': 2})", .array([.string("a"), .string("b")])),
    ("object_values({'b': 1, 'a': 2})", .array([.int(2), .int(1)])),
    ("object_length({})", .int(0)), ("object_set({'a': 1}, 'b', 2)", .map(["a": .int(1), "b": .int(2)])),
    ("object_set({'a': 1}, 'a', 9)", nil),
    ("object_set({'a': 1}, 'a', 9, true)", .map(["a": .int(9)])),
    ("object_set({}, 'a', null)", .map(["a": .null])),
    ("object_unset({'a': 1}, 'a')", .map([:])), ("object_unset({'a': 1}, 'z')", nil),
    ("object_unset({'a': 1}, 'z', true)", .map(["a": .int(1)])),
    ("object_concat({'a': 1}, {'a': 2, 'b': 3})", .map(["a": .int(2), "b": .int(3)])),
    ("object_rename({'a': 1}, 'a', 'b')", .map(["b": .int(1)])),
    ("object_rename({'a': 1, 'b': 2}, 'a', 'b')", nil), ("object_size({})", .int(2)),
    ("object_keys([1])", nil),
  ])
  func `functions of arrays and objects`(text: String, expected: Value?) throws {
    #expect(try evaluate(text) == expected)
  }

  @Test(arguments: [
    ("type('x')", Value?.some(.string("string"))), ("type(1)", .string("integer")),
    ("type(1.5)", .string("float")), ("type(NULL)", .string("null")),
    ("type(MISSING)", .string("missing")), ("type(:c)", .string("integer")), ("type(:b)", .string("binary")),
    ("type([])", .string("array")),
    ("type({})", .string("object")), ("type(true)", .string("boolean")), ("json_type(1)", .string("number")),
    ("json_type(NULL)", .string("null")),
    ("json_type(MISSING)", .string("null")), ("is_number(NULL)", .null), ("is_number(1.5)", .bool(true)),
    ("is_number('1')", .bool(false)),
    ("is_string('1')", .bool(true)), ("is_boolean(true)", .bool(true)), ("cast('abc' AS integer)", nil),
    ("cast('12' AS integer)", .int(12)),
    ("cast(2.9 AS integer)", .int(2)), ("cast(1e30 AS integer)", nil), ("cast(true AS integer)", .int(1)),
    ("cast(3 AS float)", .double(3)),
    ("cast('1e3' AS float)", .double(1000)), ("cast('inf' AS float)", nil), ("cast('nan' AS float)", nil),
    ("cast(3 AS string)", .string("3")),
    ("cast(1.5 AS string)", .string("1.5")), ("cast('TRUE' AS boolean)", .bool(true)),
    ("cast(0 AS boolean)", .bool(false)), ("cast([] AS string)", nil),
    ("cast(NULL AS string)", .null),
    ("serialize_json({'b': [1, 2.5, null], 'a': 'x\"'})", .string(#"{"a":"x\"","b":[1,2.5,null]}"#)),
    (
      #"deserialize_json('{"a": [1, 2.0, "\\u00e9"]}')"#,
      .map(["a": .array([.int(1), .double(2), .string("é")])])
    ),
    ("deserialize_json('{')", nil), ("deserialize_json(1)", nil),
  ])
  func `functions of types`(text: String, expected: Value?) throws {
    #expect(try evaluate(text, ["c": .counter(1), "b": .bytes([1])]) == expected)
  }

  @Test(arguments: [
    ("coalesce(NULL, MISSING, 1, 2)", Value?.some(.int(1))), ("coalesce(MISSING, NULL)", .null),
    ("coalesce(NULL, MISSING)", nil),
    ("nvl(NULL, 'a')", .string("a")), ("nvl(1, 'a')", .int(1)), ("nvl(NULL, 'a', 'b')", .string("b")),
    ("nvl(1, 'a', 'b')", .string("a")),
    ("ifmissing(MISSING, NULL, 1)", .null), ("ifnull(NULL, 1)", .int(1)), ("ismissing(MISSING)", .bool(true)),
    ("ismissing(NULL)", .bool(false)),
    ("isnull(NULL)", .bool(true)), ("isnull(MISSING)", .bool(false)),
    ("ismissingornull(MISSING)", .bool(true)), ("nullif(1, 1.0)", .null),
    ("nullif(1, 2)", .int(1)), ("missingif(1, 1)", nil), ("missingif(1, 2)", .int(1)),
    ("decode(2, 1, 'a', 2, 'b')", .string("b")),
    ("decode(3, 1, 'a', 'other')", .string("other")), ("decode(3, 1, 'a')", .null),
    ("decode(NULL, NULL, 'n')", .string("n")),
    ("decode('1', 1, 'a', 'other')", .string("other")), ("decode(MISSING, 1, 'a', 'b')", nil),
  ])
  func `conditional functions`(text: String, expected: Value?) throws {
    #expect(try evaluate(text) == expected)
  }

  @Test func `counters behave as integers everywhere`() throws {
    let counter: [TextKey: Value] = ["c": .counter(5)]
    #expect(try evaluate(":c + 1", counter) == .int(6))
    #expect(try evaluate(":c = 5 AND :c < 5.5 AND :c IN [5]", counter) == .bool(true))
    #expect(try evaluate("-:c", counter) == .int(-5))
    #expect(try evaluate("abs(:c)", counter) == .int(5))
    #expect(try evaluate("cast(:c AS string)", counter) == .string("5"))
    #expect(try evaluate("[:c] = [5]", counter) == .bool(true))
  }

  @Test func `what functions make is bounded`() throws {
    for text in [
      "repeat('x', 9223372036854775807)", "repeat('xy', 99999999)", "lpad('x', 9223372036854775807)",
      "[" + Array(repeating: "repeat('x', 1000000)", count: 40).joined(separator: ",") + "]",
    ] {
      let error = try #require(throws: QueryError.self, "\(text)") { try evaluate(text) }
      expectEqual(error.code, .limit)
    }
  }

  @Test(arguments: [
    ("repeat('xy', 4194305)", "the function 'repeat'"), ("rpad('x', 8388609)", "the function 'rpad'"),
    ("concat(:t, :t)", "the function 'concat'"), (":t || :t", "the function 'concat'"),
    ("joinstr(:t, 'a', 'b')", "the function 'joinstr'"), ("upper(concat(:t, ''))", "the function 'upper'"),
    ("serialize_json([:t, :t])", "the function 'serialize_json'"),
    ("serialize_json(:controls)", "the function 'serialize_json'"),
    ("deserialize_json(:numbers)", "the function 'deserialize_json'"),
    ("split(:numbers, ',')", "the function 'split'"),
    ("ARRAY :t FOR v IN [1, 2] END", "a comprehension"),
    ("OBJECT cast(v AS string) : :t FOR v IN [1, 2] END", "a comprehension"),
  ])
  func `an error says which function makes too much, and the limit`(text: String, maker: String) throws {
    let arguments: [TextKey: Value] = [
      "t": .string(String(repeating: "x", count: 5_000_000)),
      "controls": .string(String(repeating: "\u{1}", count: 2_000_000)),
      "numbers": .string("[" + String(repeating: "1,", count: 500_000) + "1]"),
    ]
    let error = try #require(throws: QueryError.self) { try evaluate(text, arguments) }
    #expect(error.code == .limit)
    #expect(error.message == "\(maker) makes more than 8388608 bytes for one row")
  }

  @Test(arguments: [
    ("repeat('xy', 4194304)", 8_388_608), ("lpad('é', 8388607)", 8_388_608),
    ("rpad('', 8388608, 'ab')", 8_388_608),
    ("concat(:t, 'y')", 5_000_001), ("substr(:t, 4999999)", 1), ("serialize_json(:t)", 5_000_002),
  ])
  func `as much as may be is made`(text: String, bytes: Int) throws {
    let text = try evaluate(text, ["t": .string(String(repeating: "x", count: 5_000_000))])
    guard case .string(let made) = text else {
      Issue.record("no text")
      return
    }
    #expect(made.utf8.count == bytes)
  }

  @Test func `the size of an object is counted without making it`() throws {
    let text = Value.string(String(repeating: "x", count: 5_000_000))
    #expect(try evaluate("object_size({'a': [:t, :t]})", ["t": text]) == .int(10_000_016))
  }

  @Test func `a large constant is made for each row, and not kept by the statement`() throws {
    let small = try DQL.parseExpression("repeat('x', 16384)").binding([:])
    #expect(small == .literal(.string(String(repeating: "x", count: 16_384))))
    let large = try DQL.parseExpression("repeat('x', 16385)").binding([:])
    #expect(large.description == "repeat('x', 16385)")
  }

  @Test func `searching takes time linear in the text`() throws {
    let text = Value.string(String(repeating: "a", count: 1_000_000))
    let sought = Value.string(String(repeating: "a", count: 5_000) + "b")
    let clock = ContinuousClock()
    let start = clock.now
    #expect(try evaluate("contains(:t, :s)", ["t": text, "s": sought]) == .bool(false))
    let spent = clock.now - start
    // A search that starts anew at every place takes 5,000 times as long.
    #expect(spent < .seconds(20))
  }
}
