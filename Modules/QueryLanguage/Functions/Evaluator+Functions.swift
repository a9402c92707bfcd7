import CRDTCore

/// Calls: which arguments are evaluated, and what NULL and MISSING arguments mean.
extension Evaluator {
  mutating func call(
    _ function: Function, _ operands: [Expression], _ lookup: (FieldPath) -> Value?
  ) throws(QueryError) -> Value? {
    let row = function.evaluation
    switch row.form {
    case .lazy(_, let evaluate): return try evaluate(&self, operands, lookup)
    case .optional(let evaluate):
      let operand = try value(of: operands[0], lookup)
      if isStrict { try check([operand], of: .call(function, operands)) }
      self.function = function
      return try evaluate(&self, operand)
    case .optionals(let evaluate):
      let (left, right) = (try value(of: operands[0], lookup), try value(of: operands[1], lookup))
      if isStrict { try check([left, right], of: .call(function, operands)) }
      self.function = function
      return try evaluate(&self, left, right)
    case .values, .text, .texts, .array, .object, .date: break
    }
    guard !isStrict else {
      var values: [Value?] = []
      for operand in operands { values.append(try value(of: operand, lookup)) }
      try check(values, of: .call(function, operands))
      self.function = function
      return try result(row, values)
    }
    var values: [Value] = []
    values.reserveCapacity(operands.count)
    for operand in operands {
      if let value = try value(of: operand, lookup) { values.append(value) }
    }
    guard values.count == operands.count else { return nil }
    self.function = function
    return try result(row, present: &values)
  }

  /// The result of a function for evaluated arguments.
  ///
  /// Without a result for them, a MISSING argument gives MISSING, otherwise a NULL argument gives NULL.
  mutating func result(_ row: FunctionEvaluation, _ operands: [Value?]) throws(QueryError) -> Value? {
    if case .optional(let evaluate) = row.form { return try evaluate(&self, operands[0]) }
    if case .optionals(let evaluate) = row.form { return try evaluate(&self, operands[0], operands[1]) }
    var values: [Value] = []
    values.reserveCapacity(operands.count)
    for operand in operands {
      guard let operand else { return nil }
      values.append(operand)
    }
    return try result(row, present: &values)
  }

  /// The result of a function that has none for MISSING, for arguments of which none is MISSING.
  mutating func result(
    _ row: FunctionEvaluation, present values: inout [Value]
  ) throws(QueryError) -> Value? {
    if !row.traits.contains(.takesNull), values.contains(.null) { return .null }
    if !row.traits.contains(.takesDecimals), values.contains(where: \.holdsDecimal) {
      for index in values.indices { values[index] = values[index].withoutDecimals }
    }
    switch row.form {
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
    case .lazy, .optional, .optionals: preconditionFailure("this form is evaluated before")
    }
  }
}
