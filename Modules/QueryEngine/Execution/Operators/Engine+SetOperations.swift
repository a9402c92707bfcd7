import CRDTCore
import DocStore

/// UNION, INTERSECT and EXCEPT: rows are the same when they show the same values.
extension Engine {
  /// The rows of queries combined by set operators, in order and within their bounds, without documents.
  func rows(
    of compound: CompoundSelect, _ arguments: [TextKey: Value],
    in source: borrowing some RecordSource & ~Copyable, _ context: StatementContext
  ) throws -> [Row] {
    let order = try compound.order.map { key in
      SortKey(expression: try key.expression.binding(arguments), descending: key.descending)
    }
    let limit = try Planner.count(compound.limit, "LIMIT", arguments)
    let offset = try Planner.count(compound.offset, "OFFSET", arguments) ?? 0
    if let profile = context.profile {
      let catalogue = try QueryCatalogue(Statement.compound(compound).collections, in: source)
      profile.begin(try compound.planRoot(arguments, catalogue))
    }
    let found = try rows(of: compound.body, arguments, in: source, context)
    let rowOrder = RowOrder(order, context)
    var sorted: [SortedRow] = []
    for row in found {
      let keys = order.isEmpty ? [] : try rowOrder.read(row.values())
      let shown = try row.withoutDocument
      // The memory of the rows themselves was counted when they were found.
      if row.id != nil { try context.reserveGathered(shown.memoryBytes) }
      sorted.append(SortedRow(keys: keys, row: shown, position: sorted.count))
    }
    if !order.isEmpty { sorted = rowOrder.sorted(sorted) }
    let rows = sorted.dropFirst(offset).prefix(limit ?? .max).map(\.row)
    context.profile?.end(rows: rows.count)
    return rows
  }

  private func rows(
    of operand: CompoundSelect.Operand, _ arguments: [TextKey: Value],
    in source: borrowing some RecordSource & ~Copyable, _ context: StatementContext
  ) throws -> [Row] {
    switch operand {
    case .select(let select): return try rows(of: select, arguments, in: source, context)
    case .combined(let symbol, let all, let left, let right):
      return try symbol.combine(
        rows(of: left, arguments, in: source, context), rows(of: right, arguments, in: source, context),
        all: all, context)
    }
  }
}

extension CompoundSelect.SetOperator {
  fileprivate func combine(
    _ left: [Row], _ right: [Row], all: Bool, _ context: StatementContext
  ) throws(QueryError) -> [Row] {
    if self == .union, all { return left + right }
    // The number of times that each row of the right side can still be matched.
    var counts: [ValueKey: Int] = [:]
    if self != .union {
      for row in right { counts[try row.shownKey(context), default: 0] += 1 }
    }
    var seen: Set<ValueKey> = []
    var rows: [Row] = []
    for row in self == .union ? left + right : left {
      let key = try row.shownKey(context)
      let count = counts[key] ?? 0
      let stays: Bool
      switch (self, all) {
      case (.union, _): stays = seen.insert(key).inserted
      case (.intersect, false): stays = count > 0 && seen.insert(key).inserted
      case (.except, false): stays = count == 0 && seen.insert(key).inserted
      case (.intersect, true): stays = count > 0
      case (.except, true): stays = count == 0
      }
      if all, count > 0 { counts[key] = count - 1 }
      if stays { rows.append(row) }
    }
    return rows
  }
}

extension Row {
  /// The values of the row, by name.
  fileprivate func shownKey(_ context: StatementContext) throws(QueryError) -> ValueKey {
    let values = Value.map(try values())
    try context.reserve(values.memoryBytes)
    return ValueKey(values)
  }
}
