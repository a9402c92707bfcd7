import CRDTCore

/// A bound expression that is evaluated on values, and reads only the fields it names.
///
/// This is the general path, which materialises the fields. It is not used for expressions that
/// ``ScalarProgram`` can run in place.
struct RecordExpression: Sendable {
  private let expression: Expression
  /// The fields' paths, unless the expression contains the fields' numbers instead.
  private var paths: [FieldPath]?
  private var fields: [ResolvedField] = []
  private let scope: EvaluationScope

  /// - Parameters:
  ///   - expression: The bound expression to evaluate.
  ///   - context: The context of the statement that evaluates it.
  init(_ expression: Expression, _ context: (any EvaluationContext)? = nil) {
    scope = EvaluationScope(expression, context)
    var paths: [FieldPath] = []
    let numbered = expression.rewritten { (node) throws(Never) -> Expression in
      guard case .path(let path) = node else { return node }
      if let known = paths.firstIndex(of: path) { return .path([.index(known)]) }
      paths.append(path)
      return .path([.index(paths.count - 1)])
    }
    fields = paths.map { ResolvedField($0) }
    // Errors of strict types show the wrong part of the expression as it is in the statement.
    let isStrict = context?.strictTypes == true
    self.expression = isStrict ? expression : numbered
    self.paths = isStrict ? paths : nil
  }

  mutating func resolve(_ keys: KeyTable) {
    for index in fields.indices { fields[index].resolve(keys) }
  }

  /// The expression's value for one document; `nil` is MISSING.
  func evaluate(
    _ document: borrowing DocumentView, _ keys: KeyTable, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Value? {
    var values: [Value?] = []
    values.reserveCapacity(fields.count)
    for field in fields { values.append(try field.value(document.id, document.record, keys)) }
    return try scratch.withEvaluator(scope) { (evaluator) throws(QueryError) in
      try evaluator.value(of: expression) { path in
        if let paths { return paths.firstIndex(of: path).flatMap { values[$0] } }
        return if case .index(let field)? = path.first { values[field] } else { nil }
      }
    }
  }
}
