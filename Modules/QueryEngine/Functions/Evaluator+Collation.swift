import CRDTCore

/// COLLATE: a text that is compared as if its letters were small is taken with small letters.
///
/// So a value with a collation is what it is compared, sorted and grouped by; where a row merely shows it, the
/// binder takes the collation off.
extension Evaluator {
  /// The value of an operand, whatever collation it has itself, as a comparison by this rule sees it.
  mutating func value(
    of operand: Expression, by rule: Collation, _ row: (FieldPath) -> Value?
  ) throws(QueryError) -> Value? {
    var operand = operand
    while case .collate(let inner, _) = operand { operand = inner }
    return try folded(try value(of: operand, row), by: rule)
  }

  /// A value as comparisons by this rule see it: texts, and those directly in a list, have small letters.
  mutating func folded(
    _ value: Value?, by rule: Collation, elements: Bool = false
  ) throws(QueryError) -> Value? {
    guard rule == .caseInsensitive else { return value }
    switch value {
    case .string(let text):
      try charge(text.utf8.count)
      return .string(Collation.folded(text))
    case .array(let list) where elements:
      var folded: [Value] = []
      folded.reserveCapacity(list.count)
      for element in list { folded.append(try self.folded(element, by: rule) ?? .null) }
      return .array(folded)
    default: return value
    }
  }
}

extension Collation {
  /// The rule of a comparison: that which one of the operands names, whichever it is.
  static func ruling(_ operands: [Expression]) -> Collation? {
    var ruling: Collation?
    for operand in operands {
      if case .collate(_, let rule) = operand, ruling != .caseInsensitive { ruling = rule }
    }
    return ruling
  }

  /// The text with its letters small, scalar by scalar as ILIKE compares them.
  static func folded(_ text: String) -> String {
    String(decoding: text.withUTF8Bytes { CaseFolding.folded($0) }, as: UTF8.self)
  }
}
