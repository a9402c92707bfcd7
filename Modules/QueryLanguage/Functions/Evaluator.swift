public import CRDTCore

/// Evaluates expressions on values: the reference for faster paths, which must have the same results.
///
/// MISSING is `nil`. An operand of the wrong type gives MISSING, never an error. Two errors remain: a
/// parameter without an argument, and too much work.
package struct Evaluator {
  /// The most bytes that the functions of one row may produce in all.
  ///
  /// A peer can send any expression within the limits of a query. Without this bound, `repeat` and `concat`
  /// in a short expression could use all memory.
  package static let producedBytes = 8 << 20
  /// The bytes from which on a row that functions make is a large one.
  static let largeBytes = 64 << 10
  /// The most bytes that functions may produce for a constant, which a statement keeps until its end.
  private static let constantBytes = 16 << 10

  let arguments: [TextKey: Value]
  let scope: EvaluationScope
  var matching: MatchingBudget
  /// The variables that the comprehensions around the current node have bound, by slot.
  var variables: [Value?] = []
  /// Whether an operand of a wrong type is an error, and not MISSING.
  private(set) var isStrict: Bool
  var remainingBytes = producedBytes
  /// The function that is being evaluated, for the error that names it.
  var function: Function?

  init(arguments: [TextKey: Value] = [:], _ scope: EvaluationScope) {
    self.arguments = arguments
    self.scope = scope
    matching = MatchingBudget(scope.context)
    isStrict = scope.isStrict
  }

  /// The value of an expression for one row.
  ///
  /// - Parameters:
  ///   - expression: The expression to evaluate.
  ///   - row: The value at a path of the row; `nil` where there is none.
  ///   - arguments: The values of parameters that are not bound yet.
  /// - Returns: The value; `nil` for MISSING.
  /// - Throws: `argument` for a parameter without a value, `limit` when functions produce too many bytes.
  package static func evaluate(
    _ expression: Expression, row: (FieldPath) -> Value?, arguments: [TextKey: Value] = [:]
  ) throws(QueryError) -> Value? {
    var evaluator = Evaluator(arguments: arguments, .none)
    return try evaluator.value(of: expression, row)
  }

  /// The value of a bound expression for one row of a statement.
  package static func evaluate(
    _ expression: Expression, row: (FieldPath) -> Value?, in scope: EvaluationScope
  ) throws(QueryError) -> Value? {
    var bytes = producedBytes
    return try evaluate(expression, row: row, in: scope, within: &bytes)
  }

  /// The value of a bound expression for one row of a statement, of which it is one column.
  ///
  /// - Parameters:
  ///   - expression: The expression to evaluate.
  ///   - row: The value at a path of the row; `nil` where there is none.
  ///   - scope: What all evaluations of the expression share.
  ///   - bytes: The bytes that functions may still produce for the row; those of this column are deducted.
  /// - Returns: The value; `nil` for MISSING.
  /// - Throws: `limit` when functions produce too many bytes.
  package static func evaluate(
    _ expression: Expression, row: (FieldPath) -> Value?, in scope: EvaluationScope, within bytes: inout Int
  ) throws(QueryError) -> Value? {
    var evaluator = Evaluator(scope)
    evaluator.remainingBytes = bytes
    defer { bytes = evaluator.remainingBytes }
    return try evaluator.value(of: expression, row)
  }

  /// The value of an expression that reads no fields.
  package static func evaluate(
    constant expression: Expression, arguments: [TextKey: Value] = [:],
    context: (any EvaluationContext)? = nil
  ) throws(QueryError) -> Value? {
    var evaluator = Evaluator(arguments: arguments, EvaluationScope(expression, context))
    return try evaluator.value(of: expression) { _ in nil }
  }

  /// The value of an expression over constants, where no operand has a wrong type.
  ///
  /// - Throws: As evaluating it; also `runtime` for an operand of a wrong type, and `limit` for a value that
  ///   is too large to be kept.
  static func strictly(_ expression: Expression) throws(QueryError) -> Value? {
    var evaluator = Evaluator(EvaluationScope(expression))
    evaluator.isStrict = true
    evaluator.remainingBytes = constantBytes
    return try evaluator.value(of: expression) { _ in nil }
  }

  /// Whether a filter keeps the row: its predicate is true, not NULL or MISSING.
  package static func matches(
    _ predicate: Expression, row: (FieldPath) -> Value?, arguments: [TextKey: Value] = [:]
  ) throws(QueryError) -> Bool {
    try evaluate(predicate, row: row, arguments: arguments) == .bool(true)
  }

  /// Deducts bytes from those that functions may still produce for this row.
  ///
  /// - Parameter bytes: The bytes that the present function is about to produce.
  /// - Throws: `limit` where they are too many; what the statement throws that has to wait with a large row.
  mutating func charge(_ bytes: Int) throws(QueryError) {
    guard bytes <= remainingBytes else { throw .produced(by: function) }
    remainingBytes -= bytes
    if remainingBytes < Self.producedBytes - Self.largeBytes { try scope.context?.beginLargeRow() }
  }

  mutating func value(of expression: Expression, _ row: (FieldPath) -> Value?) throws(QueryError) -> Value? {
    switch expression {
    case .literal(let value): return value
    case .missing: return nil
    // Only the arguments of an INSERT are not bound before the evaluation.
    case .parameter(let name): return try Expression.argument(name, in: arguments, mayBeDocument: true)
    case .path(let path): return row(path)
    case .unary(let symbol, let operand):
      let value = try value(of: operand, row)
      if isStrict { try check([value], of: expression) }
      return Self.unary(symbol, value)
    case .binary(let symbol, let left, let right):
      guard let rule = Collation.ruling([left, right]), symbol.isComparison else {
        return try binary(expression, symbol, try value(of: left, row), try value(of: right, row))
      }
      return try binary(
        expression, symbol, try value(of: left, by: rule, row), try value(of: right, by: rule, row))
    case .collate(let operand, let rule): return try value(of: operand, by: rule, row)
    case .and(let terms): return try connected(terms, decidedBy: false, row)
    case .or(let terms): return try connected(terms, decidedBy: true, row)
    case .between(let subject, let low, let high, let negated):
      let rule = Collation.ruling([subject, low, high]) ?? .binary
      let subject = try value(of: subject, by: rule, row)
      let (low, high) = (try value(of: low, by: rule, row), try value(of: high, by: rule, row))
      if isStrict { try check([subject, low, high], of: expression) }
      let above = TruthValue.compare(subject, low) { $0 >= 0 }
      let below = TruthValue.compare(subject, high) { $0 <= 0 }
      let result = TruthValue.and(above, below)
      return negated ? TruthValue.not(result) : result
    case .in(let subject, let list, let negated):
      let rule = Collation.ruling([subject]) ?? .binary
      let member = try value(of: subject, by: rule, row)
      if let known = scope.lists.list(list, by: rule) {
        return known.answer(.membership, member, isNegated: negated)
      }
      let elements = try folded(try value(of: list, row), by: rule, elements: true)
      if isStrict { try check([member, elements], of: expression) }
      let result = TruthValue.isMember(member, of: elements)
      return negated ? TruthValue.not(result) : result
    case .like: return try like(expression, row)
    case .similar: return try similar(expression, row)
    case .isNull(let operand, let negated): return .bool((try value(of: operand, row) == .null) != negated)
    case .isMissing(let operand, let negated): return .bool((try value(of: operand, row) == nil) != negated)
    case .call(let function, let operands): return try call(function, operands, row)
    case .array(let elements): return try array(elements, row)
    case .object(let members): return try object(members, row)
    case .case(let clauses, let otherwise):
      for clause in clauses where try value(of: clause.condition, row) == .bool(true) {
        return try value(of: clause.result, row)
      }
      // Without ELSE the result is NULL, as in SQL.
      return try otherwise.map { (other) throws(QueryError) in try value(of: other, row) } ?? .null
    case .variable(let variable, let path): return self.variable(variable, path)
    case .quantified, .arrayFor, .objectFor: return try comprehension(expression, row)
    case .field, .inQuery, .existsQuery, .aggregate:
      throw .unsupported(expression.unsupportedFeature ?? "an expression of several documents")
    }
  }

  private static func unary(_ symbol: UnaryOperator, _ operand: Value?) -> Value? {
    switch symbol {
    case .negate: Arithmetic.negate(operand)
    case .not: TruthValue.not(operand)
    case .isNotTrue: .bool(operand != .bool(true))
    }
  }

  private mutating func binary(
    _ expression: Expression, _ symbol: BinaryOperator, _ left: Value?, _ right: Value?
  ) throws(QueryError) -> Value? {
    if isStrict { try check([left, right], of: expression) }
    switch symbol {
    case .equal: return TruthValue.compare(left, right) { $0 == 0 }
    case .notEqual: return TruthValue.compare(left, right) { $0 != 0 }
    case .less: return TruthValue.compare(left, right) { $0 < 0 }
    case .lessOrEqual: return TruthValue.compare(left, right) { $0 <= 0 }
    case .greater: return TruthValue.compare(left, right) { $0 > 0 }
    case .greaterOrEqual: return TruthValue.compare(left, right) { $0 >= 0 }
    case .same: return .bool(TruthValue.same(left, right))
    case .notSame: return .bool(!TruthValue.same(left, right))
    case .xor: return TruthValue.xor(left, right)
    case .add, .subtract, .multiply, .divide, .remainder, .shiftLeft, .shiftRight:
      return Arithmetic.apply(symbol, left, right)
    case .concatenate:
      function = .concat
      return try result(Function.concat.evaluation, [left, right])
    }
  }

  /// AND, which false decides, or OR, which true decides; the first operand that decides ends it.
  private mutating func connected(
    _ terms: [Expression], decidedBy decisive: Bool, _ row: (FieldPath) -> Value?
  ) throws(QueryError) -> Value? {
    var result = Value.bool(!decisive)
    for term in terms {
      let value = try value(of: term, row)
      if isStrict { try check([value], of: decisive ? .or(terms) : .and(terms)) }
      if value == .bool(decisive) { return value }
      if value != .bool(!decisive) { result = .null }
    }
    return result
  }

  private mutating func array(_ elements: [Expression], _ row: (FieldPath) -> Value?) throws(QueryError)
    -> Value?
  {
    var values: [Value] = []
    values.reserveCapacity(elements.count)
    for element in elements { values.append(try value(of: element, row) ?? .null) }
    return .array(values)
  }

  private mutating func object(
    _ members: [ObjectMember], _ row: (FieldPath) -> Value?
  ) throws(QueryError) -> Value? {
    var values: [TextKey: Value] = [:]
    for member in members {
      guard case .string(let key) = try value(of: member.key, row) else { continue }
      if let value = try value(of: member.value, row) { values[key] = value }
    }
    return .map(values)
  }
}

extension QueryError {
  /// The error of a row for which functions would produce too many bytes.
  ///
  /// - Parameter function: The one that would exceed the limit; `nil` for a comprehension.
  /// - Returns: The error, which names the function and the limit.
  static func produced(by function: Function?) -> QueryError {
    let maker = function.map { "the function '\($0.rawValue)'" } ?? "a comprehension"
    return QueryError(.limit, "\(maker) makes more than \(Evaluator.producedBytes) bytes for one row")
  }
}

extension Value {
  /// The value at the end of a path that starts here; `nil` when a step of the path does not exist.
  @inlinable
  package func value(at path: some Collection<PathComponent>) -> Value? {
    var current = self
    for component in path {
      switch (current, component) {
      case (.map(let members), .key(let key)):
        guard let next = members[key] else { return nil }
        current = next
      case (.array(let elements), .index(let index)):
        guard elements.indices.contains(index) else { return nil }
        current = elements[index]
      default: return nil
      }
    }
    return current
  }
}
