import CRDTCore

/// Resolves the names of a parsed statement to fields of sources, variables, or columns.
///
/// The parser reads every name as a path. The binder removes the source's name from its front, decides to
/// which of several sources it belongs, and finds the comprehension that binds it.
struct Binder {
  /// What a name refers to if no comprehension binds it.
  enum Scope {
    /// Fields of the documents of these sources.
    case sources([Source])
    /// Nothing: this part of the statement, given by its name, reads no fields.
    case nothing(String)
    /// Fields of rows that are already made, or of documents whose source has no name.
    case rows
  }

  let scope: Scope
  let sourceMap: SourceMap

  init(_ scope: Scope, _ sourceMap: SourceMap) {
    self.scope = scope
    self.sourceMap = sourceMap
  }

  /// Binds an expression that is evaluated on one row and has no aggregates.
  ///
  /// - Parameters:
  ///   - expression: The expression as it was parsed.
  ///   - clause: The clause to which it belongs, for errors.
  ///   - visible: The number of sources that it may read, from the first.
  /// - Returns: The expression with its names bound.
  /// - Throws: `syntax` for a name without a meaning, and for an aggregate.
  func bind(
    _ expression: Expression, in clause: String, seeing visible: Int = .max
  ) throws(QueryError) -> Expression {
    if let aggregate = expression.firstAggregate {
      throw sourceMap.error(
        .syntax, "an aggregate cannot stand in \(clause)", about: .aggregate(aggregate),
        found: Printer().text(of: aggregate))
    }
    return try resolve(expression, [], visible)
  }

  func bind(_ keys: [SortKey]) throws(QueryError) -> [SortKey] {
    var bound: [SortKey] = []
    for key in keys {
      bound.append(
        SortKey(expression: try bind(key.expression, in: "ORDER BY"), descending: key.descending))
    }
    return bound
  }

  func bind(_ expressions: [Expression], in clause: String) throws(QueryError) -> [Expression] {
    var bound: [Expression] = []
    for expression in expressions { bound.append(try bind(expression, in: clause)) }
    return bound
  }

  func bindIfAny(_ expression: Expression?, in clause: String) throws(QueryError) -> Expression? {
    guard let expression else { return nil }
    return try bind(expression, in: clause)
  }

  /// Binds an expression that may have aggregates.
  func bindWithAggregates(_ expression: Expression) throws(QueryError) -> Expression {
    try resolve(expression, [], .max)
  }

  private func resolve(
    _ expression: Expression, _ variables: [Variable], _ visible: Int
  ) throws(QueryError) -> Expression {
    switch expression {
    case .path(let path):
      if case .key(let name) = path[0], let variable = variables.last(where: { $0.$name == name }) {
        return .variable(variable, Array(path.dropFirst()))
      }
      return try reference(path, visible)
    case .quantified(let quantifier, let iteration, let condition):
      let (iteration, inner) = try bind(iteration, variables, visible)
      return .quantified(quantifier, iteration, satisfies: try resolve(condition, inner, visible))
    case .arrayFor(let element, let iteration, let condition):
      let (iteration, inner) = try bind(iteration, variables, visible)
      return .arrayFor(
        try resolve(element, inner, visible), iteration, when: try resolveIfAny(condition, inner, visible))
    case .objectFor(let key, let value, let iteration, let condition):
      let (iteration, inner) = try bind(iteration, variables, visible)
      return .objectFor(
        key: try resolve(key, inner, visible), value: try resolve(value, inner, visible), iteration,
        when: try resolveIfAny(condition, inner, visible))
    case .like(.collate(let subject, let rule), let pattern, let escape, let caseInsensitive, let negated):
      let folds = caseInsensitive || rule == .caseInsensitive
      return try resolve(
        .like(subject, pattern: pattern, escape: escape, caseInsensitive: folds, negated: negated), variables,
        visible)
    default:
      return try expression.mapChildren { (child) throws(QueryError) -> Expression in
        try resolve(child, variables, visible)
      }
    }
  }

  private func resolveIfAny(
    _ expression: Expression?, _ variables: [Variable], _ visible: Int
  ) throws(QueryError) -> Expression? {
    guard let expression else { return nil }
    return try resolve(expression, variables, visible)
  }

  /// Binds an iteration: its variables get their slots, and its body sees all of them.
  private func bind(
    _ iteration: Iteration, _ variables: [Variable], _ visible: Int
  ) throws(QueryError) -> (Iteration, [Variable]) {
    var bound = iteration
    var inner = variables
    bound.source = try resolve(iteration.source, variables, visible)
    if let position = iteration.position {
      let variable = Variable(position.name, slot: inner.count)
      bound.position = variable
      inner.append(variable)
    }
    bound.element.slot = inner.count
    inner.append(bound.element)
    return (bound, inner)
  }

  /// The meaning of a path that does not begin with a variable.
  func reference(_ path: FieldPath, _ visible: Int = .max) throws(QueryError) -> Expression {
    switch scope {
    case .rows: return .path(path)
    case .nothing(let context):
      throw sourceMap.error(
        .syntax, "\(context) cannot read fields", about: .path(path), found: Printer.text(of: path))
    case .sources(let sources):
      if sources.count == 1 {
        let name = sources[0].name
        let isDocument = path == [.key(TextKey(name))] && path != [.key("_id")]
        return .path(isDocument ? [] : path.unqualified(by: name))
      }
      if path == [.key("_id")] { return Self.ids(of: sources.prefix(visible)) }
      guard case .key(let name) = path[0],
        let source = sources.firstIndex(where: { $0.name.isSame(as: name.text) }),
        path.count == 1 || path[1].isKey
      else {
        throw sourceMap.error(
          .syntax, "Ambiguous reference to field: \(Printer.text(of: path))", about: .path(path),
          found: Printer.text(of: path))
      }
      guard source < visible else {
        throw sourceMap.error(
          .syntax, "ON cannot read '\(name)', which is joined after it", about: .path(path), found: name.text)
      }
      return .field(source: source, Array(path.dropFirst()))
    }
  }
}

extension Binder {
  /// The id of a row of several sources: an object with the id of each.
  private static func ids(of sources: some Collection<Source>) -> Expression {
    .object(
      sources.enumerated().map { index, source in
        ObjectMember(key: .literal(.string(source.name)), value: .field(source: index, [.key("_id")]))
      })
  }
}

extension FieldPath {
  /// The path without the source's name at its front; a name alone stays as it is.
  func unqualified(by name: String) -> FieldPath {
    guard count > 1, self[0] == .key(TextKey(name)), self[1].isKey else { return self }
    return Array(dropFirst())
  }
}

extension PathComponent {
  var isKey: Bool {
    switch self {
    case .key: true
    case .index: false
    }
  }
}

extension Expression {
  /// The first aggregate in the order of the text.
  var firstAggregate: Expression? {
    if case .aggregate = self { return self }
    for child in children {
      if let aggregate = child.firstAggregate { return aggregate }
    }
    return nil
  }
}
