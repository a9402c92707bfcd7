public import CRDTCore

/// Reads documents by their numbers, with a cursor that stays at the last one.
///
/// It is passed to a closure, and must not be used after the closure returns. Meanwhile its transaction
/// cannot write.
public struct RecordReader: ~Copyable {
  private let collection: Collection
  private let documents: PointCursor
  private let reader: ReaderSlot?

  init(_ pages: DocumentPages, _ collection: Collection, _ reader: ReaderSlot?) throws(StoreError) {
    self.collection = collection
    self.reader = reader
    documents = try PointCursor(pages.access, pages.tables.documents)
  }

  /// Passes `body` the record of a number, which may be a tombstone, and its id in place.
  ///
  /// - Parameters:
  ///   - number: The document's number.
  ///   - verify: Whether to check the record's checksum, which costs more than most predicates.
  ///   - body: Gets the id's bytes and the record.
  /// - Returns: What `body` returns; `nil` if no document has the number.
  /// - Throws: `corrupt` for a damaged record, if the damage is detected; what `body` throws.
  public borrowing func withRecord(
    numbered number: DocumentNumber, verify: Bool = false,
    _ body: (_ id: RawSpan, _ record: borrowing RecordView) throws -> Bool
  ) throws -> Bool? {
    try reader?.check()
    let place = DocumentPlace(collection.id, number)
    // The error type is explicit so that the call needs no type lookup at run time.
    return try place.withKey { (key) throws(any Error) in
      try documents.withEntry(key) { stored, isSuspect in
        guard let row = DocumentRow(stored, number: number),
          !(verify || isSuspect) || row.verify(in: collection.id)
        else {
          throw StoreError(
            .corrupt,
            "The record with the number \(number.rawValue) in the collection \(collection.name) is damaged",
            operation: "read")
        }
        return try body(row.id, RecordView(row.record))
      }
    }
  }
}

/// Reads any number of ranges of an index, with cursors that stay where they are.
///
/// It is passed to a closure, and must not be used after the closure returns. Meanwhile its transaction
/// cannot write.
public struct IndexReader: ~Copyable {
  public let index: IndexInfo
  /// The reader for the documents of the rows.
  public let records: RecordReader
  private let rows: RowCursor
  private let reader: ReaderSlot?

  init(
    _ pages: DocumentPages, _ index: IndexInfo, _ collection: Collection, _ reader: ReaderSlot?
  ) throws(StoreError) {
    let rows = try RowCursor(pages.access, pages.tables.rows)
    let records = try RecordReader(pages, collection, reader)
    self.index = index
    self.reader = reader
    self.rows = rows
    self.records = records
  }

  /// Visits rows, like ``ReadTransaction/forEachRow(in:from:to:reversed:_:)``.
  public borrowing func forEachRow(
    from: IndexBound? = nil, to: IndexBound? = nil, reversed: Bool = false,
    _ body: (borrowing IndexRow) throws -> Bool
  ) throws {
    try forEachRow(in: [IndexSpan(from: from, to: to)], reversed: reversed, body)
  }

  /// Visits the rows of several spans, each row once, until `body` returns `false`.
  ///
  /// - Parameters:
  ///   - spans: Spans whose values do not overlap, in the order of the index. Spans with values that are too
  ///     long for a key may have rows in common.
  ///   - reversed: Whether to go from the last row to the first.
  ///   - body: Gets each row in place.
  /// - Throws: `corrupt` for a damaged row; what `body` throws.
  package borrowing func forEachRow(
    in spans: [IndexSpan], reversed: Bool = false, _ body: (borrowing IndexRow) throws -> Bool
  ) throws {
    var keys = SpanKeys(index, reversed: reversed)
    var goesOn = true
    for place in spans.indices where goesOn {
      guard let range = keys.next(spans[reversed ? spans.count - 1 - place : place]) else { continue }
      try rows.scan(from: range.start.rawBytes, to: range.end.rawBytes, reversed: reversed) { key, value in
        try reader?.check()
        guard let row = IndexRow(key: key, value: value) else {
          throw DocumentPages.damagedRow(index.definition)
        }
        goesOn = try body(row)
        return goesOn
      }
    }
  }

  /// Visits the documents of a range of rows, in the order of the index, until `body` returns `false`.
  ///
  /// - Parameters:
  ///   - from: Where to begin; `nil` for the first row.
  ///   - to: Where to end; `nil` for the last row.
  ///   - reversed: Whether to go from the end to the beginning.
  ///   - body: Gets the row, the document's id and its record, all in place.
  /// - Returns: `false` if `body` ended the visit.
  /// - Throws: `corrupt` for a damaged row, or a row without a document; what `body` throws.
  @discardableResult
  public borrowing func forEachDocument(
    from: IndexBound? = nil, to: IndexBound? = nil, reversed: Bool = false,
    _ body: (borrowing IndexRow, _ id: RawSpan, _ record: borrowing RecordView) throws -> Bool
  ) throws -> Bool {
    try forEachDocument(in: [IndexSpan(from: from, to: to)], reversed: reversed, body)
  }

  /// Visits the documents of several spans, like ``forEachRow(in:reversed:_:)`` visits their rows.
  ///
  /// - Returns: `false` if `body` ended the visit.
  @discardableResult
  package borrowing func forEachDocument(
    in spans: [IndexSpan], reversed: Bool = false,
    _ body: (borrowing IndexRow, _ id: RawSpan, _ record: borrowing RecordView) throws -> Bool
  ) throws -> Bool {
    var goesOn = true
    try forEachRow(in: spans, reversed: reversed) { row in
      let answer = try records.withRecord(numbered: row.document) { id, record in
        try body(row, id, record)
      }
      guard let answer else { throw DocumentPages.damagedRow(index.definition) }
      goesOn = answer
      return answer
    }
    return goesOn
  }

  /// Counts the rows of a range up to `limit`.
  public borrowing func countRows(from: IndexBound? = nil, to: IndexBound? = nil, limit: Int) throws -> Int {
    var count = 0
    guard limit > 0 else { return 0 }
    try forEachRow(from: from, to: to) { _ in
      count += 1
      return count < limit
    }
    return count
  }
}
