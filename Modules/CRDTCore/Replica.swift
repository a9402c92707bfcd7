/// One site's side of documents that merge: what writes, encodes and merges them where there is no store.
///
/// A replica is a value. It holds the site, the clock, and the dictionaries of field names and sites to which its
/// documents' records refer; the documents are the caller's. To keep documents, keep their records and the replica's
/// ``tables`` and ``clock``, written together or the tables first: they only grow. Wall time is passed in, in
/// milliseconds since 1970.
///
/// ```swift
/// var replica = Replica(site: SiteID(high: random(), low: random()))
/// var order = ReplicatedDocument()
/// try replica.upsert(["status": .string("open"), "count": .counter(0)], into: &order, now: now)
/// try replica.update([.increment(["count"], 1)], of: &order, now: now)
/// try send(replica.encoding(of: order))
/// ```
public struct Replica: Sendable {
  /// What merging came to.
  public enum MergeResult: Hashable, Sendable {
    /// All of it was known already.
    case unchanged
    case changed
    /// It is a delta of what is not here, and nothing was merged; ask for what your vector lacks.
    case missingBase
    /// Both together are more than a document may be, and nothing was merged: `tooManySites`, `tooManyKeys`.
    case refused(DocumentError)
  }

  /// Who writes here: 16 random bytes, never those of another replica, nor of a copy of this one.
  public let site: SiteID
  private let siteHash: HashLanes
  /// The clock; its latest reading must not be given out twice, so keep it.
  public private(set) var clock: HybridClock
  /// The names and sites that records of this replica refer to by number.
  public private(set) var tables: RecordTables

  /// Makes a replica, or brings a former one back with the tables and the clock that it had.
  public init(site: SiteID, tables: RecordTables = RecordTables(), clock: HybridClock = HybridClock()) {
    self.site = site
    siteHash = StateHash.site(site)
    self.tables = tables
    self.clock = clock
  }

  // MARK: - Writing

  /// Writes fields, whether the document exists or not; a map merges key by key.
  ///
  /// - Parameters:
  ///   - fields: Top-level fields; `_id` is left out, since a document's id is not part of it.
  ///   - strategy: What happens to a document that is there.
  ///   - document: The document; left as it was where this throws.
  ///   - now: Wall time in milliseconds since 1970.
  /// - Returns: Whether anything was written.
  /// - Throws: `depth` for values nested too deep, `invalidPath` for a key too long, `notACounter` for a counter in an
  ///   array, `isACounter` for a number where a counter stands, `corrupt` for a record that is damaged or another replica's,
  ///   `tooManySites` where a document has as many writers as there may be, `tooManyKeys` the same of a map's keys.
  @discardableResult
  public mutating func upsert(
    _ fields: [TextKey: Value], _ strategy: WriteStrategy = .merge, into document: inout ReplicatedDocument,
    now: UInt64
  ) throws(DocumentError) -> Bool {
    let stamping = stamping(now)
    return try write(&document) { existing, tables throws(DocumentError) in
      try DocumentCodec.upsert(
        fields, strategy: strategy, existing: existing, stamping: stamping, tables: &tables)
    }
  }

  /// Applies edits to a living document, all or none.
  ///
  /// - Returns: Whether anything changed; `false` for a document that is unknown or deleted.
  /// - Throws: As ``upsert(_:_:into:now:)``; and `invalidPath` for a path that is empty or leads through what is no
  ///   map, `notACounter` for an increment of what is no number.
  @discardableResult
  public mutating func update(
    _ edits: [Edit], of document: inout ReplicatedDocument, now: UInt64
  ) throws(DocumentError) -> Bool {
    let stamping = stamping(now)
    return try write(&document) { existing, tables throws(DocumentError) in
      try DocumentCodec.update(edits, existing: existing, stamping: stamping, tables: &tables)
    }
  }

  /// Applies edits to a document whose record lies elsewhere, such as in the pages of a file.
  ///
  /// This is the step that a store takes for each update between reading a record and writing the new one.
  ///
  /// - Parameters:
  ///   - edits: What to change, all or none.
  ///   - stored: The record, verified when it was read, and the summary that was kept with it.
  ///   - memory: What is in it is lost. Set it to the new record's bytes when they are done with, and the next record
  ///     takes no new memory.
  ///   - now: Wall time in milliseconds since 1970.
  /// - Returns: What came of it; `nil` where nothing changed.
  /// - Throws: As ``update(_:of:now:)``.
  public mutating func update(
    _ edits: [Edit], of stored: StoredDocument, in memory: inout [UInt8], now: UInt64
  ) throws(DocumentError) -> ReplicatedDocument? {
    try DocumentCodec.update(
      edits, existing: stored, stamping: stamping(now), tables: &tables, in: &memory
    ).map { ReplicatedDocument($0) }
  }

  /// Deletes a document; its tombstone stays and must be kept and sent like any other state.
  ///
  /// - Returns: Whether it lived.
  /// - Throws: `corrupt` for a record that is damaged or another replica's, `tooManySites` as the other writes.
  @discardableResult
  public mutating func remove(
    _ document: inout ReplicatedDocument, now: UInt64
  ) throws(DocumentError) -> Bool {
    let stamping = stamping(now)
    return try write(&document) { existing, tables throws(DocumentError) in
      try DocumentCodec.remove(existing: existing, stamping: stamping, tables: &tables)
    }
  }

  private mutating func stamping(_ now: UInt64) -> Stamping {
    Stamping(site: site, siteHash: siteHash, reading: clock.tick(now: now))
  }

  private mutating func write(
    _ document: inout ReplicatedDocument,
    _ body: (StoredDocument?, inout RecordTables) throws(DocumentError) -> EncodedDocument?
  ) throws(DocumentError) -> Bool {
    let written: EncodedDocument?
    if let record = document.record {
      guard record.withView({ $0.verify() }) else { throw DocumentError(.corrupt, "a record is damaged") }
      written = try body(StoredDocument(record.bytes.span.bytes, summary: document.summary), &tables)
    } else {
      written = try body(nil, &tables)
    }
    guard let written else { return false }
    document = ReplicatedDocument(written)
    return true
  }

  // MARK: - Exchange

  /// The whole state, for a replica that has nothing of it: canonical, so equal states have equal bytes.
  ///
  /// - Returns: Nothing for an unknown document.
  /// - Throws: A `CodecError` for a record that is damaged or another replica's.
  public func encoding(of document: ReplicatedDocument) throws(CodecError) -> [UInt8] {
    try delta(of: document, since: VersionVector())
  }

  /// The part of the state that `vector` lacks, for the replica whose vector it is.
  ///
  /// - Returns: As ``encoding(of:)`` for an empty vector.
  /// - Throws: As ``encoding(of:)``.
  public func delta(
    of document: ReplicatedDocument, since vector: VersionVector
  ) throws(CodecError) -> [UInt8] {
    guard let record = document.record else { return [] }
    var out = ByteWriter(capacity: vector.isEmpty ? record.bytes.count : 96)
    let view = try verified(record)
    try WireDocument.append(view, lacking: vector, tables: tables, to: &out)
    return out.bytes
  }

  /// The write that led from a former state of the document to this one, for a replica that has just the former.
  ///
  /// It takes some twenty bytes beside the field and its value.
  /// A replica with any other state answers `missingBase`.
  ///
  /// - Returns: As ``delta(of:since:)`` with the former state's vector, where it was not one replica's latest write.
  /// - Throws: As ``encoding(of:)``.
  public func delta(
    of document: ReplicatedDocument, after former: ReplicatedDocument
  ) throws(CodecError) -> [UInt8] {
    guard let record = document.record, let base = former.record else { return try encoding(of: document) }
    let successor = try WireDocument.successor(
      of: StoredDocument(try verified(base).bytes, summary: former.summary),
      to: StoredDocument(try verified(record).bytes, summary: document.summary), tables: tables)
    guard let successor else { return try delta(of: document, since: try vector(of: former)) }
    return successor.bytes
  }

  /// Merges another replica's encoding or delta; in any order and any number of times it comes to the same.
  ///
  /// The clock follows the other's, but not to a time more than ``HybridClock/maximumLead`` ahead.
  ///
  /// - Parameters:
  ///   - bytes: From anywhere: nothing is taken for granted.
  ///   - document: The document; left as it was where this throws.
  ///   - now: Wall time in milliseconds since 1970.
  /// - Returns: What it came to.
  /// - Throws: A `CodecError` for bytes that are not one canonical document, which no replica sends; for a record that
  ///   is damaged or another replica's.
  @discardableResult
  public mutating func merge(
    _ bytes: [UInt8], into document: inout ReplicatedDocument, now: UInt64
  ) throws(CodecError) -> MergeResult {
    let wire = bytes.span.bytes
    let outcome: MergeOutcome
    if let record = document.record {
      let stored = StoredDocument(try verified(record).bytes, summary: document.summary)
      outcome = try DocumentCodec.merge(wire: wire, existing: stored, own: site, tables: &tables)
    } else {
      outcome = try DocumentCodec.merge(wire: wire, existing: nil, own: site, tables: &tables)
    }
    switch outcome {
    case .unchanged: return .unchanged
    case .missingBase: return .missingBase
    case .refused(let error): return .refused(error)
    case .changed(let merged):
      let latest = try WireDocument.latest(wire, onto: document.record?.bytes.span.bytes, sites: tables.sites)
      _ = clock.observe(latest, now: now)
      document = ReplicatedDocument(merged)
      return .changed
    }
  }

  // MARK: - Reading

  /// What the document includes of whose writes: send it to ask for the rest.
  ///
  /// - Throws: As ``encoding(of:)``.
  public func vector(of document: ReplicatedDocument) throws(CodecError) -> VersionVector {
    guard let record = document.record else { return VersionVector() }
    return try verified(record).vector(sites: tables.sites)
  }

  /// All fields; `nil` for a document that is unknown or deleted.
  ///
  /// - Throws: As ``encoding(of:)``.
  public func fields(of document: ReplicatedDocument) throws(CodecError) -> [TextKey: Value]? {
    guard let record = document.record, document.isAlive else { return nil }
    return try verified(record).fields(tables.keys)
  }

  /// Takes in a record that was stored: one of this replica, with its tables as they were then or later.
  ///
  /// - Throws: A `CodecError` for a record that is damaged or another replica's.
  public func document(of record: Record) throws(CodecError) -> ReplicatedDocument {
    let view = try verified(record)
    let state = try DocumentState(view, own: site, tables: tables)
    return ReplicatedDocument(
      EncodedDocument(record: record.bytes, summary: state.summary, isAlive: state.isAlive))
  }

  @_lifetime(borrow record)
  private func verified(_ record: borrowing Record) throws(CodecError) -> RecordView {
    let view = RecordView(record.bytes.span.bytes)
    guard view.verify() else { throw CodecError(.checksum, "a record is damaged") }
    return view
  }
}
