import CRDTCore

/// A position between values in the order of all values, in which MISSING is the last value.
enum ValueEdge: Hashable, Sendable {
  case beginning
  /// Before a value; `nil` is MISSING.
  case before(Value?)
  case after(Value?)
  /// After all strings that begin with a text.
  case afterPrefix(TextKey)
  case end

  /// Below zero where `left` comes first, zero where both are the same position.
  static func compare(_ left: ValueEdge, _ right: ValueEdge) -> Int {
    switch (left, right) {
    case (.beginning, .beginning), (.end, .end): 0
    case (.beginning, _), (_, .end): -1
    case (_, .beginning), (.end, _): 1
    case (.afterPrefix(let text), _): compare(afterPrefix: text, right)
    case (_, .afterPrefix(let text)): -compare(afterPrefix: text, left)
    case (.before(let left), .before(let right)), (.after(let left), .after(let right)):
      SortOrder.compare(left, right)
    case (.before(let left), .after(let right)): SortOrder.compare(left, right) <= 0 ? -1 : 1
    case (.after(let left), .before(let right)): SortOrder.compare(left, right) < 0 ? -1 : 1
    }
  }

  private static func compare(afterPrefix text: TextKey, _ other: ValueEdge) -> Int {
    switch other {
    case .before(let value), .after(let value):
      if case .string(let string) = value, string.utf8.starts(with: text.utf8) { return 1 }
      return SortOrder.compare(.string(text.text), value)
    case .afterPrefix(let longer):
      let order = text.utf8Compare(longer)
      if order == 0 { return 0 }
      if longer.utf8.starts(with: text.utf8) { return 1 }
      return text.utf8.starts(with: longer.utf8) ? -1 : order
    case .beginning: return 1
    case .end: return -1
    }
  }
}

/// All values between two edges.
struct ValueRange: Hashable, Sendable {
  let lower: ValueEdge
  let upper: ValueEdge

  init(_ lower: ValueEdge, _ upper: ValueEdge) {
    self.lower = lower
    self.upper = upper
  }

  static func point(_ value: Value?) -> ValueRange { ValueRange(.before(value), .after(value)) }

  var isEmpty: Bool {
    switch (lower, upper) {
    // There is no value between these neighbours.
    case (.beginning, .before(.bool(false))), (.after(nil), .end), (.after(.null), .before(nil)): return true
    case (.after(.bool(true)), .before(.double(let number))) where number.isNaN: return true
    default: break
    }
    return ValueEdge.compare(lower, upper) >= 0
  }

  /// Whether all values in it are equal.
  var isPoint: Bool {
    guard case .before(let first) = lower, case .after(let last) = upper else { return false }
    return SortOrder.compare(first, last) == 0
  }

  /// The value of a point.
  var value: Value? {
    if case .before(let value) = lower { value } else { nil }
  }
}

/// A set of values as disjoint ranges, ascending.
struct ValueSet: Hashable, Sendable {
  private(set) var ranges: [ValueRange]

  static let everything = ValueSet([ValueRange(.beginning, .end)])
  static let nothing = ValueSet([])

  private init(_ ranges: [ValueRange]) { self.ranges = ranges }

  /// The values in at least one of some ranges.
  init(of ranges: [ValueRange]) {
    self.ranges = []
    let sorted = ranges.filter { !$0.isEmpty }.sorted { ValueEdge.compare($0.lower, $1.lower) < 0 }
    for range in sorted {
      if let last = self.ranges.last, ValueEdge.compare(range.lower, last.upper) <= 0 {
        // Adjacent points stay separate, so that further fields of an index can follow them.
        if ValueEdge.compare(range.lower, last.upper) < 0 || !(range.isPoint || last.isPoint) {
          let upper = ValueEdge.compare(range.upper, last.upper) > 0 ? range.upper : last.upper
          self.ranges[self.ranges.count - 1] = ValueRange(last.lower, upper)
          continue
        }
      }
      self.ranges.append(range)
    }
  }

  static func point(_ value: Value?) -> ValueSet { ValueSet([.point(value)]) }

  static func range(_ lower: ValueEdge, _ upper: ValueEdge) -> ValueSet {
    ValueSet(of: [ValueRange(lower, upper)])
  }

  var isEmpty: Bool { ranges.isEmpty }

  /// Whether all values in it are equal.
  var isPoint: Bool { ranges.count == 1 && ranges[0].isPoint }

  /// Whether it consists of single values.
  var isPoints: Bool { ranges.allSatisfy(\.isPoint) }

  func union(_ other: ValueSet) -> ValueSet { ValueSet(of: ranges + other.ranges) }

  /// - Complexity: O(*n* + *m*) in the ranges of both.
  func intersection(_ other: ValueSet) -> ValueSet {
    var common: [ValueRange] = []
    var (left, right) = (0, 0)
    while left < ranges.count, right < other.ranges.count {
      let (a, b) = (ranges[left], other.ranges[right])
      let lower = ValueEdge.compare(a.lower, b.lower) >= 0 ? a.lower : b.lower
      let aEndsFirst = ValueEdge.compare(a.upper, b.upper) < 0
      let range = ValueRange(lower, aEndsFirst ? a.upper : b.upper)
      if !range.isEmpty { common.append(range) }
      if aEndsFirst { left += 1 } else { right += 1 }
    }
    return ValueSet(common)
  }

  /// All values that are not in it, including MISSING.
  var complement: ValueSet {
    var rest: [ValueRange] = []
    var lower = ValueEdge.beginning
    for range in ranges {
      rest.append(ValueRange(lower, range.lower))
      lower = range.upper
    }
    rest.append(ValueRange(lower, .end))
    return ValueSet(rest.filter { !$0.isEmpty })
  }
}

// MARK: - What predicates accept

extension ValueSet {
  /// The values that can be compared with `value`: those of its class.
  static func comparable(with value: Value) -> ValueSet {
    let (lower, upper) = classBounds(SortOrder.Class(value))
    return range(lower, upper)
  }

  private static let leastAttachment = Value.attachment(AttachmentToken(id: [], byteCount: 0))

  private static func classBounds(_ valueClass: SortOrder.Class) -> (ValueEdge, ValueEdge) {
    switch valueClass {
    case .boolean: (.before(.bool(false)), .before(.double(.nan)))
    case .number: (.before(.double(.nan)), .before(.bytes([])))
    // No document contains a decimal, and no constant is one.
    case .decimal: (.before(.bytes([])), .before(.bytes([])))
    case .binary: (.before(.bytes([])), .before(.string("")))
    case .string: (.before(.string("")), .before(.array([])))
    case .array: (.before(.array([])), .before(.map([:])))
    case .object: (.before(.map([:])), .before(leastAttachment))
    case .attachment: (.before(leastAttachment), .before(.null))
    case .null: (.before(.null), .before(nil))
    case .missing: (.before(nil), .end)
    }
  }

  /// The values for which a comparison with a constant is true.
  static func comparison(_ symbol: BinaryOperator, _ constant: Value) -> ValueSet? {
    switch symbol {
    case .same: return constant == .null ? range(.before(.null), .end) : point(constant)
    case .notSame: return comparison(.same, constant)?.complement
    case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual: break
    case .add, .subtract, .multiply, .divide, .remainder, .concatenate, .xor, .shiftLeft, .shiftRight:
      return nil
    }
    if constant == .null { return nothing }
    let all = comparable(with: constant)
    switch symbol {
    case .equal: return point(constant)
    case .notEqual: return all.intersection(point(constant).complement)
    case .less: return all.intersection(range(.beginning, .before(constant)))
    case .lessOrEqual: return all.intersection(range(.beginning, .after(constant)))
    case .greater: return all.intersection(range(.after(constant), .end))
    default: return all.intersection(range(.before(constant), .end))
    }
  }

  /// The strings that begin with a text.
  static func prefixed(by text: String) -> ValueSet {
    text.isEmpty ? comparable(with: .string("")) : range(.before(.string(text)), .afterPrefix(TextKey(text)))
  }
}
