import CRDTCore

/// COLLATE: a text that is compared without regard to case is evaluated in lower case.
///
/// So a value with a collation is the value to compare, sort and group by. Where a row only shows it, the
/// binder removes the collation.
extension Evaluator {
  /// The value of an operand for a comparison by this rule, whatever collation the operand has.
  mutating func value(
    of operand: Expression, by rule: Collation, _ row: (FieldPath) -> Value?
  ) throws(QueryError) -> Value? {
    var operand = operand
    while case .collate(let inner, _) = operand { operand = inner }
    return try folded(try value(of: operand, row), by: rule)
  }

  /// A value for a comparison by this rule: texts, also those directly in a list, are in lower case.
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
  /// The rule of a comparison: the collation of either operand.
  package static func ruling(_ operands: [Expression]) -> Collation? {
    var ruling: Collation?
    for operand in operands {
      if case .collate(_, let rule) = operand, ruling != .caseInsensitive { ruling = rule }
    }
    return ruling
  }

  /// The text in lower case, scalar by scalar, as ILIKE compares texts.
  static func folded(_ text: String) -> String {
    String(decoding: text.withUTF8Bytes { CaseFolding.folded($0) }, as: UTF8.self)
  }
}
