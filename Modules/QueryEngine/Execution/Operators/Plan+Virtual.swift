import CRDTCore

/// The same steps on rows of values, for virtual collections.
extension Plan {
  func rows(of documents: [[String: Value]]) throws(QueryError) -> [Row] {
    let order = RowOrder(order)
    let columns = ProjectedColumn.columns(of: projection)
    var rows: [SortedRow] = []
    for document in try matches(in: documents) {
      var values = columns == nil ? document : [:]
      for column in columns ?? [] { values[column.name] = try column.expression.evaluate(document) }
      rows.append(SortedRow(keys: try order.read(document), row: Row(values), position: rows.count))
    }
    rows.sort { order.precedes($0, $1) }
    if distinct {
      var unique = DistinctRows()
      for row in rows { try unique.insert(row) }
      rows = unique.rows
    }
    return rows.dropFirst(offset).prefix(limit ?? .max).map(\.row)
  }

  func matches(in documents: [[String: Value]]) throws(QueryError) -> [[String: Value]] {
    guard let filter else { return documents }
    let condition = RecordExpression(filter)
    var accepted: [[String: Value]] = []
    for document in documents where try condition.evaluate(document) == .bool(true) {
      accepted.append(document)
    }
    return accepted
  }
}
