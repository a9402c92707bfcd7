package import CRDTCore

/// Comparisons and logic over true, false, NULL and MISSING.
///
/// A comparison with MISSING is MISSING; any other with NULL is NULL; one of values of two classes is
/// MISSING. AND is false where one operand is false, true where all are true, otherwise NULL. OR is true
/// where one operand is true, false where all are false, otherwise NULL. A value other than a boolean counts
/// as unknown. A filter keeps a row if its predicate is true.
package enum TruthValue {
  /// The result of a comparison operator; `nil` is MISSING.
  package static func compare(_ left: Value?, _ right: Value?, _ holds: (Int) -> Bool) -> Value? {
    guard let left, let right else { return nil }
    if left == .null || right == .null { return .null }
    if left.isDecimal != right.isDecimal {
      // In a comparison with a decimal, a number or the text of a number is converted to a decimal.
      guard let left = left.comparedDecimal, let right = right.comparedDecimal else { return nil }
      return .bool(holds(left < right ? -1 : left == right ? 0 : 1))
    }
    guard SortOrder.Class(left) == SortOrder.Class(right) else { return nil }
    return .bool(holds(SortOrder.compare(left, right)))
  }

  /// Whether two values are the same, where MISSING counts as null and null equals null.
  ///
  /// A decimal is the same as an equal number, and as the text of one.
  package static func same(_ left: Value?, _ right: Value?) -> Bool {
    let (left, right) = (left ?? .null, right ?? .null)
    if left.isDecimal != right.isDecimal {
      guard let left = left.comparedDecimal, let right = right.comparedDecimal else { return false }
      return left == right
    }
    return SortOrder.compare(left, right) == 0
  }

  package static func not(_ operand: Value?) -> Value? {
    switch operand {
    case .bool(let value): .bool(!value)
    case .null: .null
    default: nil
    }
  }

  /// AND of two operands: false wins, then an unknown operand.
  package static func and(_ left: Value?, _ right: Value?) -> Value {
    if left == .bool(false) || right == .bool(false) { return .bool(false) }
    return left == .bool(true) && right == .bool(true) ? .bool(true) : .null
  }

  package static func xor(_ left: Value?, _ right: Value?) -> Value {
    guard case .bool(let left) = left, case .bool(let right) = right else { return .null }
    return .bool(left != right)
  }

  /// Whether `list` has an element equal to `subject`: SQL's IN.
  ///
  /// - Returns: True for a match; otherwise NULL when the list contains a null, and false when it does not.
  package static func isMember(_ subject: Value?, of list: Value?) -> Value? {
    guard let subject, let list else { return nil }
    if subject == .null || list == .null { return .null }
    guard case .array(let elements) = list else { return nil }
    var unknown = false
    for element in elements {
      if element == .null { unknown = true }
      let isEqual =
        subject.isDecimal != element.isDecimal
        ? compare(subject, element) { $0 == 0 } == .bool(true) : SortOrder.compare(subject, element) == 0
      if isEqual { return .bool(true) }
    }
    return unknown ? .null : .bool(false)
  }
}
