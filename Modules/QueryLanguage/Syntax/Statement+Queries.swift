extension Statement {
  /// All queries of the statement, also inner ones.
  package var selects: [Select] {
    switch self {
    case .select(let select): select.allQueries
    case .compound(let compound): compound.body.selects.flatMap(\.allQueries)
    case .insert, .update, .delete, .evict, .createIndex, .dropIndex, .alterSystem, .show, .explain, .profile,
      .advise:
      []
    }
  }
}

extension CompoundSelect.Operand {
  fileprivate var selects: [Select] {
    switch self {
    case .select(let select): [select]
    case .combined(_, _, let left, let right): left.selects + right.selects
    }
  }
}

extension Select {
  /// This query and its inner queries.
  fileprivate var allQueries: [Select] { [self] + expressions.flatMap(\.queries).flatMap(\.allQueries) }
}

extension Expression {
  /// The inner queries of the expression, without the queries inside of them.
  fileprivate var queries: [Select] {
    switch self {
    case .inQuery(let subject, let query, _): subject.queries + [query]
    case .existsQuery(let query): [query]
    default: children.flatMap(\.queries)
    }
  }
}
