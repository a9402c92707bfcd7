import CRDTCore
import Foundation
import QueryEngine
import TestKit
import Testing

@Suite struct EvaluatorRegularTests {
  private func evaluate(_ text: String, _ arguments: [TextKey: Value] = [:]) throws -> Value? {
    try Evaluator.evaluate(constant: try DQL.parseExpression(text), arguments: arguments)
  }

  private func matches(_ text: String, _ pattern: String, _ flags: String = "") throws -> Value? {
    try Evaluator.evaluate(
      constant: .call(
        .regexpLike, [.literal(.string(text)), .literal(.string(pattern)), .literal(.string(flags))]))
  }

  @Test(arguments: [
    ("abc", "b", true), ("abc", "^b", false), ("abc", "^abc$", true), ("abc", "^ab$", false), ("", "", true),
    ("", "^$", true), ("", ".", false), ("é", "^.$", true), ("😀", "^.$", true), ("a\nb", "a.b", false),
    ("ab", "a|b", true), ("c", "a|b", false), ("", "a|", true), ("abab", "^(ab)*$", true),
    ("aba", "^(ab)*$", false), ("aaa", "^a{3}$", true), ("aa", "^a{3}$", false), ("aaaa", "^a{2,3}$", false),
    ("aaaa", "^a{2,}$", true), ("a", "^a{,2}$", true), ("a{x", "a{x", true), ("ab", "^a+?b$", true),
    ("b", "^a?b$", true), ("x1", "^\\w\\d$", true), ("é", "\\w", false), ("a b", "a\\sb", true),
    ("ab", "a\\Sb", false), ("-", "[a-c-]", true), ("]", "[]]", true), ("b", "[^a-c]", false),
    ("d", "[^a-c]", true), ("5", "[[:digit:]]", true), ("x", "[[:^digit:]]", true), ("a.c", "a\\.c", true),
    ("abc", "a\\.c", false), ("a cat", "\\bcat\\b", true), ("concat", "\\bcat\\b", false),
    ("concat", "\\Bcat", true), ("a\tb", "\\t", true), ("A", "\\x41", true), ("é", "\\u00e9", true),
    ("é", "\\x{e9}", true), ("ab", "(?:a)(?<n>b)", true), ("AB", "(?i)ab", true), ("aB", "a(?i:b)", true),
    ("AB", "a(?i:b)", false), ("AB", "(?i:a)b", false), ("x\ny", "(?m)^y", true), ("a", "(^a|b$)", true),
    ("zab", "(^a|b$)", true), ("aXb", "a[\\w]b", true), ("a-b", "a[\\W]b", true), ("aaa", "^(a|aa)+$", true),
    ("abc", "\\Aabc\\z", true), ("b", "(|a)*b", true), ("", "(a*)*", true),
    ("user@x.org", "^[^@]+@[^@]+$", true),
  ])
  func `a pattern matches anywhere in a text`(text: String, pattern: String, expected: Bool) throws {
    #expect(try matches(text, pattern) == .bool(expected))
  }

  @Test(arguments: [
    ("ABC", "b", "i", true), ("ABC", "b", "c", false), ("ABC", "b", "ic", false), ("ÄRA", "ä", "i", true),
    ("ß", "SS", "i", false), ("a\nb", "^b", "m", true), ("a\nb", "a$", "m", true), ("a\nb", "a$", "", false),
    ("a\nb", "a.b", "s", true), ("ab", "a b # both", "x", true), ("a b", "a\\ b", "x", true),
    ("K", "[a-z]", "i", true), ("k", "[^K]", "i", false), ("a\nB", "A.\n^b", "imsx", true),
    ("a\nB", "A.^b", "ims", true),
  ])
  func `flags say how a pattern is read`(text: String, pattern: String, flags: String, expected: Bool) throws
  {
    #expect(try matches(text, pattern, flags) == .bool(expected))
  }

  @Test(arguments: [
    ("regexp_like(NULL, 'a')", Value?.some(.null)), ("regexp_like('a', NULL)", .null),
    ("regexp_like(MISSING, 'a')", nil), ("regexp_like('a', 'a', MISSING)", nil), ("regexp_like(1, 'a')", nil),
    ("regexp_like('a', 1)", nil), ("regexp_like('a', 'a', 1)", nil),
    ("regexp_like('a', 'A', 'i')", .bool(true)),
    ("regexp_like([], 'a')", nil),
  ])
  func `null, missing and other types are handled as by every function`(text: String, expected: Value?) throws
  {
    #expect(try evaluate(text) == expected)
  }

  @Test(arguments: [
    "(", ")", "a)", "[", "[a", "[b-a]", "*", "+a", "a|*", "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "\\1",
    "\\p{L}",
    "a\\", "\\xg0", "\\u{110000}", "\\u{d800}", "(?z)", "(?i", "[[:what:]]", "a{3,2}", "(?<n", "(?P=n)",
    "\\x{41",
  ])
  func `a pattern that is none is an error, which does not show it`(pattern: String) throws {
    let error = try #require(throws: QueryError.self) { try matches("text", pattern) }
    #expect(error.code == .argument, "\(error)")
    #expect(!error.message.contains(pattern) || pattern.utf8.count == 1, "\(error)")
  }

  @Test func `unknown flags are an error`() {
    #expect { try matches("a", "a", "q") } throws: { ($0 as? QueryError)?.code == .argument }
  }

  @Test(arguments: [
    "a{1001}", "(a{100}){100}", "((a{50}){50}){50}", "(){0,2000000000}", String(repeating: "a", count: 5_000),
    String(repeating: "(", count: 200) + String(repeating: ")", count: 200), "a*********",
    "(((a{9,}){9,}){9,}){9,}",
  ])
  func `a pattern that is too large is refused at once`(pattern: String) throws {
    let error = try #require(throws: QueryError.self) { try matches("a", pattern) }
    #expect(error.code == .limit)
  }

  @Test(arguments: [
    ("(a+)+$", 4_000), ("(a|a)*b", 4_000), ("(a*)*(a*)*b", 4_000), ("(.*.*.*)x", 1_000),
    ("(a?){20}a{20}b", 1_000), ("^(a|aa|aaa)*$", 4_000), ("(x+x+)+y", 4_000), ("(.?){100}b", 200),
  ])
  func `no pattern makes matching go back`(pattern: String, count: Int) throws {
    let text = String(repeating: "a", count: count) + "!"
    let start = ContinuousClock.now
    #expect(try matches(text, pattern) == .bool(false))
    #expect(ContinuousClock.now - start < .seconds(20))
  }

  @Test func `what takes too many steps ends with an error`() throws {
    let text = String(repeating: "a", count: 100_000)
    let expression = Expression.call(
      .regexpLike, [.path([.key("t")]), .literal(.string("(a?){300}(a?){150}b"))])
    var tables = RecordTables()
    let stamping = Stamping(site: SiteID(high: 1, low: 2), reading: ClockReading(rawValue: 1 << 20))
    let encoded = try DocumentCodec.upsert(
      ["t": .string(text)], strategy: .merge, existing: nil, stamping: stamping, tables: &tables)
    let record = Record(bytes: try #require(encoded).record)
    let id = try DocumentID("x").bytes
    // The text is long enough for a slow engine to be noticed; the statement may spend less than it needs.
    var matcher = try RecordMatcher(expression, context: StatementContext(.still, steps: 1 << 18))
    matcher.resolve(tables.keys)
    let start = ContinuousClock.now
    #expect(!record.withView { matcher.matches(id.span.bytes, $0) })
    #expect(ContinuousClock.now - start < .seconds(10))
  }

  @Test(arguments: 0..<24)
  func `agrees with an independent engine`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<30 {
      let pattern = Self.pattern(&random, depth: 3)
      // The other engine refuses some repetitions of places.
      guard let reference = try? NSRegularExpression(pattern: pattern) else { continue }
      for _ in 0..<6 {
        let text = (0..<random.int(below: 9)).map { _ in random.pick(["a", "b", "c", "\n"]) }.joined()
        let expected =
          reference.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil
        try expectEqual(matches(text, pattern), .bool(expected), "/\(pattern)/ on \(text.debugDescription)")
      }
    }
  }

  private static func pattern(_ random: inout SeededGenerator, depth: Int) -> String {
    switch random.int(below: depth > 0 ? 10 : 5) {
    case 0, 1, 2: return random.pick(["a", "b", "c"])
    case 3: return random.pick(["[ab]", "[^a]", "\\w", "\\b", "[b-c]"])
    case 4: return random.pick(["^", "\\A", "\\z", "a", ""])
    case 5: return "(" + pattern(&random, depth: depth - 1) + "|" + pattern(&random, depth: depth - 1) + ")"
    case 6:
      return "(" + pattern(&random, depth: depth - 1) + random.pick([")*", ")+", ")?", "){2}", "){1,3}"])
    default: return pattern(&random, depth: depth - 1) + pattern(&random, depth: depth - 1)
    }
  }
}

@Suite struct EvaluatorSimilarTests {
  private func similar(_ text: Value?, _ pattern: Value?, escape: Value? = nil, negated: Bool = false) throws
    -> Value?
  {
    try Evaluator.evaluate(
      constant: .similar(
        text.map(Expression.literal) ?? .missing, pattern: pattern.map(Expression.literal) ?? .missing,
        escape: escape.map(Expression.literal), negated: negated))
  }

  @Test(arguments: [
    ("abc", "abc", true), ("abc", "a", false), ("abc", "a%", true), ("abc", "%b%", true),
    ("abc", "a_c", true),
    ("abc", "a(b|x)c", true), ("axc", "a(b|x)c", true), ("abc", "abc|x", true), ("x", "abc|x", true),
    ("xx", "abc|x", false), ("aab", "a*b", true), ("b", "a+b", false), ("ab", "a?b", true),
    ("aa", "a{2}", true),
    ("aaa", "a{2}", false), ("aaa", "a{2,}", true), ("aaa", "a{1,2}", false), ("b", "[a-c]", true),
    ("d", "[^a-c]", true), ("5", "[[:digit:]]", true), ("a.c", "a.c", true), ("abc", "a.c", false),
    ("^a$", "^a$", true), ("a%", "a\\%", true), ("ab", "a\\%", false), ("a\nb", "a%b", true), ("", "", true),
    ("", "%", true), ("é", "_", true), ("a|b", "a\\|b", true), ("(a)", "\\(a\\)", true),
    ("SAAB", "saab", false),
  ])
  func `a pattern stands for the whole text`(text: String, pattern: String, expected: Bool) throws {
    #expect(try similar(.string(text), .string(pattern)) == .bool(expected))
    #expect(try similar(.string(text), .string(pattern), negated: true) == .bool(!expected))
  }

  @Test func `null, missing, other types and escapes`() throws {
    #expect(try similar(.null, .string("a")) == .null)
    #expect(try similar(.string("a"), .null) == .null)
    #expect(try similar(nil, .string("a"), negated: true) == nil)
    #expect(try similar(.int(1), .string("a")) == nil)
    #expect(try similar(.string("a"), .int(1)) == nil)
    #expect(try similar(.string("5%"), .string("5!%"), escape: .string("!")) == .bool(true))
    #expect(try similar(.string("\\"), .string("\\"), escape: .string("!")) == .bool(true))
    #expect(try similar(.string("a"), .string("a"), escape: .string("ab")) == nil)
    #expect(try similar(.string("a"), .string("a"), escape: .int(1)) == nil)
    for pattern in ["(", "*", "[a", "a)", "[b-a]"] {
      #expect { try similar(.string("a"), .string(pattern)) } throws: {
        ($0 as? QueryError)?.code == .argument
      }
    }
  }
}
