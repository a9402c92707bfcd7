/// The state that all evaluations of one expression share.
package struct EvaluationScope: Sendable {
  /// The statement of the evaluations; without one, nothing ends them early.
  let context: (any EvaluationContext)?
  /// Whether an operand of a wrong type is an error, and not MISSING.
  let isStrict: Bool
  /// Whether values are found and texts are matched in the simple way.
  ///
  /// Faster ways must have the same results.
  let isReference: Bool
  let patterns: PatternTable
  let lists: ConstantLists

  /// The scope of an evaluation outside of statements.
  static let none = EvaluationScope(.missing, isReference: true)

  package init(_ expression: Expression, _ context: (any EvaluationContext)? = nil) {
    self.init(expression, context, isReference: false)
  }

  private init(_ expression: Expression, _ context: (any EvaluationContext)? = nil, isReference: Bool) {
    self.context = context
    isStrict = context?.strictTypes ?? false
    self.isReference = isReference
    patterns = PatternTable(expression)
    lists = ConstantLists(expression)
  }
}
