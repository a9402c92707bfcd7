import CRDTCore

extension FunctionDefinition {
  /// The functions that accept NULL, MISSING and values of any type.
  static let conditions: [FunctionDefinition] = [
    .init(
      .coalesce, aliases: ["ifmissingornull"], [.any], arity: 1...Int.max,
      on: .lazy(.firstKnown) { (evaluator, operands, row) throws(QueryError) in
        try evaluator.first(of: operands, row) { $0 != nil && $0 != .null }
      }),
    .init(
      .ifMissing, [.any], arity: 1...Int.max,
      on: .lazy(.firstPresent) { (evaluator, operands, row) throws(QueryError) in
        try evaluator.first(of: operands, row) { $0 != nil }
      }),
    .init(
      .ifNull, [.any], arity: 1...Int.max,
      on: .lazy(.firstNotNull) { (evaluator, operands, row) throws(QueryError) in
        try evaluator.first(of: operands, row) { $0 != .null }
      }),
    .init(
      .nvl, [.any], arity: 2...3,
      on: .lazy(.nvl) { (evaluator, operands, row) throws(QueryError) in try evaluator.nvl(operands, row) }),
    .init(
      .decode, [.any], arity: 3...Int.max,
      on: .lazy(.decode) { (evaluator, operands, row) throws(QueryError) in
        try evaluator.decode(operands, row)
      }),
    .init(
      .isMissing, [.any], inPlace: .isMissing,
      on: .optional { _, operand in .bool(operand == nil) }),
    .init(
      .isNull, [.any], inPlace: .isNull, on: .optional { _, operand in .bool(operand == .null) }
    ),
    .init(
      .isMissingOrNull, [.any], inPlace: .call(.isMissingOrNull),
      on: .optional { _, operand in .bool(operand == nil || operand == .null) }),
    .init(
      .nullIf, [.any, .any], inPlace: .call(.nullIf),
      on: .optionals { _, left, right in Evaluator.areEqual(left, right) ? .null : left }),
    .init(
      .missingIf, [.any, .any], inPlace: .call(.missingIf),
      on: .optionals { _, left, right in Evaluator.areEqual(left, right) ? nil : left }),
  ]
}

extension Evaluator {
  /// `nvl(a, b)` and `nvl(a, known, unknown)`.
  fileprivate mutating func nvl(
    _ operands: [Expression], _ row: (FieldPath) -> Value?
  ) throws(QueryError) -> Value? {
    let tested = try value(of: operands[0], row)
    let isKnown = tested != nil && tested != .null
    if operands.count == 2 { return isKnown ? tested : try value(of: operands[1], row) }
    return try value(of: operands[isKnown ? 1 : 2], row)
  }

  fileprivate static func areEqual(_ left: Value?, _ right: Value?) -> Bool {
    TruthValue.compare(left, right) { $0 == 0 } == .bool(true)
  }

  fileprivate mutating func first(
    of operands: [Expression], _ row: (FieldPath) -> Value?, where fits: (Value?) -> Bool
  ) throws(QueryError) -> Value? {
    var last: Value?
    for operand in operands {
      last = try value(of: operand, row)
      if fits(last) { return last }
    }
    // No argument fits: the last one decides whether the result is NULL or MISSING.
    return last
  }

  /// `decode(e, s1, r1, s2, r2, …, default)`; null matches null, and MISSING matches nothing.
  fileprivate mutating func decode(
    _ operands: [Expression], _ row: (FieldPath) -> Value?
  ) throws(QueryError) -> Value? {
    guard let subject = try value(of: operands[0], row) else { return nil }
    var index = 1
    while index + 1 < operands.count {
      let search = try value(of: operands[index], row)
      if let search, SortOrder.compare(subject, search) == 0 {
        return try value(of: operands[index + 1], row)
      }
      index += 2
    }
    return index < operands.count ? try value(of: operands[index], row) : .null
  }
}
