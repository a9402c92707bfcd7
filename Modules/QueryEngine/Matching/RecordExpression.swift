import CRDTCore

/// A bound expression that is evaluated against records, reading only the fields it names.
///
/// The general path: it materialises what it reads. Predicates that can stay in the bytes do not come here.
struct RecordExpression: Sendable {
  let expression: Expression
  private let paths: [FieldPath]
  private var fields: [ResolvedField]
  private let scope: EvaluationScope

  /// - Parameters:
  ///   - expression: What is evaluated, bound.
  ///   - context: The statement that evaluates it.
  init(_ expression: Expression, _ context: StatementContext? = nil) {
    self.expression = expression
    scope = EvaluationScope(expression, context)
    var paths: [FieldPath] = []
    for path in expression.paths where !paths.contains(path) { paths.append(path) }
    self.paths = paths
    fields = paths.map { ResolvedField($0) }
  }

  /// True when every document gives the same value.
  var isConstant: Bool { paths.isEmpty }

  mutating func resolve(_ keys: KeyTable) {
    for index in fields.indices { fields[index].resolve(keys) }
  }

  /// The expression's value for one document; `nil` is MISSING.
  func evaluate(
    _ id: RawSpan, _ record: borrowing RecordView, _ keys: KeyTable
  ) throws(QueryError) -> Value? {
    if case .path = expression { return try fields[0].value(id, record, keys) }
    var values: [Value?] = []
    values.reserveCapacity(fields.count)
    for field in fields { values.append(try field.value(id, record, keys)) }
    do {
      return try evaluate { path in paths.firstIndex(of: path).flatMap { values[$0] } }
    } catch {
      throw error.about(id)
    }
  }

  /// The expression's value for a row of values.
  func evaluate(_ fields: [String: Value]) throws(QueryError) -> Value? {
    try evaluate { path in Value.map(fields).value(at: path) }
  }

  private func evaluate(_ row: (FieldPath) -> Value?) throws(QueryError) -> Value? {
    try Evaluator.evaluate(expression, row: row, in: scope)
  }
}
