extension Binder {
  /// Checks that a query whose rows are groups shows and sorts by nothing but their keys and aggregates.
  ///
  /// - Complexity: O(*n* · *k*) in the nodes of its expressions and the keys of its groups.
  func checkGroups(of select: Select) throws(QueryError) {
    guard select.isGrouped else { return }
    var expressions: [Expression] = []
    switch select.projection {
    case .all, .elements: throw ungrouped("*", nil)
    case .countAll: break
    case .columns(let columns): expressions = columns.map(\.expression)
    }
    if let having = select.having { expressions.append(having) }
    for expression in expressions + select.order.map(\.expression) {
      guard let field = expression.firstField(outside: select.groups) else { continue }
      var printer = Printer()
      if case .sources(let sources) = scope {
        printer.sources = sources.map(\.name)
        if sources.count == 1 { printer.qualifier = sources[0].name }
      }
      throw ungrouped(printer.text(of: field), field)
    }
  }

  private func ungrouped(_ name: String, _ field: Expression?) -> QueryError {
    let message = "'\(name)' must depend only on group keys or aggregates"
    guard let field else { return QueryError(.syntax, message, found: name) }
    // Finds the first path of the text that binds to the field, to report its position.
    let path = sourceMap.paths.first { path in
      guard let meaning = try? reference(path) else { return false }
      return meaning == field
    }
    return sourceMap.error(.syntax, message, about: .path(path ?? []), found: name)
  }
}

extension Expression {
  /// The first field that is read outside of the keys and outside of every aggregate.
  fileprivate func firstField(outside keys: [Expression]) -> Expression? {
    if keys.contains(self) { return nil }
    switch self {
    case .aggregate: return nil
    case .path, .field: return self
    default:
      for child in children {
        if let field = child.firstField(outside: keys) { return field }
      }
      return nil
    }
  }
}

extension Select {
  /// Whether its rows are groups of documents, not documents.
  package var isGrouped: Bool {
    if !groups.isEmpty || having != nil { return true }
    switch projection {
    case .all, .countAll: break
    case .columns(let columns):
      if columns.contains(where: { $0.expression.firstAggregate != nil }) { return true }
    case .elements(let elements):
      let hasAggregate = elements.contains { element in
        if case .column(let column) = element { column.expression.firstAggregate != nil } else { false }
      }
      if hasAggregate { return true }
    }
    return order.contains { $0.expression.firstAggregate != nil }
  }

  /// Turns the query into a count of all rows, where it asks for nothing more.
  mutating func countRows() {
    guard groups.isEmpty, having == nil, joins.isEmpty, case .columns(let columns) = projection,
      columns.count == 1, columns[0].expression == .aggregate(.count, distinct: false, nil)
    else { return }
    projection = .countAll(alias: columns[0].$name)
    // One row is in order as it is.
    order = []
  }
}
