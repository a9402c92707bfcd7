import CRDTCore

extension Expression {
  /// Whether binding names and arguments can turn this expression, as written, into `bound`.
  ///
  /// - Complexity: O(*n*) in the nodes of both.
  func mayBecome(_ bound: Expression) -> Bool {
    switch (self, bound) {
    case (.path, .path(let slot)) where slot.first?.isKey == false: return true
    case (.path(let path), .path(let other)): return path == other || Array(path.dropFirst()) == other
    case (.path(let path), .field(_, let rest)): return Array(path.dropFirst()) == rest
    case (.path(let path), .variable(let variable, let rest)):
      return path.first == .key(variable.$name) && Array(path.dropFirst()) == rest
    // Binding turns aggregates into slots of groups.
    case (.aggregate, .path): return true
    case (.literal, .literal): return self == bound
    // A decimal argument becomes a call.
    case (.parameter, _): return bound.paths.isEmpty
    // Binding evaluates constants and inserts arguments.
    case (_, .literal), (_, .missing): return paths.isEmpty
    default: break
    }
    let (left, right) = (children, bound.children)
    return left.count == right.count && head == bound.head
      && zip(left, right).allSatisfy { $0.mayBecome($1) }
  }

  /// The node without its children.
  private var head: Expression {
    switch self {
    // The slots of variables are not known before names are bound.
    case .quantified(let quantifier, _, _):
      .quantified(quantifier, Self.anyIteration, satisfies: .missing)
    case .arrayFor(_, _, let condition):
      .arrayFor(.missing, Self.anyIteration, when: condition.map { _ in .missing })
    case .objectFor(_, _, _, let condition):
      .objectFor(key: .missing, value: .missing, Self.anyIteration, when: condition.map { _ in .missing })
    default: mapChildren { _ in .missing }
    }
  }

  private static let anyIteration = Iteration(element: Variable("", slot: 0), source: .missing)
}
