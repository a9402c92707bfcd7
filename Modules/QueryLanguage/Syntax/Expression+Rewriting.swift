import CRDTCore

extension Expression {
  /// The same tree with each node replaced by the result of `transform`, from the leaves up.
  ///
  /// Inner queries are unchanged.
  package func rewritten<Failure: Error>(
    _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> Expression {
    try transform(
      try mapChildren { (child) throws(Failure) -> Expression in try child.rewritten(transform) })
  }

  /// The same node with each of its children replaced by the result of `transform`.
  package func mapChildren<Failure: Error>(
    _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> Expression {
    switch self {
    case .literal, .missing, .parameter, .path, .field, .variable, .existsQuery: return self
    case .unary(let symbol, let operand): return .unary(symbol, try transform(operand))
    case .binary(let symbol, let left, let right):
      return .binary(symbol, try transform(left), try transform(right))
    case .and(let terms): return .and(try Self.mapped(terms, transform))
    case .or(let terms): return .or(try Self.mapped(terms, transform))
    case .array(let terms): return .array(try Self.mapped(terms, transform))
    case .call(let function, let terms): return .call(function, try Self.mapped(terms, transform))
    case .aggregate(let aggregate, let distinct, let operand):
      return .aggregate(aggregate, distinct: distinct, try Self.mapped(operand, transform))
    case .collate(let operand, let collation): return .collate(try transform(operand), collation)
    case .between, .in, .inQuery, .like, .similar, .isNull, .isMissing: return try mapTest(transform)
    case .object(let members):
      var rewritten = members
      for index in rewritten.indices {
        rewritten[index].key = try transform(members[index].key)
        rewritten[index].value = try transform(members[index].value)
      }
      return .object(rewritten)
    case .case(let clauses, let otherwise):
      var rewritten = clauses
      for index in rewritten.indices {
        rewritten[index].condition = try transform(clauses[index].condition)
        rewritten[index].result = try transform(clauses[index].result)
      }
      return .case(rewritten, otherwise: try Self.mapped(otherwise, transform))
    case .quantified, .arrayFor, .objectFor: return try mapComprehension(transform)
    }
  }

  private func mapTest<Failure: Error>(
    _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> Expression {
    switch self {
    case .between(let subject, let low, let high, let negated):
      return .between(
        try transform(subject), low: try transform(low),
        high: try transform(high), negated: negated)
    case .in(let subject, let list, let negated):
      return .in(try transform(subject), try transform(list), negated: negated)
    case .inQuery(let subject, let query, let negated):
      return .inQuery(try transform(subject), query, negated: negated)
    case .like(let subject, let pattern, let escape, let caseInsensitive, let negated):
      return .like(
        try transform(subject), pattern: try transform(pattern),
        escape: try Self.mapped(escape, transform), caseInsensitive: caseInsensitive, negated: negated)
    case .similar(let subject, let pattern, let escape, let negated):
      return .similar(
        try transform(subject), pattern: try transform(pattern),
        escape: try Self.mapped(escape, transform), negated: negated)
    case .isNull(let subject, let negated):
      return .isNull(try transform(subject), negated: negated)
    case .isMissing(let subject, let negated):
      return .isMissing(try transform(subject), negated: negated)
    default: return self
    }
  }

  private func mapComprehension<Failure: Error>(
    _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> Expression {
    switch self {
    case .quantified(let quantifier, let iteration, let condition):
      return .quantified(
        quantifier, try iteration.mapSource(transform), satisfies: try transform(condition))
    case .arrayFor(let element, let iteration, let condition):
      return .arrayFor(
        try transform(element), try iteration.mapSource(transform),
        when: try Self.mapped(condition, transform))
    case .objectFor(let key, let value, let iteration, let condition):
      return .objectFor(
        key: try transform(key), value: try transform(value),
        try iteration.mapSource(transform), when: try Self.mapped(condition, transform))
    default: return self
    }
  }

  private static func mapped<Failure: Error>(
    _ terms: [Expression], _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> [Expression] {
    var result: [Expression] = []
    result.reserveCapacity(terms.count)
    for term in terms { result.append(try transform(term)) }
    return result
  }

  private static func mapped<Failure: Error>(
    _ term: Expression?, _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> Expression? {
    guard let term else { return nil }
    return try transform(term)
  }
}

extension Iteration {
  fileprivate func mapSource<Failure: Error>(
    _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> Iteration {
    var copy = self
    copy.source = try transform(source)
    return copy
  }
}
