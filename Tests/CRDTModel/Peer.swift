package import CRDTCore

/// One replica of one document with dictionaries of its own, as a store would keep it.
package struct Peer {
  package private(set) var site: SiteID
  package var tables = RecordTables()
  package var document: EncodedDocument?
  package var clock = HybridClock()
  /// The first reading of the opening that writes.
  private var opening = ClockReading.zero

  package init(_ number: Int) { site = SiteID(high: 0xD000 + UInt64(number), low: UInt64(number)) }

  /// The record with its checksum, or `nil` for an unknown document.
  package var record: Record? { document.map { Record(bytes: $0.record) } }

  package var isAlive: Bool { document?.isAlive ?? false }

  /// What a reader sees; `nil` for a document that is unknown or deleted.
  package var fields: [TextKey: Value]? {
    get throws {
      guard let record, isAlive else { return nil }
      return try record.withView { view throws(CodecError) in try view.fields(tables.keys) }
    }
  }

  package var vector: VersionVector {
    get throws {
      guard let record else { return VersionVector() }
      return try record.withView { view throws(CodecError) in try view.vector(sites: tables.sites) }
    }
  }

  /// The summary of the state that the record holds, told from all of it.
  package var decodedSummary: Summary? {
    get throws {
      try record?.withView { view throws(CodecError) in
        try DocumentState(view, own: site, tables: tables).summary
      }
    }
  }

  /// Whether the record's checksum holds.
  package var verifies: Bool { record?.withView { $0.verify() } ?? false }

  /// The value at a path, read in place.
  package func value(at path: ResolvedPath) throws -> Value? {
    try record?.withView { view throws(CodecError) in
      guard let value = view.value(at: path) else { return nil }
      return try value.materialize(tables.keys)
    }
  }

  /// Bytes of merge metadata: the base stamp in the header and what follows the values.
  package var metadataBytes: Int {
    guard let document else { return 0 }
    let metadata = document.record[12..<16].reversed().reduce(0) { $0 << 8 | Int($1) }
    return 12 + document.record.count - metadata
  }

  package mutating func stamping(_ now: UInt64) -> Stamping {
    Stamping(site: site, reading: clock.tick(now: now), opening: opening)
  }

  /// Begins an opening, as a store does.
  package mutating func open(random: UInt64, now: UInt64) {
    clock.diverge(by: random, now: now)
    opening = clock.latest.next
  }

  @discardableResult
  package mutating func upsert(
    _ fields: [TextKey: Value], _ strategy: WriteStrategy = .merge, now: UInt64 = 0
  ) throws -> Bool {
    try upsert(fields, strategy, stamping(now))
  }

  @discardableResult
  package mutating func upsert(
    _ fields: [TextKey: Value], _ strategy: WriteStrategy, _ stamping: Stamping
  ) throws -> Bool {
    try replace { tables, existing throws(DocumentError) in
      try DocumentCodec.upsert(
        fields, strategy: strategy, existing: existing, stamping: stamping, tables: &tables)
    }
  }

  @discardableResult
  package mutating func update(_ edits: [Edit], now: UInt64 = 0) throws -> Bool {
    try update(edits, stamping(now))
  }

  @discardableResult
  package mutating func update(_ edits: [Edit], _ stamping: Stamping) throws -> Bool {
    try replace { tables, existing throws(DocumentError) in
      try DocumentCodec.update(edits, existing: existing, stamping: stamping, tables: &tables)
    }
  }

  @discardableResult
  package mutating func remove(now: UInt64 = 0) throws -> Bool { try remove(stamping(now)) }

  @discardableResult
  package mutating func remove(_ stamping: Stamping) throws -> Bool {
    try replace { tables, existing throws(DocumentError) in
      try DocumentCodec.remove(existing: existing, stamping: stamping, tables: &tables)
    }
  }

  /// Erases the document, known or not.
  package mutating func erase(now: UInt64 = 0) throws {
    let stamping = stamping(now)
    let existing = document
    document = try DocumentCodec.erase(existing: existing?.stored, stamping: stamping, tables: &tables)
  }

  /// The document's floor: nothing at or below it exists.
  package var floor: Stamp {
    get throws {
      try record?.withView { view throws(CodecError) in try view.floor(sites: tables.sites) }
        ?? Stamp(reading: .zero, site: .zero)
    }
  }

  /// Whether nothing is known of the document but its erasure, and what was written later without life.
  package var isErased: Bool {
    get throws {
      try record?.withView { view throws(CodecError) in try view.isErased(sites: tables.sites) } ?? false
    }
  }

  package mutating func evict() { document = nil }

  /// Evicts as a store does: a deletion leaves its certificate, and a floor one that says deleted there.
  package mutating func evictKeepingFloor() throws {
    guard document != nil else { return }
    let floor = try floor
    if !isAlive {
      try collect(before: ClockReading(rawValue: .max))
    } else if floor.reading > .zero {
      document = DocumentCodec.tombstone(of: floor, floor: floor, tables: &tables)
    } else {
      document = nil
    }
  }

  /// The canonical wire form of what `base` lacks.
  package func wire(
    lacking base: VersionVector = VersionVector(), by route: CodecRoute = .shortest
  ) throws -> [UInt8] {
    guard let record else { return [] }
    return try record.withView { view throws(CodecError) in
      var out = ByteWriter()
      try WireDocument.append(view, lacking: base, tables: tables, to: &out, by: route)
      return out.bytes
    }
  }

  /// The one write that led here from what `former` had; `nil` where it was not one.
  package func operationDelta(of former: Peer, by route: CodecRoute = .shortest) throws -> [UInt8]? {
    guard let document, let before = former.document else { return nil }
    return try WireDocument.operationDelta(
      of: before.stored, to: document.stored, tables: tables, by: route)?.bytes
  }

  @discardableResult
  package mutating func merge(_ wire: [UInt8]) throws -> MergeOutcome {
    try WireDocument.validate(wire.span.bytes)
    let existing = document
    let outcome = try DocumentCodec.merge(
      wire: wire.span.bytes, existing: existing?.stored, own: site, tables: &tables)
    if case .changed(let changed) = outcome { document = changed }
    return outcome
  }

  @discardableResult
  package mutating func repair(_ wire: [UInt8]) throws -> MergeOutcome {
    guard let existing = document else { return .unchanged }
    let outcome = try DocumentCodec.repair(
      wire: wire.span.bytes, existing: existing.stored, own: site, tables: &tables)
    if case .changed(let changed) = outcome { document = changed }
    return outcome
  }

  /// The same store under another site, as after a clone or a restore.
  package func changingSite(to number: Int) -> Peer {
    var peer = self
    peer.site = Peer(number).site
    return peer
  }

  package enum Collected: Equatable { case unchanged, changed, certified(hasLaterWrites: Bool) }

  /// Collects removals; a tombstone that is old enough becomes its certificate.
  @discardableResult
  package mutating func collect(before horizon: ClockReading) throws -> Collected {
    guard let existing = document else { return .unchanged }
    let outcome = try DocumentCodec.collect(
      before: horizon, existing: existing.stored, own: site, tables: &tables)
    switch outcome {
    case .unchanged: return .unchanged
    case .changed(let changed):
      document = changed
      return .changed
    case .certifiable(let certifiable):
      document = DocumentCodec.tombstone(of: certifiable.life, floor: certifiable.floor, tables: &tables)
      return .certified(hasLaterWrites: certifiable.hasLaterWrites)
    }
  }

  /// Takes over what `other` has and this replica lacks: as a delta, or as the whole document.
  package mutating func pull(_ other: Peer, whole: Bool = false) throws {
    guard other.document != nil else { return }
    _ = try merge(other.wire(lacking: whole ? VersionVector() : vector))
  }

  private mutating func replace(
    _ body: (inout RecordTables, StoredDocument?) throws(DocumentError) -> EncodedDocument?
  ) throws -> Bool {
    let existing = document
    guard let changed = try body(&tables, existing?.stored) else { return false }
    document = changed
    return true
  }
}

extension EncodedDocument {
  /// The document as a store would hand it to the codec.
  package var stored: StoredDocument {
    @_lifetime(borrow self)
    get { StoredDocument(record.span.bytes, summary: summary) }
  }
}

extension MergeOutcome {
  package var isChanged: Bool { if case .changed = self { true } else { false } }
  package var isMissingBase: Bool { if case .missingBase = self { true } else { false } }
  package var isUnchanged: Bool { if case .unchanged = self { true } else { false } }
}
