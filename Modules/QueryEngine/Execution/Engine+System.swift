import CRDTCore
public import DocStore

extension Engine {
  /// ALTER SYSTEM, SHOW and EXPLAIN, which touch no document.
  func execute(
    withoutDocuments statement: Statement, _ arguments: [String: Value]
  ) throws -> QueryResult {
    switch statement {
    case .alterSystem(let change):
      try execute(change, arguments)
      return QueryResult()
    case .show(let show): return QueryResult(rows: [Row(try values(show))])
    case .explain(let explained):
      return QueryResult(rows: [Row(["plan": try explained.explanation(arguments)])])
    case .select, .insert, .update, .delete, .evict:
      preconditionFailure("a statement on documents needs a transaction")
    }
  }

  private func execute(_ change: AlterSystem, _ arguments: [String: Value]) throws {
    switch change {
    case .set(let name, let expression):
      guard let value = try Evaluator.evaluate(constant: expression, arguments: arguments) else {
        throw QueryError(.argument, "the parameter '\(name.lowercased())' cannot be set to MISSING")
      }
      try parameters.set(name, to: value)
    case .reset(let name): try parameters.reset(name)
    case .resetAll: try parameters.resetAll()
    }
  }

  private func values(_ show: Show) throws(QueryError) -> [String: Value] {
    switch show {
    case .parameter(let name): return [name.lowercased(): try parameters.value(of: name)]
    case .all(like: nil, _): return parameters.values
    case .all(like: .some(let pattern), let caseInsensitive):
      guard let compiled = LikePattern(pattern, caseInsensitive: caseInsensitive) else {
        throw QueryError(.limit, "the pattern of SHOW ALL is too long")
      }
      return parameters.values.filter { compiled.matches($0.key) }
    }
  }
}

extension SystemParameters {
  /// Keeps a store's size limits at the values of their parameters, from now on.
  public func govern(_ store: Store) throws(QueryError) {
    try observe(BuiltInParameter.documentSizeSoftLimit.rawValue) { [weak store] in
      if case .int(let bytes) = $0 { store?.softDocumentBytes = Int(bytes) }
    }
    try observe(BuiltInParameter.documentSizeHardLimit.rawValue) { [weak store] in
      if case .int(let bytes) = $0 { store?.hardDocumentBytes = Int(bytes) }
    }
  }
}
