import CRDTCore

/// The kind of a number, which distinguishes values that have the same key in an index.
enum NumberKind: UInt16 {
  /// Also the kind of values other than numbers.
  case int = 0
  case double = 1
  case counter = 2
  case negativeZero = 3

  init(_ value: borrowing ValueRef) {
    switch value.kind {
    case .counter: self = .counter
    case .double: self = value.double.bitPattern == (-0.0).bitPattern ? .negativeZero : .double
    case .null, .bool, .int, .string, .bytes, .array, .map, .attachment: self = .int
    }
  }

  init(lowestBitsOf kinds: UInt16) { self = NumberKind(rawValue: kinds & 3) ?? .int }

  /// The number with a magnitude: the greatest double not above it, and the rest of an integer.
  ///
  /// - Returns: `nil` if no number of this kind has these parts.
  func value(_ magnitude: Double, _ rest: UInt64, _ isNegative: Bool) -> Value? {
    switch self {
    case .double: return rest == 0 ? .double(isNegative ? -magnitude : magnitude) : nil
    case .negativeZero: return magnitude == 0 && rest == 0 ? .double(-0.0) : nil
    case .int, .counter:
      guard let whole = UInt64(exactly: magnitude), whole <= 1 << 63,
        let number = Int64(whole + rest, isNegative)
      else { return nil }
      return self == .int ? .int(number) : .counter(number)
    }
  }
}

extension Int64 {
  fileprivate init?(_ magnitude: UInt64, _ isNegative: Bool) {
    if isNegative, magnitude == Int64.min.magnitude {
      self = .min
      return
    }
    guard let number = Int64(exactly: magnitude) else { return nil }
    self = isNegative ? -number : number
  }
}
