import CRDTCore
import QueryEngine
import TestKit
import Testing

@Suite struct ParserHostileTests {
  private func code(_ text: String) -> QueryError.Code? {
    do {
      _ = try DQL.parse(text)
      return nil
    } catch {
      return error.code
    }
  }

  private func builderCode(_ text: String) -> QueryError.Code? {
    do {
      _ = try Builder.parse(text)
      return nil
    } catch {
      return error.code
    }
  }

  @Test(arguments: [
    "(", "[", "{'a':", "NOT ", "-", "- ", "f(", "upper(", "CASE WHEN ", "a IN (", "!", "EXPLAIN ",
  ])
  func `deep nesting is an error, at any depth`(piece: String) {
    for count in [80, 1_000, 8_000, 100_000] {
      expect(code("SELECT * FROM c WHERE " + String(repeating: piece, count: count)) != nil)
      expect(builderCode(String(repeating: piece, count: count)) != nil)
    }
  }

  @Test func `nesting is allowed up to the limit`() {
    let text = {
      "SELECT * FROM c WHERE " + String(repeating: "(", count: $0) + "a" + String(repeating: ")", count: $0)
    }
    #expect(code(text(Limits.expressionDepth - 1)) == nil)
    #expect(code(text(Limits.expressionDepth)) == .limit)
    let builder = { String(repeating: "(", count: $0) + "a" + String(repeating: ")", count: $0) }
    #expect(builderCode(builder(Limits.expressionDepth - 1)) == nil)
    #expect(builderCode(builder(Limits.expressionDepth)) == .limit)
    #expect(builderCode(String(repeating: "!", count: 100) + "a") == .limit)
  }

  @Test func `a tree that grows to the left is bounded too`() {
    #expect(code("SELECT * FROM c WHERE " + repeatElement("a", count: 50).joined(separator: " + ")) == nil)
    #expect(
      code("SELECT * FROM c WHERE " + repeatElement("a", count: 100).joined(separator: " + ")) == .limit)
    #expect(code("SELECT * FROM c WHERE " + repeatElement("a", count: 900).joined(separator: " AND ")) == nil)
    #expect(builderCode(repeatElement("a", count: 900).joined(separator: " || ")) == nil)
  }

  @Test func `the number of nodes is bounded, also where CASE repeats its operand`() {
    #expect(
      code("SELECT * FROM c WHERE a IN [" + repeatElement("1", count: 1_000).joined(separator: ",") + "]")
        == .limit)
    let branches = String(repeating: " WHEN 1 THEN 2", count: 100)
    #expect(code("SELECT CASE a\(branches) END FROM c") == nil)
    #expect(code("SELECT CASE [1,2,3,4,5,6,7,8,9]\(branches) END FROM c") == .limit)
  }

  @Test func `a long path is refused`() {
    let path = repeatElement("a", count: Limits.pathSteps + 1).joined(separator: ".")
    #expect(code("SELECT " + path + " FROM c") == .limit)
    #expect(builderCode(path) == .limit)
  }

  @Test func `the text is bounded`() {
    let blanks = String(repeating: " ", count: Limits.queryBytes - 15)
    #expect(code("SELECT * FROM c" + blanks) == nil)
    #expect(code("SELECT * FROM c" + blanks + " ") == .limit)
    #expect(code(String(repeating: "x", count: 1 << 20)) == .limit)
    #expect(builderCode(String(repeating: "x", count: 1 << 20)) == .limit)
  }

  @Test(arguments: 0..<64)
  func `random bytes never do more than fail`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<50 {
      let text = String(decoding: random.bytes(below: 200), as: UTF8.self)
      _ = code(text)
      _ = builderCode(text)
      _ = code("SELECT " + text + " FROM c WHERE " + text)
    }
  }

  @Test(arguments: 0..<64)
  func `random words never do more than fail, and what parses prints and evaluates`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let words = [
      "SELECT", "*", "FROM", "c", "WHERE", "a", "b", "AND", "OR", "NOT", "(", ")", "[", "]", "{", "}", ":",
      ",", ".", "'x'",
      "1", "1.5", "=", "<", "IN", "BETWEEN", "LIKE", "IS", "NULL", "MISSING", "-", "+", "||", "upper", "CASE",
      "WHEN",
      "THEN", "END", "ORDER", "BY", "LIMIT", "SET", "UPDATE", "INSERT", "INTO", "DOCUMENTS", "`q`", "ESCAPE",
      "XOR", "<<",
      "&&", "!", "$args", "==", "true", "contains", "0xF", "DELETE", "SHOW", "ALL", "ALTER", "SYSTEM",
      "EXPLAIN",
    ]
    for _ in 0..<200 {
      let text = (0..<random.int(below: 24)).map { _ in random.pick(words) }.joined(separator: " ")
      _ = code(text)
      _ = builderCode(text)
      if let expression = try? DQL.parseExpression(text) {
        expect((try? DQL.parseExpression(expression.description)) != nil, "\(text)")
        _ = try? Evaluator.evaluate(expression, row: { _ in .int(1) })
      }
    }
  }
}
