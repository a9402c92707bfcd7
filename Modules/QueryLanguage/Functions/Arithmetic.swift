package import CRDTCore

/// Arithmetic of queries: total, without traps and without infinities.
///
/// Two integers give an integer; a double on either side gives a double. The result is MISSING for overflow,
/// division by zero, a result that is not finite, and operands that are not numbers. A NULL operand gives
/// NULL.
package enum Arithmetic {
  package static func apply(_ symbol: BinaryOperator, _ left: Value?, _ right: Value?) -> Value? {
    guard let left, let right else { return nil }
    if left == .null || right == .null { return .null }
    if left.isDecimal || right.isDecimal {
      guard let left = left.exactDecimal, let right = right.exactDecimal else { return nil }
      return decimals(symbol, left, right)
    }
    if let left = left.wholeNumber, let right = right.wholeNumber { return integers(symbol, left, right) }
    guard let left = left.number, let right = right.number else { return nil }
    return doubles(symbol, left, right)
  }

  package static func negate(_ operand: Value?) -> Value? {
    switch operand {
    case .null: return .null
    case .int(let value), .counter(let value):
      return value == .min ? nil : .int(-value)
    case .double(let value): return .double(-value)
    case .decimal(let value): return .decimal(-value)
    default: return nil
    }
  }

  private static func integers(_ symbol: BinaryOperator, _ left: Int64, _ right: Int64) -> Value? {
    let result: (partialValue: Int64, overflow: Bool)
    switch symbol {
    case .add: result = left.addingReportingOverflow(right)
    case .subtract: result = left.subtractingReportingOverflow(right)
    case .multiply: result = left.multipliedReportingOverflow(by: right)
    // Both report as overflow a division by zero, and the one quotient that does not fit.
    case .divide: result = left.dividedReportingOverflow(by: right)
    case .remainder: result = left.remainderReportingOverflow(dividingBy: right)
    case .shiftLeft: result = (left << right, !(0..<64).contains(right))
    case .shiftRight: result = (left >> right, !(0..<64).contains(right))
    case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .same, .notSame, .concatenate,
      .xor:
      return nil
    }
    return result.overflow ? nil : .int(result.partialValue)
  }

  /// Decimals are added, subtracted and multiplied exactly; without an exact result, it is MISSING.
  private static func decimals(
    _ symbol: BinaryOperator, _ left: ExactDecimal, _ right: ExactDecimal
  ) -> Value? {
    let result: ExactDecimal
    switch symbol {
    case .add: result = left + right
    case .subtract: result = left - right
    case .multiply: result = left * right
    case .divide, .remainder, .shiftLeft, .shiftRight, .equal, .notEqual, .less, .lessOrEqual, .greater,
      .greaterOrEqual, .same, .notSame, .concatenate, .xor:
      return nil
    }
    return result.isWithinLimit ? .decimal(result) : nil
  }

  private static func doubles(_ symbol: BinaryOperator, _ left: Double, _ right: Double) -> Value? {
    let result: Double
    switch symbol {
    case .add: result = left + right
    case .subtract: result = left - right
    case .multiply: result = left * right
    case .divide: result = left / right
    case .remainder: result = left.truncatingRemainder(dividingBy: right)
    case .shiftLeft, .shiftRight, .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .same,
      .notSame, .concatenate, .xor:
      return nil
    }
    return result.isFinite ? .double(result) : nil
  }
}

extension Value {
  var isDecimal: Bool { if case .decimal = self { true } else { false } }

  /// A number as a decimal; a floating-point number is converted from its shortest text.
  var exactDecimal: ExactDecimal? {
    switch self {
    case .decimal(let value): value
    case .int(let value), .counter(let value): ExactDecimal(value)
    case .double(let value): ExactDecimal(shortestOf: value)
    case .null, .bool, .string, .bytes, .array, .map, .attachment: nil
    }
  }

  /// The decimal for a comparison with a decimal: from a number, or from the text of one.
  var comparedDecimal: ExactDecimal? {
    if case .string(let text) = self { ExactDecimal(text) } else { exactDecimal }
  }

  /// The value with each decimal replaced by its text, also inside of arrays and objects.
  ///
  /// This is how documents store decimals, and how functions without support for decimals see them.
  package var withoutDecimals: Value {
    switch self {
    case .decimal(let value): .string(value.text)
    case .array(let elements): .array(elements.map(\.withoutDecimals))
    case .map(let members): .map(members.mapValues(\.withoutDecimals))
    case .null, .bool, .int, .double, .string, .bytes, .counter, .attachment: self
    }
  }

  /// Whether this is a decimal, or contains one.
  package var holdsDecimal: Bool {
    switch self {
    case .decimal: true
    case .array(let elements): elements.contains(where: \.holdsDecimal)
    case .map(let members): members.values.contains(where: \.holdsDecimal)
    case .null, .bool, .int, .double, .string, .bytes, .counter, .attachment: false
    }
  }

  /// An integer's value, or a counter's.
  package var wholeNumber: Int64? {
    switch self {
    case .int(let value), .counter(let value): value
    default: nil
    }
  }

  /// A number's value, rounded where a double cannot hold it.
  package var number: Double? {
    switch self {
    case .int(let value), .counter(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }
}
