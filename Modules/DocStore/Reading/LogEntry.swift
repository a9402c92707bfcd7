package import CRDTCore

/// An entry of the store's log, and the documents that it names as they are in the snapshot.
package struct LogEntry: ~Copyable {
  /// The commit that the entry describes, or the last group in it.
  package let sequence: UInt64
  package let kind: LogKind
  let record: LogRecord
  private let pages: DocumentPages
  private let reader: ReaderSlot?

  init(_ key: LogKey, _ record: LogRecord, _ pages: DocumentPages, _ reader: ReaderSlot?) {
    sequence = key.sequence
    kind = key.kind
    self.record = record
    self.pages = pages
    self.reader = reader
  }

  package var origin: LogOrigin { record.head.origin }

  /// The low word of the commit's id.
  package var commitCheck: UInt32 { record.head.commitCheck }

  /// The greatest number that any document had at that time.
  package var lastNumber: DocumentNumber { record.head.lastNumber }

  /// The written documents, by collection and number; empty in an entry of evictions.
  package var runs: [LogRun] { record.runs }

  /// The evicted documents, as far as they are listed; empty in other entries.
  package var evicted: [DocumentKey] { record.evicted }

  /// Whether all evicted documents are listed.
  package var isEvictionComplete: Bool { record.isComplete }

  /// The number of written documents, including those that changed again later.
  package var memberCount: Int {
    record.runs.reduce(0) { $0 + Int(clamping: $1.numbers.upperBound - $1.numbers.lowerBound) + 1 }
  }

  /// Passes the documents that are still as this entry left them to `body` until it returns `false`.
  ///
  /// They are passed in place. A document that changed later is skipped, because a later entry names it. An
  /// evicted document is skipped, too. For a document that cannot be read, `damaged` is called. A document
  /// that is not wanted is not read.
  package borrowing func forEachMember(
    where isWanted: (_ collection: UInt32, _ number: DocumentNumber) -> Bool = { _, _ in true },
    damaged: (DamagedRecord) -> Void = { _ in },
    _ body: (
      _ collection: UInt32, _ number: DocumentNumber, _ id: RawSpan, _ summary: Summary,
      _ record: borrowing RecordView
    ) throws -> Bool
  ) throws {
    let (sequence, reader) = (sequence, reader)
    try pages.forEachRow(
      of: record.runs, where: isWanted,
      missed: { (place, failure) throws(StoreError) in
        guard let collection = reader?.catalogue.collection(place.collection) else { throw failure }
        if let damage = try DamagedRecord(failure, in: collection, number: place.number) { damaged(damage) }
      }
    ) { collection, row in
      try reader?.check()
      guard row.isIntact(in: collection) else {
        damaged(damage(collection, nil, row.number))
        return true
      }
      guard row.sequence <= sequence else { return true }
      guard RecordView(row.record).verify() else {
        damaged(damage(collection, DocumentID(trusted: row.id.copied), row.number))
        return true
      }
      return try body(collection, row.number, row.id, row.summary, RecordView(row.record))
    }
  }

  private borrowing func damage(
    _ collection: UInt32, _ id: DocumentID?, _ number: DocumentNumber
  ) -> DamagedRecord {
    let name = reader?.catalogue.collection(collection)?.name
    return DamagedRecord(collection: name ?? "\(collection)", id: id, number: number)
  }
}

extension DocumentPages {
  /// Passes the rows of numbers to `body` until it returns `false`; it does not verify the rows.
  ///
  /// It skips numbers without a row, and documents that are not wanted.
  ///
  /// `missed` is called with the reason why a row could not be looked up; it throws failures that must not be
  /// skipped.
  func forEachRow(
    of runs: [LogRun], where isWanted: (UInt32, DocumentNumber) -> Bool = { _, _ in true },
    missed: (DocumentPlace, StoreError) throws(StoreError) -> Void = { (_, failure) throws(StoreError) in
      throw failure
    },
    _ body: (UInt32, borrowing DocumentRow) throws -> Bool
  ) throws {
    let cursor = try PointCursor(access, tables.documents)
    for run in runs {
      for number in run.numbers {
        let place = DocumentPlace(run.collection, DocumentNumber(number))
        guard isWanted(run.collection, place.number) else { continue }
        do {
          let goesOn = try place.withKey { (key) throws(any Error) in
            try cursor.withValue(key) { stored in
              guard let row = DocumentRow(stored, number: place.number) else { return true }
              return try body(place.collection, row)
            }
          }
          if goesOn == false { return }
        } catch let failure as StoreError {
          try missed(place, failure)
        }
      }
    }
  }

  /// Visits the entries of the log after a sequence, oldest first, until `body` returns `false`.
  func changes(
    after sequence: UInt64, _ reader: ReaderSlot? = nil, _ body: (borrowing LogEntry) throws -> Bool
  ) throws {
    let greatest = try LogState(access, tables).lastNumber
    try access.scan(tables.log, from: LogKey.first(after: sequence).rawBytes) { key, stored in
      guard let name = LogKey(key), let value = try? SmallRecord.open(stored, at: key, table: "log"),
        let record = try? LogRecord(value.rawBytes, kind: name.kind), record.lastMember <= greatest
      else { throw StoreError.damagedEntry(.log) }
      try reader?.check()
      return try body(LogEntry(name, record, self, reader))
    }
  }
}
