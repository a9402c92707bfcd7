import CRDTCore
import QueryEngine
import TestKit
import Testing

@Suite struct EvaluatorRegexTests {
  private func matches(_ text: String, _ pattern: String, _ flags: String = "") throws -> Value? {
    try Evaluator.evaluate(
      constant: .call(.regexpLike, [text, pattern, flags].map { .literal(.string($0)) }))
  }

  @Test(arguments: [
    ("abc", "b", true), ("abc", "^b", false), ("abc", "^abc$", true), ("abc", "^ab$", false),
    ("abc", "", true),
    ("", "^$", true), ("aab", "a*b", true), ("b", "a+b", false), ("ab", "^a?b?c?$", true),
    ("abab", "^(ab)+$", true),
    ("aba", "^(ab)+$", false), ("cat", "^(cat|dog)$", true), ("dog", "^(?:cat|dog)$", true),
    ("cow", "cat|dog", false),
    ("a1", "^[a-z][0-9]$", true), ("A1", "^[^a-z]\\d$", true), ("x-y", "^[x-]+[y]$", true),
    ("]", "[]]", true),
    ("aaa", "^a{3}$", true), ("aa", "^a{3}$", false), ("aaaa", "^a{2,3}$", false), ("aaaa", "^a{2,}$", true),
    ("", "^a{0,2}$", true), ("a.b", "a\\.b", true), ("axb", "a\\.b", false), ("a b", "\\w\\s\\w", true),
    ("é", "^.$", true),
    ("a cat b", "\\bcat\\b", true), ("concat", "\\bcat", false), ("concat", "\\Bcat", true),
    ("aaa", "^(a*)*$", true),
    ("b", "(|a)b", true), ("\n", "^.$", false), ("ab", "a.*?b", true), ("[x]", "\\[x\\]", true),
    ("a\tb", "a\\tb", true),
  ])
  func `a pattern is searched for`(text: String, pattern: String, expected: Bool) throws {
    #expect(try matches(text, pattern) == .bool(expected))
  }

  @Test func `flags change what matches`() throws {
    #expect(try matches("ABC", "abc") == .bool(false))
    #expect(try matches("ABC", "abc", "i") == .bool(true))
    #expect(try matches("ABC", "abc", "ic") == .bool(false))
    #expect(try matches("Q", "[a-z]", "i") == .bool(true))
    #expect(try matches("q", "[^A-Z]", "i") == .bool(false))
    #expect(try matches("a\nb", "^b$") == .bool(false))
    #expect(try matches("a\nb", "^b$", "m") == .bool(true))
    #expect(try matches("a\nb", "a.b", "s") == .bool(true))
    #expect(try matches("ab", " a  b ", "x") == .bool(true))
    #expect(try matches("ab", "a", "q") == nil)
  }

  @Test(arguments: [
    "(", ")", "a)", "[", "[a", "[z-a]", "*", "a**", "a{2", "a{3,2}", "a{,2}", "\\", "\\q", "(?=a)", "a{9999}",
    "(a{100}){100}", "\\1",
  ])
  func `what is no pattern is refused, and MISSING when it comes from data`(pattern: String) throws {
    #expect(try matches("a", pattern) == nil)
    let text = Expression.literal(.string(pattern)).description
    let builder = try #require(throws: QueryError.self) { try Builder.parse("regex(a, \(text))") }
    #expect(builder.code == .argument)
    let dql = try #require(throws: QueryError.self) { try DQL.parseExpression("regexp_like(a, \(text))") }
    #expect(dql.code == .argument)
  }

  @Test func `deep patterns are refused, and no pattern backtracks`() throws {
    #expect(
      try matches("a", String(repeating: "(", count: 1_000) + "a" + String(repeating: ")", count: 1_000))
        == nil)
    let text = String(repeating: "a", count: 2_000)
    #expect(try matches(text, "^(a+)+b$") == .bool(false))
    #expect(try matches(text, "^(a|a)*b$") == .bool(false))
    let large = try #require(throws: QueryError.self) {
      try matches(String(repeating: "a", count: 5_000_000), "(a{50}|b{50})c")
    }
    #expect(large.code == .limit)
  }

  @Test func `the builder's regex is the same search`() throws {
    let expression = try Builder.parse("regex(make, '^V.*o$')")
    #expect(try Evaluator.matches(expression, row: { _ in .string("Volvo") }))
    #expect(try !Evaluator.matches(expression, row: { _ in .string("Saab") }))
    #expect(try !Evaluator.matches(expression, row: { _ in nil }))
    #expect(try !Evaluator.matches(expression, row: { _ in .int(1) }))
  }

  @Test(arguments: 0..<64)
  func `random patterns never do more than fail`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let pieces = [
      "a", "b", "(", ")", "|", "*", "+", "?", "[", "]", "^", "$", ".", "{2}", "{1,", "\\", "d", "-", ",3}",
      "é",
    ]
    for _ in 0..<200 {
      let pattern = (0..<random.int(below: 14)).map { _ in random.pick(pieces) }.joined()
      _ = try matches("abaé2b", pattern, random.pick(["", "i", "msx"]))
    }
  }
}
