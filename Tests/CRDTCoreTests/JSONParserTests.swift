import CRDTCore
import Testing

@Suite struct JSONParserTests {
  @Test(
    arguments: [
      ("null", .null), (" true ", .bool(true)), ("\t\r\nfalse\n", .bool(false)), ("\"\"", .string("")),
      ("[]", .array([])), ("[ ]", .array([])), ("{ }", .map([:])), ("[1,[2],{\"a\":null}]", nested),
      ("{\"b\":1,\"a\":{\"c\":[\"d\"]}}", .map(["a": .map(["c": .array([.string("d")])]), "b": .int(1)])),
      ("\u{FEFF}1", .int(1)),
    ] as [(String, Value)])
  func `reads every kind of value`(text: String, expected: Value) throws {
    #expect(try JSON.parse(text) == expected)
  }

  private static let nested = Value.array([.int(1), .array([.int(2)]), .map(["a": .null])])

  @Test(
    arguments: [
      ("0", .int(0)), ("-0", .int(0)), ("42", .int(42)), ("-7", .int(-7)),
      ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)),
      ("9223372036854775808", .double(9_223_372_036_854_775_808)),
      ("-9223372036854775809", .double(-9_223_372_036_854_775_808)),
      ("18446744073709551616", .double(18_446_744_073_709_551_616)),
      ("1.0", .double(1)), ("-0.0", .double(-0.0)), ("1e2", .double(100)), ("1E+2", .double(100)),
      ("12.5e-1", .double(1.25)), ("0.1", .double(0.1)),
      ("123456789012345678", .int(123_456_789_012_345_678)),
      ("0.30000000000000004", .double(0.30000000000000004)), ("1e22", .double(1e22)), ("1e23", .double(1e23)),
      ("9007199254740993.0", .double(9_007_199_254_740_992)),  // halfway: to even
      ("9007199254740993.0000000000000000000000000000000001", .double(9_007_199_254_740_994)),
      ("2.2250738585072011e-308", .double(.leastNormalMagnitude.nextDown)),
      ("5e-324", .double(.leastNonzeroMagnitude)),
      ("1e-400", .double(0)), ("1e-99999999999999999999", .double(0)), ("0e99999999999999999999", .double(0)),
      ("1.7976931348623157e308", .double(.greatestFiniteMagnitude)),
    ] as [(String, Value)])
  func `keeps integers exact and rounds other numbers to the nearest double`(text: String, expected: Value)
    throws
  {
    let value = try JSON.parse(text)
    #expect(value == expected)
    if case (.double(let found), .double(let wanted)) = (value, expected) {
      #expect(found.bitPattern == wanted.bitPattern)
    }
  }

  @Test(arguments: [
    (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u0041\u00e9\u00E9\u20ac""#, "Aéé€"),
    (#""\ud83d\ude00""#, "😀"), (#""x\uD800\uDC00y""#, "x\u{10000}y"), (#""\u0000""#, "\0"),
    (
      #""a long one, 😀 beyond eight bytes, \n then plain again""#,
      "a long one, 😀 beyond eight bytes, \n then plain again"
    ),
    ("\"\u{7F}é\u{2028}\"", "\u{7F}é\u{2028}"),
  ])
  func `decodes escapes, surrogate pairs and plain UTF-8`(text: String, expected: String) throws {
    let value = try JSON.parse(text)
    guard case .string(let string) = value else { throw NotAString() }
    #expect(Array(string.utf8) == Array(expected.utf8))
  }

  private struct NotAString: Error {}

  @Test(
    arguments: [
      ("", .truncated, 0), ("  ", .truncated, 2), ("{", .truncated, 1), ("[1", .truncated, 2),
      ("\"abc", .truncated, 4),
      ("{\"a\"", .truncated, 4), ("{\"a\":", .truncated, 5), ("tru", .truncated, 3), ("-", .truncated, 1),
      ("1.", .truncated, 2), ("1e", .truncated, 2), ("1e+", .truncated, 3), (#""\u12"#, .truncated, 5),
      (#""\"#, .truncated, 2), ("nul1", .syntax, 3), ("01", .syntax, 1), ("-01", .syntax, 2),
      ("+1", .syntax, 0),
      (".5", .syntax, 0), ("1.x", .syntax, 2), ("1 2", .syntax, 2), ("[1,]", .syntax, 3),
      ("[,1]", .syntax, 1),
      ("{\"a\" 1}", .syntax, 5), ("{\"a\":1,}", .syntax, 7), ("{a:1}", .syntax, 1),
      ("{\"a\":1 \"b\":2}", .syntax, 7),
      ("[1 2]", .syntax, 3), ("NaN", .syntax, 0), ("'a'", .syntax, 0), ("\"a\u{1}\"", .syntax, 2),
      ("\"12345678\n\"", .syntax, 9), (#""\x""#, .syntax, 2), (#""\u12g4""#, .syntax, 5), ("\0", .syntax, 0),
      ("1}", .syntax, 1), (#""\ud800""#, .invalidText, 1), (#""\udc00""#, .invalidText, 1),
      (#""\ud800\u0041""#, .invalidText, 1), (#""\ud800\n""#, .invalidText, 1), ("1e400", .numberRange, 0),
      ("[-1e309]", .numberRange, 1), (#"{"a":1,"a":2}"#, .duplicateKey, 0),
    ] as [(String, JSONError.Code, Int)])
  func `refuses what is not JSON and says where`(text: String, code: JSONError.Code, offset: Int) {
    let error = #expect(throws: JSONError.self) { try JSON.parse(text) }
    #expect(error?.code == code)
    #expect(error?.offset == offset)
    #expect(error?.message.hasPrefix("expected ") == true)
  }

  @Test(
    arguments: [
      [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xC3, 0x22],
      [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0x80, 0x22],
    ] as [[UInt8]])
  func `refuses bytes that are not UTF-8`(bytes: [UInt8]) {
    let error = #expect(throws: JSONError.self) { try JSON.parse(bytes) }
    #expect(error?.code == .invalidText)
    #expect(error?.offset == 1)
  }

  @Test func `takes nesting up to the limit and refuses one level more`() throws {
    func nested(_ levels: Int) -> String {
      String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }
    #expect(try JSON.parse(nested(Limits.depth)) != .null)
    let error = #expect(throws: JSONError.self) { try JSON.parse(nested(Limits.depth + 1)) }
    #expect(error?.code == .depth)
    #expect(error?.offset == Limits.depth)
    #expect(throws: JSONError.self) { try JSON.parse(String(repeating: "{\"a\":", count: 1_000_000)) }
  }

  @Test func `stays fast on numbers and strings of a megabyte`() throws {
    let digits = String(repeating: "7", count: 1 << 20)
    #expect(try JSON.parse("0." + digits) == .double(0.7777777777777778))
    #expect(throws: JSONError.self) { try JSON.parse(digits) }
    let escaped = try JSON.parse("\"" + String(repeating: "\\n", count: 1 << 19) + "\"")
    #expect(escaped == .string(String(repeating: "\n", count: 1 << 19)))
  }

  @Test func `two spellings of a letter are two keys`() throws {
    let value = try JSON.parse(#"{"\u00e9":1,"e\u0301":2}"#)
    #expect(value == .map(["\u{E9}": .int(1), "e\u{301}": .int(2)]))
    #expect(try JSON.parse(JSON.text(of: value)) == value)
  }
}
