import CRDTCore

/// ANY, EVERY, ARRAY … FOR and OBJECT … FOR: over an array's elements or an object's members.
extension Evaluator {
  /// The cost of one element, in steps of an evaluation: comprehensions may be nested.
  private static let stepsPerElement = 16

  mutating func comprehension(
    _ expression: Expression, _ row: (FieldPath) -> Value?
  ) throws(QueryError) -> Value? {
    switch expression {
    case .quantified(let quantifier, let iteration, let condition):
      // Strict types examine each element.
      if !isStrict, let known = scope.lists.list(iteration.source), let test = ListTest(expression) {
        return known.answer(test.kind, try value(of: test.subject, row), isNegated: false)
      }
      let decisive = quantifier == .any
      var isEmpty = true
      var isDecided = false
      let source = try forEach(expression, iteration, row) {
        (evaluator: inout Evaluator) throws(QueryError) in
        isEmpty = false
        isDecided = (try evaluator.value(of: condition, row) == .bool(true)) == decisive
        return !isDecided
      }
      guard source == .bool(true) else { return source == .null ? .null : nil }
      if isEmpty { return .bool(quantifier == .every) }
      return .bool(isDecided == decisive)
    case .arrayFor(let element, let iteration, let condition):
      var elements: [Value] = []
      let source = try forEach(expression, iteration, row) {
        (evaluator: inout Evaluator) throws(QueryError) in
        guard try evaluator.accepts(condition, row), let value = try evaluator.value(of: element, row) else {
          return true
        }
        try evaluator.charge(element: value)
        elements.append(value)
        return true
      }
      return source == .bool(true) ? .array(elements) : Self.without(source)
    case .objectFor(let key, let value, let iteration, let condition):
      var members: [TextKey: Value] = [:]
      let source = try forEach(expression, iteration, row) {
        (evaluator: inout Evaluator) throws(QueryError) in
        guard try evaluator.accepts(condition, row),
          case .string(let key) = try evaluator.value(of: key, row),
          let value = try evaluator.value(of: value, row)
        else { return true }
        try evaluator.charge(element: value, key: key)
        members[key] = value
        return true
      }
      return source == .bool(true) ? .map(members) : Self.without(source)
    default: return nil
    }
  }

  /// Deducts what an element of the result takes, as if it were a copy: it may stand there many times.
  private mutating func charge(element: Value, key: String = "") throws(QueryError) {
    function = nil
    try charge(element.memoryBytes - Self.elementSavings + key.utf8.count)
  }

  /// What the memory of a value is less, where it stands in an array or an object.
  private static let elementSavings = 16

  /// The result for a source that has no elements: NULL, unless the source is MISSING.
  private static func without(_ source: Value?) -> Value? { source == nil ? nil : .null }

  private mutating func accepts(
    _ condition: Expression?, _ row: (FieldPath) -> Value?
  ) throws(QueryError) -> Bool {
    guard let condition else { return true }
    return try value(of: condition, row) == .bool(true)
  }

  /// Binds the variables to each element in turn and calls `body`, until it returns `false`.
  ///
  /// - Returns: True when the source is an array or an object, NULL when it is null, false for other values.
  private mutating func forEach(
    _ expression: Expression, _ iteration: Iteration, _ row: (FieldPath) -> Value?,
    _ body: (inout Evaluator) throws(QueryError) -> Bool
  ) throws(QueryError) -> Value? {
    guard let source = try value(of: iteration.source, row) else { return nil }
    if isStrict { try check([source], of: expression) }
    switch source {
    case .null: return .null
    case .array, .map: break
    case .bool, .int, .double, .string, .bytes, .counter, .attachment, .decimal: return .bool(false)
    }
    let slots = [iteration.element.slot, iteration.position?.slot ?? 0].max() ?? 0
    while variables.count <= slots { variables.append(nil) }
    _ = try visit(source, iteration, body)
    return .bool(true)
  }

  private mutating func visit(
    _ source: Value, _ iteration: Iteration, _ body: (inout Evaluator) throws(QueryError) -> Bool
  ) throws(QueryError) -> Bool {
    switch source {
    case .array(let elements):
      for (index, element) in elements.enumerated() {
        guard try visit(element, at: .int(Int64(index)), iteration, body) else { return false }
      }
    case .map(let members):
      for (key, value) in SortOrder.sorted(members) {
        guard try visit(value, at: .string(key.text), iteration, body) else { return false }
      }
    case .null, .bool, .int, .double, .string, .bytes, .counter, .attachment, .decimal: break
    }
    return true
  }

  private mutating func visit(
    _ element: Value, at position: Value, _ iteration: Iteration,
    _ body: (inout Evaluator) throws(QueryError) -> Bool
  ) throws(QueryError) -> Bool {
    try matching.spend(Self.stepsPerElement)
    variables[iteration.element.slot] = element
    if let slot = iteration.position?.slot { variables[slot] = position }
    guard try body(&self) else { return false }
    return iteration.isDeep ? try visit(element, iteration, body) : true
  }

  func variable(_ variable: Variable, _ path: FieldPath) -> Value? {
    guard variables.indices.contains(variable.slot) else { return nil }
    return path.isEmpty ? variables[variable.slot] : variables[variable.slot]?.value(at: path)
  }
}
