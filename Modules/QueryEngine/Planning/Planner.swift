package import CRDTCore

/// Turns statements into plans: a pure function of the statement and its arguments.
package enum Planner {
  package static func plan(_ select: Select, arguments: [String: Value]) throws(QueryError) -> Plan {
    if let feature = select.unsupportedFeature { throw .unsupported(feature) }
    var plan = try plan(
      select.collection, select.predicate, select.order, select.limit, select.offset, arguments)
    plan.distinct = select.distinct
    switch select.projection {
    case .all, .countAll, .elements: plan.projection = select.projection
    case .columns(var columns):
      for index in columns.indices {
        columns[index].expression = try columns[index].expression.binding(arguments)
      }
      plan.projection = .columns(columns)
      for index in plan.order.indices { plan.order[index].resolveAlias(columns) }
    }
    return plan
  }

  package static func plan(_ removal: Removal, arguments: [String: Value]) throws(QueryError) -> Plan {
    if let feature = removal.unsupportedFeature { throw .unsupported(feature) }
    return try plan(
      removal.collection, removal.predicate, removal.order, removal.limit, removal.offset, arguments)
  }

  package static func plan(_ update: Update, arguments: [String: Value]) throws(QueryError) -> Plan {
    if let feature = update.unsupportedFeature { throw .unsupported(feature) }
    return try plan(update.collection, update.predicate, [], nil, nil, arguments)
  }

  private static func plan(
    _ collection: String, _ predicate: Expression?, _ order: [SortKey], _ limit: Expression?,
    _ offset: Expression?, _ arguments: [String: Value]
  ) throws(QueryError) -> Plan {
    let filter = try predicate?.binding(arguments)
    var plan = Plan(collection: collection, access: .scan(from: nil, to: nil), filter: filter)
    if let virtual = try SystemCollection.named(collection) {
      plan.access = .virtual(virtual)
    } else if let filter {
      plan.access = IDConstraint(filter).access
    }
    for key in order {
      plan.order.append(
        SortKey(expression: try key.expression.binding(arguments), descending: key.descending))
    }
    plan.limit = try count(limit, "LIMIT", arguments)
    plan.offset = try count(offset, "OFFSET", arguments) ?? 0
    return plan
  }

  /// The number that LIMIT or OFFSET asks for.
  private static func count(
    _ expression: Expression?, _ clause: String, _ arguments: [String: Value]
  ) throws(QueryError) -> Int? {
    guard let expression else { return nil }
    let value = try Evaluator.evaluate(expression.binding(arguments), row: { _ in nil })
    guard case .int(let number) = value, number >= 0, let count = Int(exactly: number) else {
      throw QueryError(.argument, "\(clause) expects an integer that is not negative")
    }
    return count
  }
}

extension SortKey {
  /// ORDER BY may name a column of the projection.
  fileprivate mutating func resolveAlias(_ columns: [Select.Column]) {
    guard case .path(let path) = expression, path.count == 1, case .key(let name) = path[0] else { return }
    guard let column = columns.first(where: { $0.name == name }) else { return }
    expression = column.expression
  }
}
