import CRDTCore
import DocStore
import Failpoints

extension AccessPath {
  /// Visits the records that the path finds, also tombstones, until `body` returns `false`.
  func forEachRecord(
    in source: borrowing some RecordSource & ~Copyable, _ collection: DocStore.Collection,
    _ context: StatementContext, _ body: (_ id: RawSpan, _ record: borrowing RecordView) throws -> Bool
  ) throws {
    switch self {
    case .collectionScan:
      var passesOver = QueryDefect.scanMissesDocument.isPlanted
      try source.forEachStoredRecord(in: collection, from: nil, verify: false) { _, id, _, record in
        if passesOver {
          passesOver = false
          return true
        }
        return try body(id, record)
      }
    case .ids(let ids):
      for id in ids.dropLast(QueryDefect.idMissed.isPlanted ? 1 : 0) {
        let goesOn = try source.withRecord(collection, id) { record, _ in
          try body(id.bytes.span.bytes, record)
        }
        if goesOn == false { return }
      }
    case .idRange(let from, let to):
      var passesOver = !isWhole && QueryDefect.idRangeShort.isPlanted
      try source.forEachRecord(in: collection, from: from, to: to, verify: false) { id, _, record in
        if passesOver {
          passesOver = false
          return true
        }
        return try body(id, record)
      }
    case .index(let scan):
      try source.withIndex(scan.index, of: collection) { reader in
        try scan.forEachDocument(reader) { _, id, record in try body(id, record) }
      }
    case .union(let scans):
      var numbers = NumberSet()
      for scan in scans.prefix(QueryDefect.unionOfFirstScan.isPlanted ? 1 : .max) {
        try numbers.insert(scan, in: source, collection, context)
      }
      try numbers.sorted().forEachRecord(in: source, collection, body)
    case .intersection(let scans):
      var common: NumberSet?
      for scan in scans {
        var numbers = NumberSet()
        try numbers.insert(scan, in: source, collection, context)
        let sorted = numbers.sorted()
        common = common?.intersection(sorted) ?? sorted
        if common?.isEmpty == true { return }
      }
      var passesOver = QueryDefect.intersectionShort.isPlanted
      try common?.forEachRecord(in: source, collection) { id, record in
        if passesOver {
          passesOver = false
          return true
        }
        return try body(id, record)
      }
    case .virtual: return
    }
  }
}

extension IndexScan {
  /// Visits the documents of the rows, in the order of the scan, until `body` returns `false`.
  func forEachDocument(
    _ reader: borrowing IndexReader,
    _ body: (_ row: borrowing IndexRow, _ id: RawSpan, _ record: borrowing RecordView) throws -> Bool
  ) throws {
    let spans = QueryDefect.indexScanShort.isPlanted ? spans.dropLast() : spans
    try reader.forEachDocument(in: spans, reversed: isReversed, body)
  }

  /// Visits the rows, in the order of the scan, until `body` returns `false`.
  func forEachRow(
    _ reader: borrowing IndexReader, _ body: (borrowing IndexRow) throws -> Bool
  ) throws {
    try reader.forEachRow(in: spans, reversed: isReversed, body)
  }
}
