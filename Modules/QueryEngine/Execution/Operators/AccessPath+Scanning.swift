import CRDTCore
import DocStore

extension AccessPath {
  /// Visits the records that the path leads to, tombstones too, until `body` returns `false`.
  func forEachRecord(
    in source: borrowing some RecordSource & ~Copyable, _ collection: DocStore.Collection,
    _ context: StatementContext, _ body: (_ id: RawSpan, _ record: borrowing RecordView) throws -> Bool
  ) throws {
    switch self {
    case .collectionScan:
      try source.forEachStoredRecord(in: collection, from: nil, verify: false) { _, id, _, record in
        try body(id, record)
      }
    case .ids(let ids):
      for id in ids {
        let goesOn = try source.withRecord(collection, id) { record, _ in
          try body(id.bytes.span.bytes, record)
        }
        if goesOn == false { return }
      }
    case .idRange(let from, let to):
      try source.forEachRecord(in: collection, from: from, to: to, verify: false) { id, _, record in
        try body(id, record)
      }
    case .index(let scan):
      try source.withIndex(scan.index, of: collection) { reader in
        _ = try scan.forEachDocument(reader) { _, id, record in try body(id, record) }
      }
    case .union(let scans):
      var numbers = NumberSet()
      for scan in scans { try numbers.insert(scan, in: source, collection, context) }
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
      try common?.forEachRecord(in: source, collection, body)
    case .virtual: return
    }
  }
}

extension IndexScan {
  /// Visits the documents of the rows, in the order of the index, until `body` returns `false`.
  func forEachDocument(
    _ reader: borrowing IndexReader,
    _ body: (_ row: borrowing IndexRow, _ id: RawSpan, _ record: borrowing RecordView) throws -> Bool
  ) throws {
    for place in spans.indices {
      let span = spans[isReversed ? spans.count - 1 - place : place]
      guard try reader.forEachDocument(from: span.from, to: span.to, reversed: isReversed, body) else {
        return
      }
    }
  }

  /// Visits the rows, in the order of the index.
  func forEachRow(_ reader: borrowing IndexReader, _ body: (borrowing IndexRow) throws -> Void) throws {
    for span in spans {
      try reader.forEachRow(from: span.from, to: span.to) { row in
        try body(row)
        return true
      }
    }
  }
}
