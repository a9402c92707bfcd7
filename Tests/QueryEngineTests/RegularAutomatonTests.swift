import CRDTCore
import QueryEngine
import TestKit
import Testing

/// The automaton says of every text what following all states at once says.
@Suite struct RegularAutomatonTests {
  private static let letters = [
    "a", "b", "c", "\n", " ", "\u{E9}", "e\u{301}", "\u{4E00}", "\u{1F600}", "K", "\u{212A}",
  ]

  private func expectSame(_ pattern: String, _ flags: String, _ texts: [String]) throws {
    // One table serves all texts, and is asked twice.
    let element = Variable("t", slot: 0)
    let test = Expression.call(
      .regexpLike, [.variable(element, []), .literal(.string(pattern)), .literal(.string(flags))])
    let list = Expression.literal(.array((texts + texts).map { .string($0) }))
    let expression = Expression.arrayFor(test, Iteration(element: element, source: list), when: nil)
    let plain = try Evaluator.evaluate(expression, row: { _ in nil })
    let quick = try Evaluator.evaluate(constant: expression)
    expectEqual(quick, plain, "/\(pattern)/\(flags) on \(texts.debugDescription)")
  }

  @Test(arguments: 0..<8) func `agrees with following all states`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<40 {
      let pattern = Self.pattern(&random, depth: 4)
      let texts = (0..<8).map { _ in
        (0..<random.int(below: 14)).map { _ in random.pick(Self.letters) }.joined()
      }
      try expectSame(pattern, random.pick(["", "i", "m", "s", "im"]), texts)
    }
  }

  private static func pattern(_ random: inout SeededGenerator, depth: Int) -> String {
    switch random.int(below: depth > 0 ? 11 : 6) {
    case 0, 1: return random.pick(["a", "b", "c", "\u{E9}", "K", "\u{4E00}"])
    case 2: return random.pick(["[ab]", "[^a]", "\\w", "\\W", "[b-\u{E9}]", "[^\u{E9}b]", ".", "\\s"])
    case 3: return random.pick(["^", "$", "\\A", "\\z", "\\b", "\\B"])
    case 4, 5: return random.pick(["ab", "", "abc", "a.c"])
    case 6: return "(" + pattern(&random, depth: depth - 1) + "|" + pattern(&random, depth: depth - 1) + ")"
    case 7, 8:
      return "(" + pattern(&random, depth: depth - 1)
        + random.pick([")*", ")+", ")?", "){2}", "){1,3}", "){0,2}"])
    default: return pattern(&random, depth: depth - 1) + pattern(&random, depth: depth - 1)
    }
  }

  /// Patterns of which an automaton has more states than the table has room for.
  @Test(arguments: ["(a|b)*a(a|b){14}c", "(a|b)*a(a|b){60}", "(.?){20}b[ab]{30}c", "(\\w\\b.?){20}x"])
  func `a table that is full is made anew`(pattern: String) throws {
    var random = SeededGenerator(seed: 1)
    let texts = (0..<12).map { number in
      (0..<(number * 40)).map { _ in random.pick(["a", "b", "b", "a", "\u{E9}"]) }.joined()
        + random.pick(["c", ""])
    }
    try expectSame(pattern, "", texts)
  }

  @Test func `texts of many kinds of scalars are told apart`() throws {
    // Each class accepts other scalars, so that a table would need more kinds than it numbers.
    let classes = (0..<270).map { String(UnicodeScalar(0x4E00 + UInt32($0)) ?? "a") }
    try expectSame(
      classes.joined(separator: "|") + "|x", "", classes + ["", "xx", "\u{4DFF}", classes.joined()])
  }
}
