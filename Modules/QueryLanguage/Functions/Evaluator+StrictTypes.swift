import CRDTCore

/// Strict types: an operand of a wrong type is an error where the result would be MISSING.
extension Evaluator {
  /// Refuses operands of types that an operation does not support; NULL and MISSING are always allowed.
  ///
  /// - Throws: `runtime`, with the types that were expected and found, and no values.
  func check(_ operands: [Value?], of operation: Expression) throws(QueryError) {
    switch operation {
    case .call(let function, _):
      let types = function.definition.operandTypes
      guard let last = types.last else { return }
      for (index, operand) in operands.enumerated() {
        let type = index < types.count ? types[index] : last
        try check(operand, type, of: operation, "the function '\(function.rawValue)'", at: index + 1)
      }
    case .binary(let symbol, _, _):
      if let type = symbol.operandType {
        for operand in operands { try check(operand, type, of: operation, "the operator '\(symbol.text)'") }
      } else if !symbol.isTwoValued {
        try checkAlike(operands, of: operation, "the operator '\(symbol.text)'")
      }
    case .between: try checkAlike(operands, of: operation, "BETWEEN")
    case .in: try check(operands[1], .array, of: operation, "IN")
    case .unary(.negate, _): try check(operands[0], .number, of: operation, "the operator '-'")
    case .unary(.not, _): try check(operands[0], .boolean, of: operation, "NOT")
    case .and: try check(operands[0], .boolean, of: operation, "AND")
    case .or: try check(operands[0], .boolean, of: operation, "OR")
    case .like, .similar:
      let name = if case .similar = operation { "SIMILAR TO" } else { "LIKE" }
      for operand in operands { try check(operand, .string, of: operation, name) }
    case .quantified, .arrayFor, .objectFor:
      try check(operands[0], .collection, of: operation, "what goes through elements")
    default: break
    }
  }

  private func check(
    _ operand: Value?, _ type: OperandType, of operation: Expression, _ name: String, at place: Int? = nil
  ) throws(QueryError) {
    guard let operand, operand != .null, !type.accepts(operand) else { return }
    let found = Self.shown(operand)
    throw QueryError(
      .runtime,
      "\(name) expects \(type.shown)" + (place.map { " as argument \($0)" } ?? "") + ", found \(found)",
      found: found, expected: [type.shown], origin: operation)
  }

  /// Checks that all compared operands have the same type.
  private func checkAlike(
    _ operands: [Value?], of operation: Expression, _ name: String
  ) throws(QueryError) {
    guard let first = operands[0], first != .null else { return }
    for case .some(let other) in operands.dropFirst()
    where other != .null && SortOrder.Class(other) != SortOrder.Class(first)
      && !Self.areDecimals(first, other)
    {
      throw QueryError(
        .runtime, "\(name) compares values of one type, found \(Self.shown(first)) and \(Self.shown(other))",
        found: Self.shown(other), expected: [Self.shown(first)], origin: operation)
    }
  }

  /// Whether one is a decimal, and the other a number or the text of one.
  private static func areDecimals(_ left: Value, _ right: Value) -> Bool {
    (left.isDecimal || right.isDecimal) && left.comparedDecimal != nil && right.comparedDecimal != nil
  }

  private static func shown(_ value: Value) -> String {
    switch value {
    case .bool: "a boolean"
    case .decimal: "a decimal"
    case .int, .counter: "an integer"
    case .double: "a float"
    case .string: "a string"
    case .bytes: "binary"
    case .array: "an array"
    case .map: "an object"
    case .attachment: "an attachment"
    case .null: "null"
    }
  }
}

extension BinaryOperator {
  /// The type of both operands, for an operator that does not compare them.
  fileprivate var operandType: OperandType? {
    switch self {
    case .add, .subtract, .multiply, .divide, .remainder: .number
    case .shiftLeft, .shiftRight: .integer
    case .concatenate: .string
    case .xor: .boolean
    case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .same, .notSame: nil
    }
  }

  /// Whether it returns true or false for values of two types.
  fileprivate var isTwoValued: Bool { self == .same || self == .notSame }
}
