public import CRDTCore

extension WriteTransaction {
  /// The sequence of this transaction's last change, or of the last commit if it has changed nothing.
  public var sequence: UInt64 { withState { $0.log.sequence } }

  /// The sites that records refer to now.
  public var sites: SiteTable { withState { $0.sites } }

  /// All collections ever written, by name, with their counts of living documents.
  public func collections() throws -> [CollectionInfo] {
    _ = try pages()
    return withState { state in
      state.collections
        .map {
          CollectionInfo(
            id: $0.id, name: $0.name, documentCount: Int(clamping: $0.aliveCount),
            tombstoneCount: Int(clamping: $0.recordCount - min($0.aliveCount, $0.recordCount)))
        }
        .sorted { $0.name < $1.name }
    }
  }

  /// The collection called `name` with its current field names; `nil` when it was never written.
  public func collection(_ name: String) throws -> Collection? {
    _ = try pages()
    return withState { state in state.index(of: name).map { state.collections[$0].collection } }
  }

  /// Passes a document's record, which may be a tombstone, to `body` in place; `body` cannot write.
  ///
  /// A compacted tombstone is passed as a bare tombstone.
  ///
  /// - Returns: `nil` when the document is unknown here.
  public func withRecord<R>(
    _ collection: Collection, _ id: DocumentID, _ body: (borrowing RecordView, Summary) throws -> R
  ) throws -> R? {
    try reading { pages in
      let found = try pages.withRecord(collection.id, named: collection.name, id) { row in
        try body(RecordView(row.record), row.summary)
      }
      return if let found { found } else { try pages.withTombstone(collection.id, id, sites, body) }
    }
  }

  /// Checks whether a document's record can be read, and is as it was written.
  ///
  /// - Returns: `nil` when it is, or when the document is unknown here.
  package func damage(of id: DocumentID, in collection: String) throws -> DamagedRecord? {
    guard let known = try self.collection(collection) else { return nil }
    return try reading { pages in
      var number: DocumentNumber?
      do {
        guard case .damaged = try pages.lookUp(known.id, id, { number = $0.number }) else { return nil }
      } catch let failure as StoreError {
        return try DamagedRecord(failure, in: known, id: id)
      }
      return DamagedRecord(collection: collection, id: id, number: number)
    }
  }

  /// A copy of a document's record, which may be a tombstone.
  public func record(_ collection: Collection, _ id: DocumentID) throws -> Record? {
    try withRecord(collection, id) { record, _ in Record(copying: record) }
  }

  /// Visits a collection's records in the order in which they are stored until `body` returns `false`.
  ///
  /// `body` cannot write.
  ///
  /// - Parameters:
  ///   - collection: The collection.
  ///   - number: The first number, included; by default the first existing one.
  ///   - verify: Whether to verify each record's checksum.
  ///   - body: Is called with the number, the id's bytes, the summary and the record, all in place.
  /// - Throws: `corrupt` for a damaged record, if `verify` or reading it detects the damage; what `body`
  ///   throws.
  public func forEachStoredRecord(
    in collection: Collection, from number: DocumentNumber? = nil, verify: Bool = false,
    _ body: (
      _ number: DocumentNumber, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView
    ) throws -> Bool
  ) throws {
    try reading { pages in
      let records = number == nil ? recordCount(of: collection) : nil
      try pages.forEachRow(collection, from: number ?? .none, verify: verify, records: records) { row in
        try body(row.number, row.id, row.summary, RecordView(row.record))
      }
    }
  }

  /// Passes the record of a number, which may be a tombstone, and its id to `body`, which cannot write.
  ///
  /// - Returns: `nil` when no document has the number.
  public func withRecord<R>(
    numbered number: DocumentNumber, in collection: Collection,
    _ body: (_ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView) throws -> R
  ) throws -> R? {
    try reading { pages in
      try pages.withRecord(numbered: number, in: collection) { row in
        try body(row.id, row.summary, RecordView(row.record))
      }
    }
  }

  /// Visits a collection's records by ascending id bytes until `body`, which cannot write, returns `false`.
  ///
  /// - Parameters:
  ///   - collection: The collection.
  ///   - from: The first id's bytes, included.
  ///   - to: The bytes of the id before which to stop.
  ///   - verify: Whether to verify each record's checksum.
  ///   - body: Is called with the id's bytes, the summary and the record, all in place.
  /// - Throws: `corrupt` for a damaged record, if `verify` or reading it detects the damage; what `body`
  ///   throws.
  public func forEachRecord(
    in collection: Collection, from: [UInt8]? = nil, to: [UInt8]? = nil, verify: Bool = false,
    _ body: (_ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView) throws -> Bool
  ) throws {
    try reading { pages in
      let records = from == nil && to == nil ? recordCount(of: collection) : nil
      try pages.forEachRecord(collection, from: from, to: to, verify: verify, records: records, body)
    }
  }

  private func recordCount(of collection: Collection) -> UInt64? {
    withState { state in state.collections.first { $0.id == collection.id }?.recordCount }
  }
}
