import CRDTCore
import DocStore
import Failpoints

/// Queries on one collection that read only rows of an index, and no documents.
extension Plan {
  /// The rows in order, between OFFSET and LIMIT.
  ///
  /// - Returns: `nil` where values that are too long for the index break its order.
  func coveredRows(
    in source: borrowing some RecordSource & ~Copyable, _ collection: DocStore.Collection,
    _ context: StatementContext
  ) throws -> [SortedRow]? {
    guard case .index(let scan) = access, case .columns(let columns) = projection else { return nil }
    let index = scan.index.definition
    var rows = CoveredRows(
      shape: RowShape(columns.map(\.$name)),
      columns: columns.map { FrameExpression($0.expression.onRows(of: index), context) },
      order: isOrdered ? [] : order.map { FrameExpression($0.expression.onRows(of: index), context) },
      sorted: RowOrder(isOrdered ? [] : order, context), window: window, isDistinct: distinct,
      wanted: limit.map { $0 + offset }, context: context)
    var isOutOfOrder = false
    let skips = try skipsRepeats(scan) && rows.addDistinct(scan, columns, in: source, collection)
    if !skips {
      try forEachCovered(in: source, collection, context) { cover, isCut in
        isOutOfOrder = isCut && isOrdered && !order.isEmpty
        return try !isOutOfOrder && rows.add(cover.values)
      }
    }
    return isOutOfOrder ? nil : Array(try rows.finished().dropFirst(offset).prefix(limit ?? .max))
  }

  /// Whether a search for the next different row is cheaper than reading the equal rows.
  private func skipsRepeats(_ scan: IndexScan) -> Bool {
    guard distinct, filter == nil, !scan.isReversed, isOrdered || order.isEmpty,
      case .columns(let columns) = projection, let statistics = scan.index.statistics
    else { return false }
    let fields = scan.index.definition.fields.prefix(columns.count).filter { $0.part == .value }
      .map { $0.path.map(PathComponent.key) }
    let shown = columns.map(\.expression)
    guard fields.count == columns.count, Set(shown) == Set(fields.map(Expression.path)) else { return false }
    return statistics.distinctCounts[columns.count - 1] < statistics.rowCount / 16
  }
}

/// Collects rows that are made from an index's values.
private struct CoveredRows {
  let shape: RowShape
  let columns: [FrameExpression]
  /// Empty where the rows arrive in the wanted order.
  let order: [FrameExpression]
  let sorted: RowOrder
  let isDistinct: Bool
  /// The most rows that are wanted, those of OFFSET included.
  let wanted: Int?
  let context: StatementContext
  private var rows: [SortedRow] = []
  private var distinct = DistinctRows()
  private var heap: BoundedHeap?
  private var count = 0

  init(
    shape: RowShape, columns: [FrameExpression], order: [FrameExpression], sorted: RowOrder, window: Int?,
    isDistinct: Bool, wanted: Int?, context: StatementContext
  ) {
    self.shape = shape
    self.columns = columns
    self.order = order
    self.sorted = sorted
    self.isDistinct = isDistinct
    self.wanted = wanted
    self.context = context
    if !order.isEmpty, let window { heap = BoundedHeap(order: sorted, capacity: window) }
  }

  /// - Returns: Whether more rows are wanted.
  mutating func add(_ values: Frame) throws(QueryError) -> Bool {
    var keys: [Value?] = []
    for key in order { keys.append(try key.evaluate(values)) }
    defer { count += 1 }
    if heap != nil {
      guard heap?.accepts(keys) == true else { return true }
      let row = try row(values, keys)
      if heap?.isFull == false { try context.reserveGathered(row.row.memoryBytes) }
      heap?.insert(row)
      return true
    }
    let row = try row(values, keys)
    if isDistinct, order.isEmpty {
      try distinct.insert(row, context)
      return wanted.map { distinct.rows.count < $0 } ?? true
    }
    if order.isEmpty {
      try context.reserveGathered(row.row.memoryBytes)
    } else {
      try context.reserve(row.row.memoryBytes)
    }
    rows.append(row)
    return order.isEmpty ? wanted.map { rows.count < $0 } ?? true : true
  }

  private func row(_ values: Frame, _ keys: [Value?]) throws(QueryError) -> SortedRow {
    var shown: [Value?] = []
    shown.reserveCapacity(columns.count)
    for column in columns { shown.append(try column.evaluate(values)) }
    return SortedRow(keys: keys, row: Row(shape, shown), position: count)
  }

  /// Adds one row for each distinct value of the index's first fields, and skips the repeats.
  ///
  /// - Returns: Whether that was possible; if not, nothing is added.
  mutating func addDistinct(
    _ scan: IndexScan, _ shown: [Select.Column], in source: borrowing some RecordSource & ~Copyable,
    _ collection: DocStore.Collection
  ) throws -> Bool {
    let before = self
    let fields = scan.index.definition.fields
    var isWhole = true
    var pace = try ScanPace(context)
    try source.withIndex(scan.index, of: collection) { reader in
      var from: IndexBound?
      var goesOn = true
      while goesOn {
        goesOn = false
        try reader.forEachRow(from: from) { row in
          try pace.step()
          var values = Frame(repeating: nil, count: fields.count)
          isWhole = row.read(fields, into: &values)
          if isWhole {
            goesOn = try add(values)
            let repeated = QueryDefect.distinctSkipsTooFar.isPlanted ? shown.count - 1 : shown.count
            from = .after(Array(values.prefix(repeated)))
          }
          return false
        }
      }
    }
    if !isWhole { self = before }
    return isWhole
  }

  consuming func finished() throws(QueryError) -> [SortedRow] {
    if let heap { return heap.sorted() }
    let sorted = order.isEmpty ? rows : sorted.sorted(rows)
    guard isDistinct else { return sorted }
    for row in sorted { try distinct.insert(row, context) }
    return distinct.rows
  }
}
