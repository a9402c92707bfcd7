/// What all evaluations of one expression share.
struct EvaluationScope: Sendable {
  /// The statement that they belong to; without one nothing ends them early.
  let context: StatementContext?
  let patterns: PatternTable

  /// For an evaluation by itself.
  static let none = EvaluationScope(.missing)

  init(_ expression: Expression, _ context: StatementContext? = nil) {
    self.context = context
    patterns = PatternTable(expression)
  }
}
