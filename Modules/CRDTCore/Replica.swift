/// One site's side of documents that merge: it writes, encodes and merges them without a store.
///
/// A replica is a value. It holds the site, the clock, and the dictionaries of field names and sites that its
/// documents' records refer to. The caller holds the documents. To keep documents, keep their records and the
/// replica's ``tables`` and ``clock``. Write them together, or write the tables first: tables only grow. The
/// caller passes wall time in, in milliseconds since 1970.
///
/// ```swift
/// var replica = Replica(site: SiteID(high: random(), low: random()))
/// var order = ReplicatedDocument()
/// try replica.upsert(["status": .string("open"), "count": .counter(0)], into: &order, now: now)
/// try replica.update([.increment(["count"], 1)], of: &order, now: now)
/// try send(replica.encoding(of: order))
/// ```
public struct Replica: Sendable {
  /// The result of merging.
  public enum MergeResult: Hashable, Sendable {
    /// The document already included all of it.
    case unchanged
    case changed
    /// The bytes are a delta on a state that the document does not have; nothing was merged.
    ///
    /// Ask the peer for what your vector lacks.
    case missingBase
    /// Both together exceed the limits of a document; nothing was merged: `tooManySites`, `tooManyKeys`.
    case refused(DocumentError)
  }

  /// The writing site: 16 random bytes, never those of another replica, nor of a copy of this one.
  public let site: SiteID
  private let siteHash: HashLanes
  /// The clock; keep it, because it must not return its latest reading twice.
  public private(set) var clock: HybridClock
  /// The names and sites that this replica's records refer to by number.
  public private(set) var tables: RecordTables

  /// Makes a new replica, or restores one from its tables and its clock.
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
  ///   - fields: Top-level fields; `_id` is ignored, because a document's id is not part of it.
  ///   - strategy: How to treat an existing document.
  ///   - document: The document; it does not change if this throws.
  ///   - now: Wall time in milliseconds since 1970.
  /// - Returns: Whether anything was written.
  /// - Throws: `depth` for values nested too deep, `invalidPath` for a key too long, `notACounter` for a
  ///   counter in an array, `isACounter` for a number in the place of a counter, `corrupt` for a record that
  ///   is damaged or another replica's, `tooManySites` if the document already has the maximum number of
  ///   writers, `tooManyKeys` for a map with too many keys.
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
  /// - Throws: As ``upsert(_:_:into:now:)``; and `invalidPath` for a path that is empty or leads through
  ///   something other than a map, `notACounter` for an increment of something other than a number.
  @discardableResult
  public mutating func update(
    _ edits: [Edit], of document: inout ReplicatedDocument, now: UInt64
  ) throws(DocumentError) -> Bool {
    let stamping = stamping(now)
    return try write(&document) { existing, tables throws(DocumentError) in
      try DocumentCodec.update(edits, existing: existing, stamping: stamping, tables: &tables)
    }
  }

  /// Applies edits to a document whose record is stored elsewhere, such as in the pages of a file.
  ///
  /// A store does this for each update, between reading a record and writing the new one.
  ///
  /// - Parameters:
  ///   - edits: What to change, all or none.
  ///   - stored: The record, verified when it was read, and the summary that was stored with it.
  ///   - memory: Its contents are lost. Set it to the new record's bytes when they are no longer needed;
  ///     then the next record allocates no memory.
  ///   - now: Wall time in milliseconds since 1970.
  /// - Returns: The new document; `nil` if nothing changed.
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
  /// - Returns: Whether the document was alive.
  /// - Throws: `corrupt` for a record that is damaged or another replica's, `tooManySites` as the other
  ///   writes.
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

  /// Encodes the full state, for a replica that has nothing of it.
  ///
  /// The encoding is canonical, so equal states have equal bytes.
  ///
  /// - Returns: The bytes; none for an unknown document.
  /// - Throws: A `CodecError` for a record that is damaged or another replica's.
  public func encoding(of document: ReplicatedDocument) throws(CodecError) -> [UInt8] {
    try delta(of: document, since: VersionVector())
  }

  /// Encodes the part of the state that `vector` lacks, for the replica whose vector it is.
  ///
  /// - Returns: The bytes; for an empty vector the same as ``encoding(of:)``.
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

  /// Encodes the write between a former state and this one, for a replica in exactly the former state.
  ///
  /// It takes some twenty bytes in addition to the field and its value. A replica in any other state returns
  /// `missingBase`.
  ///
  /// - Returns: The bytes; if the difference is more than one replica's latest write, those of
  ///   ``delta(of:since:)`` with the former state's vector.
  /// - Throws: As ``encoding(of:)``.
  public func delta(
    of document: ReplicatedDocument, after former: ReplicatedDocument
  ) throws(CodecError) -> [UInt8] {
    guard let record = document.record, let base = former.record else { return try encoding(of: document) }
    let operationDelta = try WireDocument.operationDelta(
      of: StoredDocument(try verified(base).bytes, summary: former.summary),
      to: StoredDocument(try verified(record).bytes, summary: document.summary), tables: tables)
    guard let operationDelta else { return try delta(of: document, since: try vector(of: former)) }
    return operationDelta.bytes
  }

  /// Merges another replica's encoding or delta; order and repetitions do not change the final state.
  ///
  /// The clock follows the other replica's, but not to a time more than ``HybridClock/maximumLead`` ahead.
  ///
  /// - Parameters:
  ///   - bytes: Bytes from any source; they are fully checked.
  ///   - document: The document; it does not change if this throws.
  ///   - now: Wall time in milliseconds since 1970.
  /// - Returns: The result of the merge.
  /// - Throws: A `CodecError` for bytes that are not one canonical document, which no replica sends; for a
  ///   record that is damaged or another replica's.
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

  /// Returns the version vector of the document's included writes; send it to ask for the rest.
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

  /// Restores a document from its stored record, with this replica's tables of that time or later.
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
