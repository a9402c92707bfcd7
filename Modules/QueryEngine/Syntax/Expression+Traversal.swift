import CRDTCore

extension Expression {
  /// The expressions directly below this one, in the order of the text.
  package var children: [Expression] {
    switch self {
    case .literal, .missing, .parameter, .path: []
    case .unary(_, let operand): [operand]
    case .binary(_, let left, let right): [left, right]
    case .and(let terms), .or(let terms), .array(let terms), .call(_, let terms): terms
    case .between(let subject, let low, let high, _): [subject, low, high]
    case .in(let subject, let list, _): [subject, list]
    case .like(let subject, let pattern, let escape, _, _): [subject, pattern] + (escape.map { [$0] } ?? [])
    case .isNull(let subject, _), .isMissing(let subject, _): [subject]
    case .object(let members): members.map(\.value)
    case .case(let clauses, let otherwise):
      clauses.flatMap { [$0.condition, $0.result] } + (otherwise.map { [$0] } ?? [])
    }
  }

  /// The number of nodes of this tree.
  package var nodeCount: Int { children.reduce(1) { $0 + $1.nodeCount } }

  /// Every path that is read, in the order of the text, repeated where the text repeats it.
  package var paths: [FieldPath] {
    if case .path(let path) = self { return [path] }
    return children.flatMap(\.paths)
  }

  /// Whether equal documents and arguments always give equal results.
  package var isDeterministic: Bool {
    if case .call(let function, _) = self, !function.isDeterministic { return false }
    return children.allSatisfy(\.isDeterministic)
  }

  /// The same tree with each node replaced by what `transform` makes of it, from the leaves up.
  package func rewritten<Failure: Error>(
    _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> Expression {
    try transform(try withChildren(transform))
  }

  private func withChildren<Failure: Error>(
    _ transform: (Expression) throws(Failure) -> Expression
  ) throws(Failure) -> Expression {
    switch self {
    case .literal, .missing, .parameter, .path: return self
    case .unary(let symbol, let operand): return .unary(symbol, try operand.rewritten(transform))
    case .binary(let symbol, let left, let right):
      return .binary(symbol, try left.rewritten(transform), try right.rewritten(transform))
    case .and(let terms): return .and(try Self.rewritten(terms, transform))
    case .or(let terms): return .or(try Self.rewritten(terms, transform))
    case .array(let terms): return .array(try Self.rewritten(terms, transform))
    case .call(let function, let terms): return .call(function, try Self.rewritten(terms, transform))
    case .between(let subject, let low, let high, let negated):
      return .between(
        try subject.rewritten(transform), low: try low.rewritten(transform),
        high: try high.rewritten(transform), negated: negated)
    case .in(let subject, let list, let negated):
      return .in(try subject.rewritten(transform), try list.rewritten(transform), negated: negated)
    case .like(let subject, let pattern, let escape, let caseInsensitive, let negated):
      var newEscape: Expression?
      if let escape { newEscape = try escape.rewritten(transform) }
      return .like(
        try subject.rewritten(transform), pattern: try pattern.rewritten(transform), escape: newEscape,
        caseInsensitive: caseInsensitive, negated: negated)
    case .isNull(let subject, let negated):
      return .isNull(try subject.rewritten(transform), negated: negated)
    case .isMissing(let subject, let negated):
      return .isMissing(try subject.rewritten(transform), negated: negated)
    case .object(let members):
      var rewritten = members
      for index in rewritten.indices {
        rewritten[index].value = try members[index].value.rewritten(transform)
      }
      return .object(rewritten)
    case .case(let clauses, let otherwise):
      var rewritten = clauses
      for index in rewritten.indices {
        rewritten[index].condition = try clauses[index].condition.rewritten(transform)
        rewritten[index].result = try clauses[index].result.rewritten(transform)
      }
      var newOtherwise: Expression?
      if let otherwise { newOtherwise = try otherwise.rewritten(transform) }
      return .case(rewritten, otherwise: newOtherwise)
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
}
