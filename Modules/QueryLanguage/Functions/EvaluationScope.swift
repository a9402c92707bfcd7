/// The state that all evaluations of one expression share.
struct EvaluationScope: Sendable {
  /// The statement of the evaluations; without one, nothing ends them early.
  let context: StatementContext?
  /// Whether values are found and texts are matched in the simple way.
  ///
  /// Faster ways must have the same results.
  let isReference: Bool
  let patterns: PatternTable
  let lists: ConstantLists

  /// The scope of an evaluation outside of statements.
  static let none = EvaluationScope(.missing, isReference: true)

  init(_ expression: Expression, _ context: StatementContext? = nil) {
    self.init(expression, context, isReference: false)
  }

  private init(_ expression: Expression, _ context: StatementContext? = nil, isReference: Bool) {
    self.context = context
    self.isReference = isReference
    patterns = PatternTable(expression)
    lists = ConstantLists(expression)
  }
}
