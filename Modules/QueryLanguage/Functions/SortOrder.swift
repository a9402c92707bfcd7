package import CRDTCore

/// The total order of values of all types, and of MISSING.
///
/// Ascending: false, true, numbers, decimals, binary, strings, arrays, objects, attachments, null, missing.
/// Strings compare by their UTF-8 bytes, without a locale. Integers and doubles compare by value, exactly,
/// with NaN below every other number. Arrays compare element by element, objects key by key in the order of
/// their keys.
package enum SortOrder {
  /// The classes of comparable values: in a predicate, only values of one class are equal, less or greater.
  package enum Class: Int, Comparable {
    case boolean, number, decimal, binary, string, array, object, attachment, null, missing

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    package init(_ value: Value?) {
      switch value {
      case .bool: self = .boolean
      case .int, .double, .counter: self = .number
      case .decimal: self = .decimal
      case .bytes: self = .binary
      case .string: self = .string
      case .array: self = .array
      case .map: self = .object
      case .attachment: self = .attachment
      case .null: self = .null
      case nil: self = .missing
      }
    }
  }

  /// Below zero when `left` comes first, above zero when `right` does, zero when they are equal.
  ///
  /// - Complexity: O(*n*) in the size of the smaller value; sorting keys adds a logarithm for objects.
  package static func compare(_ left: Value?, _ right: Value?) -> Int {
    switch (left, right) {
    case (.bool(let left), .bool(let right)): return (left ? 1 : 0) - (right ? 1 : 0)
    case (.int(let left), .int(let right)), (.int(let left), .counter(let right)),
      (.counter(let left), .int(let right)), (.counter(let left), .counter(let right)):
      return order(left, right)
    case (.int(let left), .double(let right)), (.counter(let left), .double(let right)):
      return compare(left, right)
    case (.double(let left), .int(let right)), (.double(let left), .counter(let right)):
      return -compare(right, left)
    case (.double(let left), .double(let right)): return compare(left, right)
    case (.decimal(let left), .decimal(let right)): return order(left, right)
    case (.bytes(let left), .bytes(let right)): return compare(left, right)
    case (.string(let left), .string(let right)): return left.utf8Compare(right)
    case (.array(let left), .array(let right)): return compare(left, right)
    case (.map(let left), .map(let right)): return compare(left, right)
    case (.attachment(let left), .attachment(let right)): return compare(left, right)
    case (.null, .null), (nil, nil): return 0
    default: return order(Class(left).rawValue, Class(right).rawValue)
    }
  }

  /// Compares an integer and a double by value, without rounding.
  package static func compare(_ whole: Int64, _ double: Double) -> Int {
    if double.isNaN { return 1 }
    // Both bounds are powers of two, so doubles hold them exactly; between them truncation cannot trap.
    if double >= 0x1p63 { return -1 }
    if double < -0x1p63 { return 1 }
    let truncated = Int64(double)
    if whole != truncated { return order(whole, truncated) }
    return order(0, double - double.rounded(.towardZero))
  }

  package static func compare(_ left: Double, _ right: Double) -> Int {
    if left.isNaN || right.isNaN { return order(left.isNaN ? 0 : 1, right.isNaN ? 0 : 1) }
    return order(left, right)
  }

  private static func order<Scalar: Comparable>(_ left: Scalar, _ right: Scalar) -> Int {
    left < right ? -1 : left > right ? 1 : 0
  }

  private static func compare(_ left: [UInt8], _ right: [UInt8]) -> Int {
    for (left, right) in zip(left, right) where left != right { return order(left, right) }
    return order(left.count, right.count)
  }

  private static func compare(_ left: [Value], _ right: [Value]) -> Int {
    for (left, right) in zip(left, right) {
      let result = compare(Optional(left), Optional(right))
      if result != 0 { return result }
    }
    return order(left.count, right.count)
  }

  private static func compare(_ left: [TextKey: Value], _ right: [TextKey: Value]) -> Int {
    for (left, right) in zip(sorted(left), sorted(right)) {
      let keys = left.key.utf8Compare(right.key)
      if keys != 0 { return keys }
      let values = compare(Optional(left.value), Optional(right.value))
      if values != 0 { return values }
    }
    return order(left.count, right.count)
  }

  private static func compare(_ left: AttachmentToken, _ right: AttachmentToken) -> Int {
    let ids = compare(left.id, right.id)
    if ids != 0 { return ids }
    if left.byteCount != right.byteCount { return order(left.byteCount, right.byteCount) }
    return compare(
      left.metadata.mapValues { .string($0.text) }, right.metadata.mapValues { .string($0.text) })
  }

  static func sorted<Member>(_ members: [TextKey: Member]) -> [(key: TextKey, value: Member)] {
    members.sorted { $0.key < $1.key }
  }
}
