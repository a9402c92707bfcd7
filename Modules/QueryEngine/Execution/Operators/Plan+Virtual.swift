import CRDTCore

/// The same steps on rows of values, for virtual collections.
extension Plan {
  func rows(of documents: [[TextKey: Value]], _ context: StatementContext) throws(QueryError) -> [Row] {
    let order = RowOrder(order, context)
    let projector = Projector(projection, KeyTable(), context)
    var rows: [SortedRow] = []
    for document in try matches(in: documents, context) {
      let row = try projector.row(document)
      try context.reserveGathered(row.memoryBytes)
      rows.append(SortedRow(keys: try order.read(document), row: row, position: rows.count))
    }
    rows.sort { order.precedes($0, $1) }
    if distinct {
      var unique = DistinctRows()
      for row in rows { try unique.insert(row, context) }
      rows = unique.rows
    }
    return rows.dropFirst(offset).prefix(limit ?? .max).map(\.row)
  }

  func matches(
    in documents: [[TextKey: Value]], _ context: StatementContext
  ) throws(QueryError) -> [[TextKey: Value]] {
    var pace = try ScanPace(context)
    context.profile?.note { $0.scans[0] = StatementProfile.Scan(found: documents.count) }
    guard let filter else { return documents }
    let condition = ScalarProgram(filter, context)
    var accepted: [[TextKey: Value]] = []
    for document in documents {
      try pace.step()
      if try condition.evaluate(document) == .bool(true) { accepted.append(document) }
    }
    context.profile?.note { $0.scans[0]?.accepted = accepted.count }
    return accepted
  }
}
