import CRDTCore
import DocStore
import Failpoints

/// Plans that read their rows in order from an index.
extension Plan {
  /// The first rows in order, as many as OFFSET and LIMIT need.
  func rowsInIndexOrder(
    in source: borrowing some RecordSource & ~Copyable, _ collection: DocStore.Collection,
    _ projector: Projector, _ order: RowOrder, _ context: StatementContext
  ) throws -> [SortedRow] {
    guard case .index(let scan) = access, window != 0 else { return [] }
    var matcher = try RecordMatcher(filter, context: context)
    matcher.resolve(collection.keys)
    let filter = matcher
    let wanted = window ?? .max
    var pace = try ScanPace(context)
    var meter = ScanMeter(context)
    var rows: [SortedRow] = []
    var cut = CutRun()
    try source.withIndex(scan.index, of: collection) { reader in
      try scan.forEachDocument(reader) { row, id, record in
        try pace.step()
        guard record.isAlive, try meter.accepts(filter, id, record) else { return true }
        guard row.isCut else {
          cut.end(into: &rows, order)
          if rows.count < wanted {
            let row = try projector.row(id, record)
            try context.reserveGathered(row.memoryBytes)
            rows.append(SortedRow(row: row))
          }
          return rows.count < wanted
        }
        if !cut.isContinued(by: row.values) {
          cut.end(into: &rows, order)
          if rows.count >= wanted { return false }
          cut.begin(row.values)
        }
        var keys: [Value?] = []
        try order.read(id, record, collection.keys, into: &keys)
        let row = try projector.row(id, record)
        try context.reserveGathered(row.memoryBytes)
        cut.rows.append(SortedRow(keys: keys, row: row, position: cut.rows.count))
        return true
      }
    }
    meter.finish()
    cut.end(into: &rows, order)
    if rows.count > wanted { rows.removeLast(rows.count - wanted) }
    return rows
  }

  /// The number of rows of a scan that reads no documents except those of cut rows.
  func count(
    _ scan: IndexScan, in source: borrowing some RecordSource & ~Copyable,
    _ collection: DocStore.Collection, _ context: StatementContext
  ) throws -> Int {
    var matcher = try RecordMatcher(filter, context: context)
    matcher.resolve(collection.keys)
    let filter = matcher
    var pace = try ScanPace(context)
    var meter = ScanMeter(context)
    var count = 0
    try source.withIndex(scan.index, of: collection) { reader in
      try scan.forEachRow(reader) { row in
        try pace.step()
        meter.count()
        guard row.isCut, !QueryDefect.cutRowNotTested.isPlanted else {
          count += count == 0 && QueryDefect.countedTwice.isPlanted ? 2 : 1
          return true
        }
        let isCounted = try reader.records.withRecord(numbered: row.document) { id, record in
          try record.isAlive && filter.accepts(id, record)
        }
        if isCounted == true { count += 1 }
        return true
      }
    }
    meter.finish()
    return count
  }
}

/// Rows of an index with the same cut values: values that are too long for a key are cut.
private struct CutRun {
  private var values: [UInt8] = []
  var rows: [SortedRow] = []

  func isContinued(by other: RawSpan) -> Bool { !rows.isEmpty && values.span.bytes.compare(other) == 0 }

  mutating func begin(_ other: RawSpan) { values = unsafe other.withUnsafeBytes { unsafe Array($0) } }

  /// Appends the rows in order.
  mutating func end(into all: inout [SortedRow], _ order: RowOrder) {
    guard !rows.isEmpty else { return }
    all += QueryDefect.cutRowsUnsorted.isPlanted ? rows : order.sorted(rows)
    rows.removeAll()
  }
}
