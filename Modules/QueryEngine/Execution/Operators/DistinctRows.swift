import CRDTCore

/// Rows of which no two show the same values; numbers are the same by value.
struct DistinctRows {
  private(set) var rows: [SortedRow] = []
  private var seen: Set<[ValueKey]> = []

  /// Keeps the row unless one like it is here; what is kept stands for no document any more.
  ///
  /// - Throws: `limit` when the rows take more memory than the statement may have.
  mutating func insert(_ row: SortedRow, _ context: StatementContext) throws(QueryError) {
    let key = try row.row.key
    guard seen.insert(key).inserted else { return }
    try context.reserve(key.reduce(128) { $0 + ($1.value?.memoryBytes ?? 16) })
    rows.append(SortedRow(keys: row.keys, row: try row.row.withoutDocument, position: rows.count))
  }
}

extension Row {
  /// What tells the row from others that show other values.
  var key: [ValueKey] {
    get throws(QueryError) {
      if let columns { return columns.map { ValueKey($0) } }
      return [ValueKey(.map(try values()))]
    }
  }
}
