package import CRDTCore

extension Expression {
  /// The children of this node, in the order of the text.
  ///
  /// An inner query is not part of the tree, since it reads other documents.
  package var children: [Expression] {
    switch self {
    case .literal, .missing, .parameter, .path, .field, .variable, .existsQuery: []
    case .unary(_, let operand), .collate(let operand, _), .inQuery(let operand, _, _): [operand]
    case .binary(_, let left, let right): [left, right]
    case .and(let terms), .or(let terms), .array(let terms), .call(_, let terms): terms
    case .between(let subject, let low, let high, _): [subject, low, high]
    case .in(let subject, let list, _): [subject, list]
    case .like(let subject, let pattern, let escape, _, _), .similar(let subject, let pattern, let escape, _):
      [subject, pattern] + Self.some(escape)
    case .isNull(let subject, _), .isMissing(let subject, _): [subject]
    case .aggregate(_, _, let operand): Self.some(operand)
    case .object(let members): members.flatMap { $0.key.isName ? [$0.value] : [$0.key, $0.value] }
    case .case(let clauses, let otherwise):
      clauses.flatMap { [$0.condition, $0.result] } + Self.some(otherwise)
    case .quantified(_, let iteration, let condition): [iteration.source, condition]
    case .arrayFor(let element, let iteration, let condition):
      [element, iteration.source] + Self.some(condition)
    case .objectFor(let key, let value, let iteration, let condition):
      [key, value, iteration.source] + Self.some(condition)
    }
  }

  private static func some(_ expression: Expression?) -> [Expression] { expression.map { [$0] } ?? [] }

  /// Whether this is the fixed key of an object's member.
  private var isName: Bool {
    if case .literal(.string) = self { true } else { false }
  }

  /// The inner query of this node, if it has one.
  private var query: Select? {
    switch self {
    case .inQuery(_, let query, _), .existsQuery(let query): query
    default: nil
    }
  }

  /// The number of nodes of this tree, and of its inner queries.
  package var nodeCount: Int {
    children.reduce(1 + (query?.expressions.reduce(0) { $0 + $1.nodeCount } ?? 0)) { $0 + $1.nodeCount }
  }

  /// Every path that is read, in the order of the text, repeated where the text repeats it.
  package var paths: [FieldPath] {
    if case .path(let path) = self { return [path] }
    return children.flatMap(\.paths)
  }

  /// The names of all parameters, also in inner queries.
  package var parameters: Set<TextKey> {
    if case .parameter(let name) = self { return [name] }
    return (children + (query?.expressions ?? [])).reduce(into: []) { $0.formUnion($1.parameters) }
  }

  /// Whether equal documents and arguments always give equal results.
  package var isDeterministic: Bool {
    switch self {
    case .call(let function, _) where !function.isDeterministic: false
    // The contents of other documents may change while this one does not.
    case .inQuery, .existsQuery: false
    default: children.allSatisfy(\.isDeterministic)
    }
  }
}

extension Expression {
  /// Whether it reads the whole document of the only source.
  package var readsDocument: Bool {
    if case .path(let path) = self { return path.isEmpty }
    return children.contains(where: \.readsDocument)
  }
}

extension Select {
  /// Every expression of the query, in the order of the text.
  package var expressions: [Expression] {
    projection.expressions + joins.map(\.condition) + (predicate.map { [$0] } ?? []) + groups
      + (having.map { [$0] } ?? []) + order.map(\.expression) + [limit, offset].compactMap { $0 }
  }
}

extension Update {
  /// Every expression of the statement on its documents, in the order of the text.
  package var expressions: [Expression] {
    let amounts = applications.map { application in
      switch application.operation {
      case .increment(let amount): amount
      case .restart(let value): value
      }
    }
    return amounts + assignments.map(\.value) + (predicate.map { [$0] } ?? []) + order.map(\.expression)
      + (returning?.expressions ?? [])
  }
}

extension Removal {
  /// Every expression of the statement on its documents, in the order of the text.
  package var expressions: [Expression] {
    (predicate.map { [$0] } ?? []) + order.map(\.expression) + (returning?.expressions ?? [])
  }
}

extension Select.Projection {
  fileprivate var expressions: [Expression] {
    switch self {
    case .all, .countAll: []
    case .columns(let columns): columns.map(\.expression)
    case .elements(let elements):
      elements.compactMap { element in
        switch element {
        case .star, .without: nil
        case .column(let column): column.expression
        }
      }
    }
  }
}
