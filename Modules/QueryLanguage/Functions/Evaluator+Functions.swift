import CRDTCore

/// Calls: which arguments are evaluated, and what NULL and MISSING arguments mean.
extension Evaluator {
  mutating func call(
    _ function: Function, _ operands: [Expression], _ lookup: (FieldPath) -> Value?
  ) throws(QueryError) -> Value? {
    let row = function.definition
    if case .lazy(_, let evaluate) = row.form { return try evaluate(&self, operands, lookup) }
    var values: [Value?] = []
    values.reserveCapacity(operands.count)
    for operand in operands { values.append(try value(of: operand, lookup)) }
    if isStrict { try check(values, of: .call(function, operands)) }
    return try result(row.form, row.traits, values)
  }

  /// The result of a function for arguments that are evaluated.
  mutating func eager(_ function: Function, _ operands: [Value?]) throws(QueryError) -> Value? {
    let row = function.definition
    return try result(row.form, row.traits, operands)
  }

  /// Without a result for them, a MISSING argument gives MISSING, otherwise a NULL argument gives NULL.
  private mutating func result(
    _ form: FunctionForm, _ traits: FunctionTraits, _ operands: [Value?]
  ) throws(QueryError) -> Value? {
    if case .total(let evaluate) = form { return try evaluate(&self, operands) }
    var values: [Value] = []
    values.reserveCapacity(operands.count)
    for operand in operands {
      guard let operand else { return nil }
      values.append(operand)
    }
    if !traits.contains(.takesNull), values.contains(.null) { return .null }
    if !traits.contains(.takesDecimals), values.contains(where: \.holdsDecimal) {
      for index in values.indices { values[index] = values[index].withoutDecimals }
    }
    switch form {
    case .values(let evaluate): return try evaluate(&self, values)
    case .text(let evaluate):
      guard case .string(let text) = values[0] else { return nil }
      return try evaluate(&self, text, values)
    case .texts(let evaluate):
      guard case .string(let first) = values[0], case .string(let second) = values[1] else { return nil }
      return try evaluate(&self, first, second)
    case .array(let evaluate):
      guard case .array(let elements) = values[0] else { return nil }
      return try evaluate(&self, elements, values)
    case .object(let evaluate):
      guard case .map(let members) = values[0] else { return nil }
      return try evaluate(&self, members, values)
    case .date(let evaluate):
      guard let instant = Self.instant(values[0]) else { return nil }
      return try evaluate(&self, instant, values)
    case .lazy, .total: preconditionFailure("this form is evaluated before")
    }
  }
}
