import CRDTCore
import QueryEngine
import TestKit
import Testing

@Suite struct EvaluatorLikeTests {
  @Test(arguments: [
    ("abc", "abc", true), ("abc", "ab", false), ("ab", "abc", false), ("", "", true), ("", "%", true),
    ("", "_", false),
    ("Saab", "_aab", true), ("Saab", "S%", true), ("Saab", "%b", true), ("Saab", "%aa%", true),
    ("Saab", "%x%", false),
    ("abc", "a%c", true), ("abc", "a%b", false), ("aXbXc", "a%X%c", true), ("aaa", "%a%a%a%", true),
    ("aa", "%a%a%a%", false),
    ("é", "_", true), ("😀x", "_x", true), ("50%", "50\\%", true), ("500", "50\\%", false),
    ("a_b", "a\\_b", true), ("axb", "a\\_b", false),
    ("a\\b", "a\\\\b", true), ("a\\", "a\\", true), ("abc", "ABC", false), ("anything at all", "%%%", true),
    ("ab", "__", true), ("abc", "__", false),
  ])
  func `wildcards stand for text`(text: String, pattern: String, expected: Bool) throws {
    #expect(try #require(LikePattern(pattern)).matches(text) == expected)
  }

  @Test(arguments: [
    ("SAAB", "saab", true), ("ÄRA", "ä%", true), ("saab", "S_AB", true), ("saab", "x%", false),
    ("İ", "İ", true),
  ])
  func `ILIKE does not look at case`(text: String, pattern: String, expected: Bool) throws {
    #expect(try #require(LikePattern(pattern, caseInsensitive: true)).matches(text) == expected)
  }

  @Test func `an escape is one scalar, and a pattern has a bounded length`() {
    #expect(LikePattern("50!%", escape: "!")?.matches("50%") == true)
    #expect(LikePattern("50!%%", escape: "!")?.matches("500 off") == false)
    #expect(LikePattern("a", escape: "") == nil)
    #expect(LikePattern("a", escape: "ab") == nil)
    #expect(LikePattern(String(repeating: "a", count: 5_000)) == nil)
  }

  @Test func `long patterns match across machine words`() throws {
    for count in [62, 63, 64, 65, 127, 128, 129, 1_000] {
      let text = String(repeating: "ab", count: count / 2) + (count % 2 == 1 ? "a" : "")
      #expect(try #require(LikePattern(text)).matches(text))
      #expect(try #require(LikePattern("%" + text + "%")).matches("xx" + text + "yy"))
      #expect(try #require(LikePattern(String(repeating: "_", count: count))).matches(text))
      #expect(try !#require(LikePattern(String(repeating: "_", count: count))).matches(text + "a"))
      #expect(try !#require(LikePattern(text + "x")).matches(text))
    }
  }

  @Test func `no pattern makes matching slow`() throws {
    let text = String(repeating: "a", count: 200_000)
    let pattern = String(repeating: "%a_", count: 1_000) + "b"
    let compiled = try #require(LikePattern(pattern))
    let spent = ContinuousClock().measure { #expect(!compiled.matches(text)) }
    #expect(spent < .seconds(20))
  }

  @Test(arguments: 0..<64)
  func `patterns match what a recursive definition matches`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let text = (0..<random.int(below: 12)).map { _ in random.pick(["a", "b", "é", "😀"]) }.joined()
      let pattern = (0..<random.int(below: 9)).map { _ in random.pick(["a", "b", "é", "%", "_"]) }.joined()
      let expected = Self.reference(Array(text.unicodeScalars)[...], Array(pattern.unicodeScalars)[...])
      #expect(try #require(LikePattern(pattern)).matches(text) == expected, "\(text) \(pattern)")
    }
  }

  private static func reference(_ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>)
    -> Bool
  {
    guard let first = pattern.first else { return text.isEmpty }
    let rest = pattern.dropFirst()
    if first == "%" { return reference(text, rest) || !text.isEmpty && reference(text.dropFirst(), pattern) }
    guard let scalar = text.first else { return false }
    return (first == "_" || first == scalar) && reference(text.dropFirst(), rest)
  }

  @Test func `NULL and other types follow the rules of functions`() throws {
    let evaluate = { (text: String) in try Evaluator.evaluate(constant: try DQL.parseExpression(text)) }
    #expect(try evaluate("NULL LIKE 'a'") == .null)
    #expect(try evaluate("'a' LIKE NULL") == .null)
    #expect(try evaluate("1 LIKE 'a'") == nil)
    #expect(try evaluate("MISSING NOT LIKE 'a'") == nil)
    #expect(try evaluate("'a' NOT LIKE 'b'") == .bool(true))
    #expect(try evaluate("'500 off' LIKE '50!%%' ESCAPE '!'") == .bool(false))
  }
}
