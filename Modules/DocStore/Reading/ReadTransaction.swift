public import CRDTCore

/// A snapshot of the store: what was committed when it began, unmoved by what is written meanwhile.
///
/// It lives inside `Store.read(_:)`, on the caller's thread; it blocks no writer, but keeps the pages
/// of its snapshot from being used again.
public struct ReadTransaction: ~Copyable {
  private let environment: Environment
  private let reader: ReaderSlot
  private let stored: DocumentPages
  let log: LogState

  /// Begins a snapshot.
  init(_ environment: Environment, at place: SourcePlace, isExempt: Bool = false) throws(StoreError) {
    let reader = try environment.beginRead(at: place, isExempt: isExempt)
    do {
      log = if let known = reader.log { known } else { try LogState(reader.access, environment.tables) }
    } catch {
      environment.recycle(reader)
      throw error
    }
    self.environment = environment
    self.reader = reader
    stored = DocumentPages(
      access: reader.access, tables: environment.tables, numbers: environment.numbers)
  }

  deinit { environment.recycle(reader) }

  /// The pages, unless the snapshot has outlived the deadline for readers.
  var pages: DocumentPages {
    get throws(StoreError) {
      try reader.check()
      return stored
    }
  }

  var catalogue: Catalogue { reader.catalogue }

  var damagedIndexes: DamagedIndexes { environment.damagedIndexes }

  /// What tells cursors that outlast a call when the deadline for readers is over.
  var slot: ReaderSlot { reader }

  /// What says whether the snapshot may still be read, for use while it is open.
  package var deadline: SnapshotDeadline { SnapshotDeadline(reader) }

  /// The engine's number of the commit that the snapshot is of.
  var number: UInt64 { stored.access.transactionNumber }

  /// The last commit that the snapshot includes.
  public var sequence: UInt64 { log.sequence }

  /// The random number of the last commit that the snapshot includes.
  public var commitID: UInt64 { log.commitID }

  /// Rises with every transaction that evicts.
  public var evictionEpoch: UInt64 { log.evictionEpoch }

  /// The last reading of the store's clock that the snapshot includes: no write before it has a later one.
  package var latestReading: ClockReading { log.clock.latest }

  /// The log tells all that changed for those who know everything up to this sequence, or a later one.
  package var logStart: UInt64 { log.logStart }

  /// The sites that records refer to.
  public var sites: SiteTable { catalogue.sites }

  /// All collections ever written, by name, with their counts of living documents.
  public borrowing func collections() throws -> [CollectionInfo] {
    try pages.collections()
  }

  /// The collection called `name`; `nil` when it was never written.
  public borrowing func collection(_ name: String) throws -> Collection? { catalogue.byName[TextKey(name)] }

  /// The collection of a ``DocumentKey``.
  public borrowing func collection(number: UInt32) throws -> Collection? { catalogue.collection(number) }

  /// Hands a document's record, which may be a tombstone, to `body` in place.
  ///
  /// A death certificate is handed over as the bare tombstone that it stands for; scans pass it over.
  ///
  /// - Returns: `nil` when the document is unknown here.
  /// - Throws: `corrupt` when its checksum does not hold; what `body` throws.
  @inlinable
  public borrowing func withRecord<R>(
    _ collection: Collection, _ id: DocumentID, _ body: (borrowing RecordView, Summary) throws -> R
  ) throws -> R? {
    // Inlined, it is made for the caller's type: the lookups of types took a tenth of a read's time.
    var result: R?
    try visitRecord(collection, id) { result = try body($0, $1) }
    return result
  }

  @usableFromInline
  borrowing func visitRecord(
    _ collection: Collection, _ id: DocumentID, _ body: (borrowing RecordView, Summary) throws -> Void
  ) throws {
    try reader.check()
    let isFound = try stored.visitRecord(collection.id, named: collection.name, id) { row in
      try body(RecordView(row.record), row.summary)
    }
    if !isFound { _ = try stored.withTombstone(collection.id, id, sites, body) }
  }

  /// A copy of a document's record, which may be a tombstone.
  public borrowing func record(_ collection: Collection, _ id: DocumentID) throws -> Record? {
    try withRecord(collection, id) { record, _ in Record(copying: record) }
  }

  /// The sequence of the commit that last changed a document.
  public borrowing func sequence(of id: DocumentID, in collection: Collection) throws -> UInt64? {
    try pages.withRecord(collection.id, named: collection.name, id) { $0.sequence }
  }

  /// Visits a collection's records by ascending id bytes until `body` returns `false`, tombstones too.
  ///
  /// - Parameters:
  ///   - collection: What to visit.
  ///   - from: The first id's bytes, included.
  ///   - to: The id's bytes to stop before.
  ///   - verify: Whether each record's checksum is computed, which costs more than most predicates.
  ///   - body: Gets the id's bytes, the summary and the record, all in place.
  /// - Throws: `corrupt` for a damaged record, as far as that is looked for; what `body` throws.
  public borrowing func forEachRecord(
    in collection: Collection, from: [UInt8]? = nil, to: [UInt8]? = nil, verify: Bool = false,
    _ body: (_ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView) throws -> Bool
  ) throws {
    let reader = reader
    let pages = try pages
    let records = from == nil && to == nil ? pages.recordCount(of: collection) : nil
    try pages.forEachRecord(collection, from: from, to: to, verify: verify, records: records) {
      id, summary, record in
      try reader.check()
      return try body(id, summary, record)
    }
  }

  /// Visits a collection's records in the order in which the store has them until `body` returns `false`.
  ///
  /// That is by ascending number, as they first came to stand here: faster than by id, page by page.
  /// - Parameters:
  ///   - collection: What to visit.
  ///   - number: The first number, included; by default the first there is.
  ///   - verify: Whether each record's checksum is computed, which costs more than most predicates.
  ///   - body: Gets the number, the id's bytes, the summary and the record, all in place.
  /// - Throws: `corrupt` for a damaged record, as far as that is looked for; what `body` throws.
  public borrowing func forEachStoredRecord(
    in collection: Collection, from number: DocumentNumber? = nil, verify: Bool = false,
    _ body: (
      _ number: DocumentNumber, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView
    ) throws -> Bool
  ) throws {
    let reader = reader
    let pages = try pages
    let records = number == nil ? pages.recordCount(of: collection) : nil
    try pages.forEachRow(collection, from: number ?? .none, verify: verify, records: records) { row in
      try reader.check()
      return try body(row.number, row.id, row.summary, RecordView(row.record))
    }
  }

  /// Hands the record of a number, which may be a tombstone, and its id to `body` in place.
  ///
  /// - Returns: `nil` when no document has the number.
  /// - Throws: `corrupt` when the record's checks do not hold; what `body` throws.
  public borrowing func withRecord<R>(
    numbered number: DocumentNumber, in collection: Collection,
    _ body: (_ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView) throws -> R
  ) throws -> R? {
    try pages.withRecord(numbered: number, in: collection) { row in
      try body(row.id, row.summary, RecordView(row.record))
    }
  }

  /// Deletions of which only a death certificate is left, in all collections.
  public borrowing func certificateCount() throws -> Int {
    try pages.access.entryCount(pages.tables.certificates)
  }

  /// Visits the entries of one of the store's tables as they stand in the file, until `body` returns `false`.
  ///
  /// - Throws: `notFound` for a table that there is not.
  package borrowing func forEachEntry(of table: String, _ body: (RawSpan, RawSpan) throws -> Bool) throws {
    let pages = try pages
    guard let found = pages.tables.all.first(where: { $0.name.isSame(as: table) }) else {
      throw StoreError(.notFound, "There is no table of this name", operation: "read")
    }
    try pages.access.scan(found.table, from: [UInt8]().rawBytes, body)
  }

  /// The documents above the hard size limit, which are never sent.
  public borrowing func oversizeDocuments() throws -> [OversizeDocument] {
    let catalogue = catalogue
    return try pages.oversize { catalogue.collection($0)?.name }
  }
}

extension DocumentPages {
  /// The list of collections as this snapshot has it.
  func collections() throws(StoreError) -> [CollectionInfo] {
    var found: [CollectionInfo] = []
    try access.eachSmall(in: tables.collections, "collections") { (key, value) throws(CodecError) in
      let id = try key.readFixed(as: UInt32.self)
      let alive = try value.readFixed(as: UInt64.self)
      let records = try value.readFixed(as: UInt64.self)
      found.append(
        CollectionInfo(
          id: id, name: try value.readString(), documentCount: Int(clamping: alive),
          tombstoneCount: Int(clamping: records - min(alive, records))))
      return true
    }
    return found.sorted { $0.name < $1.name }
  }
}
