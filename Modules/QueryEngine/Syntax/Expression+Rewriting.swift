import CRDTCore

extension Expression {
  /// The same tree with each node replaced by what `transform` makes of it, from the leaves up.
  ///
  /// A query inside stays as it is.
  package func rewritten<Failure: Error>(
    _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> Expression {
    try transform(try withChildren(transform))
  }

  private func withChildren<Failure: Error>(
    _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> Expression {
    switch self {
    case .literal, .missing, .parameter, .path, .field, .variable: return self
    case .unary(let symbol, let operand): return .unary(symbol, try operand.rewritten(transform))
    case .binary(let symbol, let left, let right):
      return .binary(symbol, try left.rewritten(transform), try right.rewritten(transform))
    case .and(let terms): return .and(try Self.rewritten(terms, transform))
    case .or(let terms): return .or(try Self.rewritten(terms, transform))
    case .array(let terms): return .array(try Self.rewritten(terms, transform))
    case .call(let function, let terms): return .call(function, try Self.rewritten(terms, transform))
    case .aggregate(let aggregate, let distinct, let operand):
      return .aggregate(aggregate, distinct: distinct, try Self.rewritten(operand, transform))
    case .collate(let operand, let collation): return .collate(try operand.rewritten(transform), collation)
    case .between, .in, .inQuery, .like, .similar, .isNull, .isMissing: return try testRewritten(transform)
    case .object(let members):
      var rewritten = members
      for index in rewritten.indices {
        rewritten[index].key = try members[index].key.rewritten(transform)
        rewritten[index].value = try members[index].value.rewritten(transform)
      }
      return .object(rewritten)
    case .case(let clauses, let otherwise):
      var rewritten = clauses
      for index in rewritten.indices {
        rewritten[index].condition = try clauses[index].condition.rewritten(transform)
        rewritten[index].result = try clauses[index].result.rewritten(transform)
      }
      return .case(rewritten, otherwise: try Self.rewritten(otherwise, transform))
    case .quantified, .arrayFor, .objectFor: return try comprehensionRewritten(transform)
    }
  }

  private func testRewritten<Failure: Error>(
    _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> Expression {
    switch self {
    case .between(let subject, let low, let high, let negated):
      return .between(
        try subject.rewritten(transform), low: try low.rewritten(transform),
        high: try high.rewritten(transform), negated: negated)
    case .in(let subject, let list, let negated):
      return .in(try subject.rewritten(transform), try list.rewritten(transform), negated: negated)
    case .inQuery(let subject, let query, let negated):
      return .inQuery(try subject.rewritten(transform), query, negated: negated)
    case .like(let subject, let pattern, let escape, let caseInsensitive, let negated):
      return .like(
        try subject.rewritten(transform), pattern: try pattern.rewritten(transform),
        escape: try Self.rewritten(escape, transform), caseInsensitive: caseInsensitive, negated: negated)
    case .similar(let subject, let pattern, let escape, let negated):
      return .similar(
        try subject.rewritten(transform), pattern: try pattern.rewritten(transform),
        escape: try Self.rewritten(escape, transform), negated: negated)
    case .isNull(let subject, let negated):
      return .isNull(try subject.rewritten(transform), negated: negated)
    case .isMissing(let subject, let negated):
      return .isMissing(try subject.rewritten(transform), negated: negated)
    default: return self
    }
  }

  private func comprehensionRewritten<Failure: Error>(
    _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> Expression {
    switch self {
    case .quantified(let quantifier, let iteration, let condition):
      return .quantified(
        quantifier, try iteration.rewritten(transform), satisfies: try condition.rewritten(transform))
    case .arrayFor(let element, let iteration, let condition):
      return .arrayFor(
        try element.rewritten(transform), try iteration.rewritten(transform),
        when: try Self.rewritten(condition, transform))
    case .objectFor(let key, let value, let iteration, let condition):
      return .objectFor(
        key: try key.rewritten(transform), value: try value.rewritten(transform),
        try iteration.rewritten(transform), when: try Self.rewritten(condition, transform))
    default: return self
    }
  }

  private static func rewritten<Failure: Error>(
    _ terms: [Expression], _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> [Expression] {
    var result: [Expression] = []
    result.reserveCapacity(terms.count)
    for term in terms { result.append(try term.rewritten(transform)) }
    return result
  }

  private static func rewritten<Failure: Error>(
    _ term: Expression?, _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> Expression? {
    guard let term else { return nil }
    return try term.rewritten(transform)
  }
}

extension Iteration {
  fileprivate func rewritten<Failure: Error>(
    _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> Iteration {
    var copy = self
    copy.source = try source.rewritten(transform)
    return copy
  }
}
