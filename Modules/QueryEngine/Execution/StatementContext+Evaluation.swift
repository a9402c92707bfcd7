extension StatementContext: EvaluationContext {}
