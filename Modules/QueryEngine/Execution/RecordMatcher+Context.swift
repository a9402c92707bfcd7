public import CRDTCore

extension RecordMatcher {
  /// Compiles a predicate of a statement.
  ///
  /// - Parameters:
  ///   - predicate: The condition on documents; `nil` accepts every document.
  ///   - arguments: The values of the predicate's parameters.
  ///   - context: The context of the statement to which the predicate belongs.
  /// - Throws: `argument` when a parameter has no value, `limit` when one is nested too deeply.
  public init(
    _ predicate: Expression?, arguments: [TextKey: Value] = [:], context: StatementContext?
  ) throws(QueryError) {
    try self.init(predicate, arguments: arguments, evaluation: context)
  }
}
