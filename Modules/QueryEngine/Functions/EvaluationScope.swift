/// What all evaluations of one expression share.
struct EvaluationScope: Sendable {
  /// The statement that they belong to; without one nothing ends them early.
  let context: StatementContext?
  /// Whether values are found and texts are matched in the plain way, which faster ones must agree with.
  let isReference: Bool
  let patterns: PatternTable
  let lists: ConstantLists

  /// For an evaluation by itself.
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
