import CRDTCore
import Foundation
import TestKit

/// Makes documents of all kinds of values, the same for the same seed.
struct DocumentMaker {
  var random: SeededGenerator
  /// Whether fields may be null, which columns have no form for.
  var hasNulls = true

  private var isInArray = false

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  private static let keys = [
    "a", "b", "name", "a.b", "x y", "", "é", "tags", "$counter", "c,d", "e:f", "back\\slash", "q\"uote",
    "nul\u{0}",
  ]
  private static let texts = [
    "", "x", "007", "1.5", "true", "null", "a,b", "two\nlines", "\"quoted\"", " space ", "é", "[1]", "{}",
    "\u{FEFF}",
    "tab\there", "cr\r", "1e5", "'",
  ]

  /// The fields of a document, without an id.
  mutating func fields() -> [TextKey: Value] { map(depth: 0) }

  private mutating func map(depth: Int) -> [TextKey: Value] {
    var fields: [TextKey: Value] = [:]
    for _ in 0..<random.int(below: 6) {
      let key = random.pick(Self.keys)
      let made = value(depth: depth + 1)
      // No argument can hold a NUL, and so no --types.
      if hasNulls || !key.unicodeScalars.contains("\0") { fields[TextKey(key)] = made }
    }
    return fields
  }

  private mutating func value(depth: Int) -> Value {
    let kind = random.int(below: depth < 4 ? 11 : 9)
    // An array holds no counters.
    switch isInArray && kind == 7 ? 2 : kind {
    case 0: return hasNulls ? .null : .bool(true)
    case 1: return .bool(random.oneIn(2))
    case 2: return .int(random.pick([0, -1, 7, .max, .min, 9_007_199_254_740_993]))
    case 3:
      return .double(
        random.pick([0, -0.0, 1, 1.5, 0.1, 1e300, -1e-7, .infinity, -.infinity, .nan, .leastNonzeroMagnitude])
      )
    case 4, 5: return .string(random.pick(Self.texts))
    case 6: return .bytes(random.bytes(below: 5))
    case 7: return .counter(Int64(random.int(below: 100)) - 50)
    case 8:
      return .attachment(
        AttachmentToken(id: [1, 2], byteCount: 3, metadata: ["name": TextKey(random.pick(Self.texts))]))
    case 9:
      let wasInArray = isInArray
      defer { isInArray = wasInArray }
      isInArray = true
      return .array((0..<random.int(below: 4)).map { _ in value(depth: depth + 1) })
    default: return .map(map(depth: depth))
    }
  }
}

extension [UInt8] {
  /// Writes the bytes into a file.
  func write(to path: String) throws { try Data(self).write(to: URL(fileURLWithPath: path)) }
}
