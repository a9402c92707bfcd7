import CRDTCore
import DocStore

/// Queries inside of queries: each runs once, before the statement around it is planned.
extension Engine {
  /// The most values that one inner query may return.
  private static let maximumValues = 1_000_000

  /// The expression with each inner query replaced by its values.
  func answering(
    _ expression: Expression?, _ arguments: [TextKey: Value],
    in source: borrowing some RecordSource & ~Copyable, _ context: StatementContext
  ) throws -> Expression? {
    guard let expression else { return nil }
    return try expression.rewritten { node in
      switch node {
      case .inQuery(let subject, let query, let negated):
        return .in(
          subject, .literal(.array(try values(of: query, arguments, in: source, context))), negated: negated)
      case .existsQuery(var query):
        if query.limit == nil { query.limit = .literal(.int(1)) }
        return .literal(.bool(try !rows(of: query, arguments, in: source, context).isEmpty))
      default: return node
      }
    }
  }

  private func values(
    of select: Select, _ arguments: [TextKey: Value], in source: borrowing some RecordSource & ~Copyable,
    _ context: StatementContext
  ) throws -> [Value] {
    switch select.projection {
    case .columns(let columns) where columns.count == 1: break
    case .countAll: break
    case .all, .columns, .elements:
      throw QueryError(.syntax, "a query after IN gives one column")
    }
    var values: [Value] = []
    for row in try rows(of: select, arguments, in: source, context) {
      // MISSING equals nothing.
      guard let value = try row.values().values.first else { continue }
      guard values.count < Self.maximumValues else {
        throw QueryError(.limit, "a query after IN gives more than \(Self.maximumValues) values")
      }
      try context.reserve(value.memoryBytes)
      values.append(value)
    }
    return values
  }

  /// The query with each inner query replaced by its values.
  func answering(
    _ select: Select, _ arguments: [TextKey: Value], in source: borrowing some RecordSource & ~Copyable,
    _ context: StatementContext
  ) throws -> Select {
    guard select.expressions.contains(where: \.hasQuery) else { return select }
    var copy = select
    copy.projection = try select.projection.mapColumns { column in
      try answering(column, arguments, in: source, context) ?? column
    }
    copy.predicate = try answering(select.predicate, arguments, in: source, context)
    copy.having = try answering(select.having, arguments, in: source, context)
    copy.groups = try select.groups.map { try answering($0, arguments, in: source, context) ?? $0 }
    for index in copy.order.indices {
      let key = copy.order[index].expression
      copy.order[index].expression = try answering(key, arguments, in: source, context) ?? key
    }
    for index in copy.joins.indices {
      let condition = copy.joins[index].condition
      copy.joins[index].condition = try answering(condition, arguments, in: source, context) ?? condition
    }
    return copy
  }
}

extension Engine {
  /// The statement with each inner query replaced by its values.
  func answering(
    _ statement: Statement, _ arguments: [TextKey: Value], in source: borrowing some RecordSource & ~Copyable,
    _ context: StatementContext
  ) throws -> Statement {
    switch statement {
    case .select(let select): return .select(try answering(select, arguments, in: source, context))
    case .compound(var compound):
      compound.body = try answering(compound.body, arguments, in: source, context)
      return .compound(compound)
    case .insert(var insert):
      guard case .query(let select) = insert.content else { return statement }
      insert.content = .query(try answering(select, arguments, in: source, context))
      return .insert(insert)
    case .update(var update):
      update.predicate = try answering(update.predicate, arguments, in: source, context)
      for index in update.assignments.indices {
        let value = update.assignments[index].value
        update.assignments[index].value = try answering(value, arguments, in: source, context) ?? value
      }
      return .update(update)
    case .delete(var removal):
      removal.predicate = try answering(removal.predicate, arguments, in: source, context)
      return .delete(removal)
    case .evict(var removal):
      removal.predicate = try answering(removal.predicate, arguments, in: source, context)
      return .evict(removal)
    case .createIndex, .dropIndex, .alterSystem, .show, .explain, .profile, .advise: return statement
    }
  }

  private func answering(
    _ operand: CompoundSelect.Operand, _ arguments: [TextKey: Value],
    in source: borrowing some RecordSource & ~Copyable, _ context: StatementContext
  ) throws -> CompoundSelect.Operand {
    switch operand {
    case .select(let select): return .select(try answering(select, arguments, in: source, context))
    case .combined(let symbol, let all, let left, let right):
      return .combined(
        symbol, all: all, try answering(left, arguments, in: source, context),
        try answering(right, arguments, in: source, context))
    }
  }
}

extension Expression {
  /// Whether it contains an inner query.
  var hasQuery: Bool {
    switch self {
    case .inQuery, .existsQuery: true
    default: children.contains(where: \.hasQuery)
    }
  }
}
