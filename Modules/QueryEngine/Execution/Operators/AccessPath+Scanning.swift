import CRDTCore
import DocStore

extension AccessPath {
  /// Visits the records that the path leads to, tombstones too, until `body` returns `false`.
  func forEachRecord(
    in source: borrowing some RecordSource & ~Copyable, _ collection: DocStore.Collection,
    _ body: (_ id: RawSpan, _ record: borrowing RecordView) throws -> Bool
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
    case .index(let scan): try scan.forEachRecord(in: source, collection, body)
    case .virtual: return
    }
  }
}

extension IndexScan {
  /// Visits the records of the rows, in the order of the index.
  fileprivate func forEachRecord(
    in source: borrowing some RecordSource & ~Copyable, _ collection: DocStore.Collection,
    _ body: (_ id: RawSpan, _ record: borrowing RecordView) throws -> Bool
  ) throws {
    var goesOn = true
    for span in isReversed ? spans.reversed() : spans where goesOn {
      try source.forEachRow(in: index, from: span.from, to: span.to, reversed: isReversed) { row in
        let answer = try source.withRecord(numbered: row.document, in: collection) { id, _, record in
          try body(id, record)
        }
        goesOn = answer ?? true
        return goesOn
      }
    }
  }
}
