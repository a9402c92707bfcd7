import CRDTCore
import QueryEngine
import TestKit

/// Draws documents and constants that meet often, and that stand around the limits of what holds them.
package struct QueryDraws {
  /// Whether texts are drawn in two spellings that Swift's `==` calls equal and whose bytes differ.
  package static let drawsBothSpellings = true
  /// Fields that hold values of all kinds.
  static let anyFields: [TextKey] = ["\u{E9}", "e\u{301}"]
  /// Counts in INCREMENT BY: an integer, a counter, or missing.
  static let numberField: TextKey = "n"
  /// Mostly texts, many of them too long for a key of an index.
  static let textField: TextKey = "s"
  /// Mostly an array.
  static let listField: TextKey = "l"
  /// One of two values.
  static let flagField: TextKey = "f"
  /// Mostly a map with the keys `a` and `k`.
  static let mapField: TextKey = "m"

  var random: SeededGenerator
  /// Of so many lists one is as long as a scan may have spans.
  let oneLongListIn: Int

  package init(seed: UInt64, oneLongListIn: Int) {
    random = SeededGenerator(seed: seed)
    self.oneLongListIn = oneLongListIn
  }

  // MARK: Values

  mutating func id() -> Value {
    switch random.int(below: 9) {
    case 0: .int(random.pick(Self.wholeNumbers + [0, 1, 2]))
    case 1: .bool(random.oneIn(2))
    case 2: .array([.string("k"), .int(Int64(random.int(below: 3)))])
    case 3: .map(["r": .string("x"), "n": .int(Int64(random.int(below: 3)))])
    case 4: .bytes([UInt8(random.int(below: 3))])
    case 5: .string(text())
    default: .string("d\(random.int(below: 40))")
    }
  }

  mutating func scalar() -> Value {
    switch random.int(below: 16) {
    case 0: .null
    case 1: .bool(random.oneIn(2))
    case 2, 3, 4: .int(Int64(random.int(below: 4)))
    case 5: .int(random.pick(Self.wholeNumbers))
    case 6, 7: .double(double())
    case 8: .bytes(random.pick(Self.byteStrings))
    default: .string(text())
    }
  }

  /// Around the numbers that doubles and `Int64` end at.
  private static let wholeNumbers: [Int64] = {
    let exact = Int64(1) << 53
    return [-1, exact - 1, exact, exact + 1, -exact - 1, .max, .max - 1, .min]
  }()

  private static let byteStrings: [[UInt8]] = [
    [], [0], [1, 2], [UInt8](repeating: 7, count: 249), [UInt8](repeating: 7, count: 250),
  ]

  private mutating func double() -> Double {
    random.pick([
      .nan, 0, -0.0, 1, 2, 0.5, 1.5, -1, 0x1p53, 0x1p53 - 1, -0x1p53, 0x1p63, -0x1p63, 1e300, .infinity,
      -.infinity, .leastNonzeroMagnitude,
    ])
  }

  mutating func text() -> String {
    switch random.int(below: 12) {
    case 0: return random.pick(["", "\u{0}", "\u{1}", "a\u{0}", "\u{10FFFF}"])
    // Decimals are texts: these are different ones.
    case 1: return random.pick(["1.3", "1.30", "12.7", "-1.3", "0"])
    case 2, 3: return random.pick(Self.spellings)
    case 4, 5, 6: return long()
    default:
      return random.pick([
        "a", "A", "ab", "Ab", "abc", "b", "ba", "a%b", "a\nb", "word b", "longer than a slot",
      ])
    }
  }

  private static let spellings =
    drawsBothSpellings
    ? ["\u{E9}", "e\u{301}", "caf\u{E9}", "cafe\u{301}", "\u{C9}", "E\u{301}"]
    : ["\u{E9}", "caf\u{E9}", "\u{C9}"]

  /// Around the room that the values of a row have: two that fill it together, and one that does.
  mutating func long() -> String {
    let count = random.pick([122, 123, 124, 247, 248, 249, 249, 250, 250, 251, 260])
    let suffixes =
      ["", "a", "b", "aa", "A", "\u{0}", "\u{1}", "\u{E9}"] + (Self.drawsBothSpellings ? ["e\u{301}"] : [])
    return String(repeating: "l", count: count) + random.pick(suffixes)
  }

  mutating func value(depth: Int) -> Value {
    guard depth > 0, random.oneIn(5) else { return scalar() }
    switch random.int(below: 8) {
    case 0: return nested(levels: random.pick([2, 30, Limits.depth - 2]))
    case 1, 2, 3: return .map(["a": value(depth: depth - 1), "k": value(depth: depth - 1)])
    default: return .array((0..<random.int(below: 4)).map { _ in value(depth: depth - 1) })
    }
  }

  private mutating func nested(levels: Int) -> Value {
    var value = scalar()
    for _ in 0..<levels { value = .array([value]) }
    return value
  }

  // MARK: Documents

  mutating func document() -> [TextKey: Value] {
    var document: [TextKey: Value] = [:]
    for field in Self.anyFields where !random.oneIn(5) {
      document[field] = random.oneIn(12) ? .counter(Int64(random.int(below: 3))) : value(depth: 2)
    }
    switch random.int(below: 4) {
    case 0: break
    case 1: document[Self.numberField] = .counter(Int64(random.int(below: 4)))
    default: document[Self.numberField] = .int(Int64(random.int(below: 6)))
    }
    document[Self.flagField] = .bool(random.oneIn(2))
    if !random.oneIn(6) { document[Self.textField] = random.oneIn(8) ? scalar() : .string(text()) }
    if !random.oneIn(5) {
      document[Self.listField] =
        random.oneIn(7) ? value(depth: 1) : .array((0..<random.int(below: 5)).map { _ in scalar() })
    }
    if !random.oneIn(4) {
      document[Self.mapField] = random.oneIn(6) ? scalar() : .map(["a": scalar(), "k": value(depth: 1)])
    }
    return document
  }

  // MARK: Lists

  /// Constants of a list, on both sides of what makes it a long one.
  mutating func list() -> [Value] {
    if random.oneIn(oneLongListIn) { return longList() }
    let count = random.oneIn(3) ? random.pick([7, 8, 9, 40]) : random.int(below: 5)
    switch random.int(below: 4) {
    case 0: return (0..<count).map { _ in .int(Int64(random.int(below: count + 2))) }
    case 1: return (0..<count).map { _ in .string(text()) }
    default: return (0..<count).map { _ in random.oneIn(8) ? value(depth: 1) : scalar() }
    }
  }

  /// As many different values as a scan may have spans, or one more or fewer; some of them are met.
  mutating func longList() -> [Value] {
    let count = random.pick([8_190, 8_191, 8_192, 8_193, 8_194, 9_001])
    let met = (0..<random.int(below: 6)).map { _ in scalar() }
    let isOfTexts = random.oneIn(4)
    let first: Int64 = random.pick([-20_000, 0, 0, 1, 9_007_199_254_740_992])
    var list = met
    for number in 0..<max(count - met.count, 0) {
      list.append(isOfTexts ? .string("w\(number)") : .int(first + 2 * Int64(number)))
    }
    return list
  }
}
