import CRDTCore
import DocStore

extension Plan {
  /// The rows in order, between OFFSET and LIMIT; rows of columns have their document's id on request.
  func sortedRows(
    in source: borrowing some RecordSource & ~Copyable, _ context: StatementContext,
    namingDocuments: Bool = false
  ) throws -> [SortedRow] {
    guard limit != 0, let collection = try source.collection(self.collection) else { return [] }
    if isCovering, let rows = try coveredRows(in: source, collection, context) { return rows }
    let projector = Projector(
      projection, collection.keys, context, namesDocuments: namingDocuments || projection.namesDocuments)
    if distinct { return try distinctRows(in: source, collection, projector, context) }
    if order.isEmpty { return try streamedRows(in: source, collection, projector, context) }
    let rows = try orderedRows(in: source, collection, projector, context)
    return Array(rows.dropFirst(offset).prefix(limit ?? .max))
  }

  private func streamedRows(
    in source: borrowing some RecordSource & ~Copyable, _ collection: DocStore.Collection,
    _ projector: Projector, _ context: StatementContext
  ) throws -> [SortedRow] {
    var rows: [SortedRow] = []
    try forEachRow(in: source, collection, projector, context) { row in
      try context.reserveGathered(row.memoryBytes)
      rows.append(SortedRow(row: row))
      return true
    }
    return rows
  }

  /// The rows in the order in which they are found, between OFFSET and LIMIT.
  private func forEachRow(
    in source: borrowing some RecordSource & ~Copyable, _ collection: DocStore.Collection,
    _ projector: Projector, _ context: StatementContext, _ body: (Row) throws -> Bool
  ) throws {
    var skipped = 0
    var count = 0
    try forEachMatch(in: source, collection, context) { id, record in
      guard skipped >= offset else {
        skipped += 1
        return true
      }
      count += 1
      return try body(try projector.row(id, record)) && count != limit
    }
  }

  /// Whether each row is complete when its document is visited.
  var findsRowsInTurn: Bool {
    if case .countAll = projection { return false }
    if case .virtual = access { return false }
    return order.isEmpty && !distinct && !isCovering
  }

  /// Calls `body` with the rows of a plan that finds them one by one, until it returns `false`.
  func forEachRow(
    in source: borrowing some RecordSource & ~Copyable, _ context: StatementContext,
    _ body: (Row) throws -> Bool
  ) throws {
    guard limit != 0, let collection = try source.collection(self.collection) else { return }
    let projector = Projector(projection, collection.keys, context, namesDocuments: projection.namesDocuments)
    try forEachRow(in: source, collection, projector, context, body)
  }

  private func orderedRows(
    in source: borrowing some RecordSource & ~Copyable, _ collection: DocStore.Collection,
    _ projector: Projector, _ context: StatementContext
  ) throws -> [SortedRow] {
    var rowOrder = RowOrder(order, context)
    rowOrder.resolve(collection.keys)
    let order = rowOrder
    if isOrdered { return try rowsInIndexOrder(in: source, collection, projector, order, context) }
    var keys: [Value?] = []
    var position = 0
    guard let window else {
      var rows: [SortedRow] = []
      try forEachMatch(in: source, collection, context) { id, record in
        try order.read(id, record, collection.keys, into: &keys)
        let row = try projector.row(id, record)
        try context.reserve(row.memoryBytes)
        rows.append(SortedRow(keys: keys, row: row, position: rows.count))
        return true
      }
      return order.sorted(rows)
    }
    var heap = BoundedHeap(order: order, capacity: window)
    try forEachMatch(in: source, collection, context) { id, record in
      if let prefix = order.prefix(record), heap.refuses(prefix) {
        position += 1
        return true
      }
      try order.read(id, record, collection.keys, into: &keys)
      if heap.accepts(keys) {
        let row = try projector.row(id, record)
        if !heap.isFull { try context.reserveGathered(row.memoryBytes) }
        heap.insert(SortedRow(keys: keys, row: row, position: position))
      }
      position += 1
      return true
    }
    return heap.sorted()
  }

  private func distinctRows(
    in source: borrowing some RecordSource & ~Copyable, _ collection: DocStore.Collection,
    _ projector: Projector, _ context: StatementContext
  ) throws -> [SortedRow] {
    var distinct = DistinctRows()
    if order.isEmpty {
      try forEachMatch(in: source, collection, context) { id, record in
        try distinct.insert(id, record, projector, context)
        return limit.map { distinct.rows.count - offset < $0 } ?? true
      }
    } else {
      for row in try orderedRows(in: source, collection, projector, context) {
        try distinct.insert(row, context)
      }
    }
    return Array(distinct.rows.dropFirst(offset).prefix(limit ?? .max))
  }
}
