public import CRDTCore

/// A snapshot of the store: what was committed when it began, without later writes.
///
/// It exists only inside `Store.read(_:)`, on the caller's thread. It blocks no writer, but the store cannot
/// reuse the pages of its snapshot.
public struct ReadTransaction: ~Copyable {
  private let environment: Environment
  private let reader: ReaderSlot
  private let stored: DocumentPages
  private let known: KnownLog

  /// Begins a snapshot.
  init(_ environment: Environment, at place: SourcePlace, isExempt: Bool = false) throws(StoreError) {
    let reader = try environment.beginRead(at: place, isExempt: isExempt)
    do {
      if let log = reader.log {
        known = log
      } else {
        known = KnownLog(reader.access.transactionNumber, try LogState(reader.access, environment.tables))
      }
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

  /// The pages; throws if the snapshot is older than the deadline for readers.
  var pages: DocumentPages {
    get throws(StoreError) {
      try reader.check()
      return stored
    }
  }

  /// The log's state at the snapshot's commit.
  var log: LogState { known.state }

  var catalogue: Catalogue { reader.catalogue }

  var damagedIndexes: DamagedIndexes { environment.damagedIndexes }

  /// The reader's slot, by which cursors that outlast a call detect that the readers' deadline has passed.
  var slot: ReaderSlot { reader }

  /// Says whether the snapshot may still be read, for use while it is open.
  package var deadline: SnapshotDeadline { SnapshotDeadline(reader) }

  /// The engine's number of the snapshot's commit.
  var number: UInt64 { stored.access.transactionNumber }

  /// The last commit that the snapshot includes.
  public var sequence: UInt64 { log.sequence }

  /// The random number of the last commit that the snapshot includes.
  public var commitID: UInt64 { log.commitID }

  /// Increases with every transaction that evicts.
  public var evictionEpoch: UInt64 { log.evictionEpoch }

  /// The store's last clock reading that the snapshot includes; no earlier write has a later one.
  package var latestReading: ClockReading { log.clock.latest }

  /// The log is complete for peers that know everything up to this sequence, or a later one.
  package var logStart: UInt64 { log.logStart }

  /// The sites that records refer to.
  public var sites: SiteTable { catalogue.sites }

  /// All collections ever written, by name, with their counts of living documents.
  public borrowing func collections() throws -> [CollectionInfo] {
    try pages.collections()
  }

  /// The collection called `name`; `nil` when it was never written.
  public borrowing func collection(_ name: String) throws -> Collection? { catalogue.byName[TextKey(name)] }

  /// The collection with the number of a ``DocumentKey``.
  public borrowing func collection(number: UInt32) throws -> Collection? { catalogue.collection(number) }

  /// Passes a document's record, which may be a tombstone, to `body` in place.
  ///
  /// A compacted tombstone is passed as a bare tombstone; scans skip it.
  ///
  /// - Returns: `nil` when the document is unknown here.
  /// - Throws: `corrupt` when its checksum does not hold; what `body` throws.
  @inlinable
  public borrowing func withRecord<R>(
    _ collection: Collection, _ id: DocumentID, _ body: (borrowing RecordView, Summary) throws -> R
  ) throws -> R? {
    // Inlined, it is specialized for the caller's type: looking up types took a tenth of a read's time.
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
  ///   - collection: The collection.
  ///   - from: The first id's bytes, included.
  ///   - to: The bytes of the id before which to stop.
  ///   - verify: Whether to verify each record's checksum, which costs more than most predicates.
  ///   - body: Is called with the id's bytes, the summary and the record, all in place.
  /// - Throws: `corrupt` for a damaged record, if `verify` or reading it detects the damage; what `body`
  ///   throws.
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

  /// Visits a collection's records in the order in which they are stored until `body` returns `false`.
  ///
  /// That is by ascending number, the order in which the documents first arrived in this store. It is faster
  /// than by id, because it reads page by page.
  /// - Parameters:
  ///   - collection: The collection.
  ///   - number: The first number, included; by default the first existing one.
  ///   - verify: Whether to verify each record's checksum, which costs more than most predicates.
  ///   - body: Is called with the number, the id's bytes, the summary and the record, all in place.
  /// - Throws: `corrupt` for a damaged record, if `verify` or reading it detects the damage; what `body`
  ///   throws.
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

  /// Passes the record of a number, which may be a tombstone, and its id to `body` in place.
  ///
  /// - Returns: `nil` when no document has the number.
  /// - Throws: `corrupt` when the record fails its checks; what `body` throws.
  public borrowing func withRecord<R>(
    numbered number: DocumentNumber, in collection: Collection,
    _ body: (_ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView) throws -> R
  ) throws -> R? {
    try pages.withRecord(numbered: number, in: collection) { row in
      try body(row.id, row.summary, RecordView(row.record))
    }
  }

  /// The number of compacted tombstones, in all collections.
  public borrowing func certificateCount() throws -> Int {
    try pages.access.entryCount(pages.tables.certificates)
  }

  /// Visits the entries of one of the store's tables as they are in the file, until `body` returns `false`.
  ///
  /// - Throws: `notFound` if there is no such table.
  package borrowing func forEachEntry(of table: String, _ body: (RawSpan, RawSpan) throws -> Bool) throws {
    let pages = try pages
    guard let found = pages.tables.all.first(where: { $0.name.isSame(as: table) }) else {
      throw StoreError(.notFound, "There is no table of this name", operation: "read")
    }
    try pages.access.scan(found.table, from: [UInt8]().rawBytes, body)
  }

  /// The documents above the hard size limit, which are not sent to peers that have nothing of them.
  public borrowing func oversizeDocuments() throws -> [OversizeDocument] {
    let catalogue = catalogue
    return try pages.oversize { catalogue.collection($0)?.name }
  }
}

extension DocumentPages {
  /// The list of collections in this snapshot.
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
