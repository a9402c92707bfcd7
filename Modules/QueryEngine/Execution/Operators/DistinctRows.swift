import CRDTCore

/// Rows of which no two show the same values; numbers are compared by value.
struct DistinctRows {
  private(set) var rows: [SortedRow] = []
  private var seen = KeySet()
  private var key: [UInt8] = []

  /// Keeps the row, without its document, unless there is an equal row.
  ///
  /// - Throws: `limit` when the rows take more memory than the statement may have.
  mutating func insert(_ row: SortedRow, _ context: StatementContext) throws(QueryError) {
    key.removeAll(keepingCapacity: true)
    if let columns = row.row.columns {
      for column in columns { KeyBytes.append(column, to: &key) }
    } else {
      KeyBytes.append(.map(try row.row.values()), to: &key)
    }
    guard seen.insert(key).isNew else { return }
    try context.reserve(128 + row.row.memoryBytes)
    rows.append(SortedRow(keys: row.keys, row: try row.row.withoutDocument, position: rows.count))
  }

  /// Keeps the row that a projection makes of a document; the row is made only if it is new.
  mutating func insert(
    _ id: RawSpan, _ record: borrowing RecordView, _ projector: Projector, _ context: StatementContext
  ) throws(QueryError) {
    key.removeAll(keepingCapacity: true)
    guard try projector.appendKey(id, record, to: &key) else {
      return try insert(SortedRow(row: try projector.row(id, record)), context)
    }
    guard seen.insert(key).isNew else { return }
    let row = try projector.row(id, record)
    try context.reserve(128 + row.memoryBytes)
    rows.append(SortedRow(row: try row.withoutDocument, position: rows.count))
  }
}

extension Row {
  /// The key that distinguishes the row from rows with other values.
  var key: [ValueKey] {
    get throws(QueryError) {
      if let columns { return columns.map { ValueKey($0) } }
      return [ValueKey(.map(try values()))]
    }
  }
}
