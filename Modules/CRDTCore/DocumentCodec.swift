/// How an upsert treats an existing document.
public enum WriteStrategy: Hashable, Sendable {
  /// Writes every given field; other fields keep their values.
  case merge
  /// Writes only if no living document has the id.
  case insertIfAbsent
  /// Writes default data, which loses to every real write, and only if nothing is known of the id.
  case insertDefaultIfAbsent
  /// Writes only the fields whose values differ.
  case updateDifferentValues
}

/// The result of merging a peer's document into a record.
package enum MergeOutcome: Sendable {
  /// The record already included all of it.
  case unchanged
  case changed(EncodedDocument)
  /// It is a delta on a state that is not stored here; the full state, or a larger delta, is needed.
  case missingBase
  /// Both together exceed the limits of a document; the stored state does not change.
  case refused(DocumentError)
}

/// A document as a store holds it: its record in place, and the summary that is stored with it.
///
/// The summary must belong to the record, because a change that patches the record adjusts the summary by
/// differences. If only a compacted tombstone is stored, its bare tombstone takes the place of the record
/// (`DocumentCodec.tombstone(of:tables:)`).
public struct StoredDocument: ~Escapable {
  package let record: RawSpan
  package let summary: Summary

  @_lifetime(copy record)
  public init(_ record: RawSpan, summary: Summary) {
    self.record = record
    self.summary = summary
  }
}

/// How a record is changed; all routes lead to the same state, summary and canonical bytes.
package enum CodecRoute: Sendable {
  /// On the record's bytes if possible, otherwise over the decoded tree.
  case shortest
  /// On the record's bytes, or not at all; for tests that compare the routes.
  case patch
  /// Over the decoded tree, which is the reference for the other route.
  case tree
}

/// Every change of a record that the store makes, from bytes to bytes.
package enum DocumentCodec {
  /// - Returns: `nil` when there is nothing to write.
  package static func upsert(
    _ fields: [TextKey: Value], strategy: WriteStrategy, existing: StoredDocument?, stamping: Stamping,
    tables: inout RecordTables, by route: CodecRoute = .shortest
  ) throws(DocumentError) -> EncodedDocument? {
    guard fields.count - (fields["_id"] == nil ? 0 : 1) <= Limits.keysPerMap else { throw .tooManyKeys }
    for (key, value) in fields {
      guard key.utf8.count <= UInt16.max else {
        throw DocumentError(.invalidPath, "a key takes more than \(UInt16.max) bytes")
      }
      try value.checked()
    }
    guard let existing else {
      let isDefault = strategy == .insertDefaultIfAbsent
      if !isDefault, fields.contains(where: { $0.key != "_id" && $0.value.holdsCounter }) {
        // A counter's stamp differs from that of the other fields.
        var state = DocumentState(life: .zero, lifeBirth: .zero, isAlive: false)
        try state.upsert(fields.withoutID, stamping)
        return StateEncoder.encode(state, own: stamping.site, tables: &tables)
      }
      let stamp = isDefault ? .zero : Stamp(reading: stamping.reading, site: stamping.site)
      return try FreshEncoder.encode(fields, stamp: stamp, tables: &tables)
    }
    let view = RecordView(existing.record)
    switch strategy {
    case .insertDefaultIfAbsent: return nil
    case .insertIfAbsent where view.isAlive: return nil
    case .merge, .insertIfAbsent, .updateDifferentValues: break
    }
    if route != .tree, view.isAlive {
      switch RecordPatch.upsert(
        fields, onlyDifferences: strategy == .updateDifferentValues, existing, stamping, &tables)
      {
      case .patched(let document): return document
      case .unchanged: return nil
      case .tooMuch where route == .patch: return nil
      case .tooMuch: break
      }
    }
    var state = try decode(view, own: stamping.site, tables)
    let fields = fields.withoutID
    if strategy == .updateDifferentValues, state.isAlive {
      let edits = fields.flatMap {
        Self.differences(at: [$0.key], from: state.root[$0.key]?.value, to: $0.value)
      }
      guard !edits.isEmpty else { return nil }
      try state.apply(edits, stamping, settingAs: .upsert)
    } else {
      try state.upsert(fields, stamping)
    }
    try state.checked()
    return StateEncoder.encode(state, own: stamping.site, tables: &tables)
  }

  /// Applies `edits` to a living document, all or none.
  ///
  /// - Returns: `nil` when the document is unknown or deleted, or when no edit changes anything.
  package static func update(
    _ edits: [Edit], existing: StoredDocument?, stamping: Stamping, tables: inout RecordTables,
    by route: CodecRoute = .shortest
  ) throws(DocumentError) -> EncodedDocument? {
    var room: [UInt8] = []
    return try update(edits, existing: existing, stamping: stamping, tables: &tables, in: &room, by: route)
  }

  // The same for many documents in sequence: the new record may reuse the memory of `room`, whose bytes are
  // lost. Assign the record's bytes back to `room` when the record is no longer needed; then the next one
  // allocates no memory.
  package static func update(
    _ edits: [Edit], existing: StoredDocument?, stamping: Stamping, tables: inout RecordTables,
    in room: inout [UInt8], by route: CodecRoute = .shortest
  ) throws(DocumentError) -> EncodedDocument? {
    if route != .tree, edits.count == 1, let existing,
      let patched = FieldPatch.applyFirst(of: edits, existing, stamping, &tables, in: &room)
    {
      return patched
    }
    for edit in edits {
      switch edit {
      case .set(let path, let value), .replace(let path, let value): try value.checked(depth: path.count)
      case .remove, .increment, .restart: continue
      }
    }
    guard let existing else { return nil }
    let view = RecordView(existing.record)
    guard view.isAlive else { return nil }
    if route != .tree {
      if let patched = RecordPatch.update(edits, existing, stamping, &tables) { return patched }
      guard route == .shortest else { return nil }
    }
    var state = try decode(view, own: stamping.site, tables)
    let before = state.vector
    try state.apply(edits, stamping)
    guard state.vector != before else { return nil }
    try state.checked()
    return StateEncoder.encode(state, own: stamping.site, tables: &tables)
  }

  /// - Returns: The tombstone; `nil` when the document is unknown or already deleted.
  package static func remove(
    existing: StoredDocument?, stamping: Stamping, tables: inout RecordTables
  ) throws(DocumentError) -> EncodedDocument? {
    guard let existing else { return nil }
    let view = RecordView(existing.record)
    guard view.isAlive else { return nil }
    var state = try decode(view, own: stamping.site, tables)
    state.delete(stamping)
    try state.checked()
    return StateEncoder.encode(state, own: stamping.site, tables: &tables)
  }

  /// Deletes a document, known or not, and ends everything that was written to it before, at every replica.
  ///
  /// A later write that did not know of it starts from nothing.
  ///
  /// - Returns: The record, which holds the stamp of the erasure alone.
  /// - Throws: `corrupt` for a damaged record.
  package static func erase(
    existing: StoredDocument?, stamping: Stamping, tables: inout RecordTables
  ) throws(DocumentError) -> EncodedDocument {
    var state = DocumentState(life: .zero, lifeBirth: .zero, isAlive: false)
    if let existing { state = try decode(RecordView(existing.record), own: stamping.site, tables) }
    state.erase(stamping)
    return StateEncoder.encode(state, own: stamping.site, tables: &tables)
  }

  /// Merges a wire document, a full state or a delta, into a record or into nothing.
  ///
  /// The result of an operation delta is compared with the result that the delta announces, unless
  /// `checkingResult` is `false`: then the caller compares it by other means.
  ///
  /// - Throws: A `CodecError` when the wire document is malformed or the record damaged.
  package static func merge(
    wire: RawSpan, existing: StoredDocument?, own site: SiteID, tables: inout RecordTables,
    by route: CodecRoute = .shortest, checkingResult: Bool = true
  ) throws(CodecError) -> MergeOutcome {
    if OperationDeltaHead.announces(wire) {
      return try merge(
        operationDelta: wire, existing: existing, own: site, tables: &tables, by: route, checkingResult)
    }
    guard let existing else {
      if let fresh = try WireTranscoder.record(fromUniform: wire, tables: &tables) { return .changed(fresh) }
      var incoming = try WireReader.read(wire)
      guard incoming.base.isEmpty else { return .missingBase }
      incoming.prune()
      incoming.dropErased()
      return incoming.merged(own: site, &tables)
    }
    if route != .tree {
      switch WirePatch.merge(wire, into: existing, own: site, &tables) {
      case .patched(let document): return .changed(document)
      case .unchanged: return .unchanged
      case .tooMuch where route == .patch: return .missingBase
      case .tooMuch: break
      }
    }
    let incoming = try WireReader.read(wire)
    var state = try DocumentState(RecordView(existing.record), own: site, tables: tables)
    let before = state
    guard state.merge(incoming) else { return .missingBase }
    guard state.differs(from: before) else { return .unchanged }
    return state.merged(own: site, &tables)
  }

  /// Returns the record that merging a uniform document makes when nothing is known of the document.
  ///
  /// - Returns: `nil` for a document that is not uniform.
  package static func record(
    ofUniform wire: RawSpan, tables: inout RecordTables
  ) throws(CodecError) -> EncodedDocument? {
    try WireTranscoder.record(fromUniform: wire, tables: &tables)
  }

  /// Merges an operation delta, only if the record has its base state and the result is as announced.
  private static func merge(
    operationDelta wire: RawSpan, existing: StoredDocument?, own site: SiteID, tables: inout RecordTables,
    by route: CodecRoute, _ checkingResult: Bool
  ) throws(CodecError) -> MergeOutcome {
    guard let existing, case .state(let step) = try WireDocument.basis(wire), step.fits(existing.summary)
    else {
      try WireDocument.validate(wire)
      return .missingBase
    }
    guard !checkingResult || !step.leads(to: existing.summary) else {
      try WireDocument.validate(wire)
      return .unchanged
    }
    let formerTables = tables
    var merged: EncodedDocument?
    if route != .tree,
      case .patched(let document) = WirePatch.merge(wire, into: existing, own: site, &tables)
    {
      merged = document
    } else if route != .patch {
      var state = try DocumentState(RecordView(existing.record), own: site, tables: tables)
      if let delta = try OperationDeltaReader.read(wire, onto: state), state.merge(delta) {
        switch state.merged(own: site, &tables) {
        case .changed(let document): merged = document
        case .refused(let error): return .refused(error)
        case .unchanged, .missingBase: break
        }
      }
    }
    guard let merged, !checkingResult || step.leads(to: merged.summary) else {
      tables = formerTables
      return .missingBase
    }
    return .changed(merged)
  }

  /// Merges a peer's full state, and drops what the peer has seen and no longer holds.
  package static func repair(
    wire: RawSpan, existing: StoredDocument, own site: SiteID, tables: inout RecordTables
  ) throws(CodecError) -> MergeOutcome {
    let incoming = try WireReader.read(wire)
    var state = try DocumentState(RecordView(existing.record), own: site, tables: tables)
    let before = state
    state.repair(with: incoming)
    // Earlier releases counted superseded writers in a summary.
    guard state.differs(from: before) || state.summary != existing.summary else { return .unchanged }
    return state.merged(own: site, &tables)
  }

  /// The record of a compacted tombstone: a bare tombstone that holds only the time of the removal.
  ///
  /// Merging with it is the ordinary join. A write over it is a write over a deletion at that stamp.
  ///
  /// - Parameters:
  ///   - death: The stamp of the removal.
  ///   - floor: The document's floor, zero for none; an erased document's is the stamp of its removal.
  ///   - tables: The tables that the record refers to.
  /// - Returns: The record.
  package static func tombstone(
    of death: Stamp, floor: Stamp = .zero, tables: inout RecordTables
  ) -> EncodedDocument {
    var state = DocumentState(life: death, lifeBirth: .zero, isAlive: false)
    state.floor = floor
    return StateEncoder.encode(state, own: .zero, tables: &tables)
  }

  private static func decode(
    _ view: borrowing RecordView, own site: SiteID, _ tables: RecordTables
  ) throws(DocumentError) -> DocumentState {
    do throws(CodecError) {
      return try DocumentState(view, own: site, tables: tables)
    } catch {
      throw DocumentError(.corrupt, error.message)
    }
  }

  /// Returns the edits that turn `old` into `new`; they do not touch equal values and remove nothing.
  private static func differences(at path: [TextKey], from old: Value?, to new: Value) -> [Edit] {
    if case .map(let fields) = new, case .map(let known)? = old {
      return fields.flatMap { differences(at: path + [$0.key], from: known[$0.key], to: $0.value) }
    }
    if case .counter = new, case .counter? = old { return [] }
    return old == new ? [] : [.set(path, new)]
  }
}

extension [TextKey: Value] {
  fileprivate var withoutID: [TextKey: Value] {
    var fields = self
    fields["_id"] = nil
    return fields
  }
}

extension RecordView {
  /// Returns a lower bound of the document's version before the latest writes of a site.
  ///
  /// - Parameters:
  ///   - vector: The record's version vector.
  ///   - site: The site of the latest writes.
  ///   - reading: The last of the site's clock readings before those writes.
  ///   - sites: The table that the record refers to.
  /// - Returns: A vector that may include less than the version before those writes; the difference is sent
  ///   once more.
  package func version(
    _ vector: VersionVector, beforeWritesOf site: SiteID, after reading: ClockReading, sites: SiteTable
  ) -> VersionVector {
    guard vector.elements.contains(where: { $0.writer.site == site && $0.reading > reading }) else {
      return vector
    }
    // Most entries have the base stamp.
    let shown = baseReading <= reading && sites[baseSite] == site ? baseReading : .zero
    return VersionVector(
      ascending: vector.elements.compactMap { element in
        guard element.writer.site == site, element.reading > reading else { return element }
        guard element.writer.birth <= reading else { return nil }
        return .init(writer: element.writer, reading: max(element.writer.birth, shown))
      })
  }

  /// Whether the document has a floor: it was written anew after a deletion, or erased.
  ///
  /// - Complexity: O(1).
  package var hasFloor: Bool {
    guard !isFresh, metadata.byteCount > 0 else { return false }
    return RecordMetadata.Parts(rawValue: metadata.byte(at: 0)).contains(.floor)
  }

  /// Reads the document's floor, without decoding the document: entries at or below it do not exist.
  ///
  /// - Returns: The stamp; zero for a document without a floor.
  /// - Throws: A `CodecError` when the record is damaged or the table is too old for it.
  package func floor(sites: SiteTable) throws(CodecError) -> Stamp {
    guard !isFresh else { return .zero }
    var reader = ByteReader(metadata)
    return try RecordHead(&reader, base: baseReading, sites: sites).floor
  }

  /// Whether the document was erased, and not written anew since.
  ///
  /// - Throws: A `CodecError` when the record is damaged or the table is too old for it.
  package func isErased(sites: SiteTable) throws(CodecError) -> Bool {
    guard !isAlive, !isFresh else { return false }
    var reader = ByteReader(metadata)
    let head = try RecordHead(&reader, base: baseReading, sites: sites)
    guard let life = head.bareLife else { return false }
    return head.floor >= life
  }

  /// Reads the version vector, without decoding the document.
  ///
  /// - Throws: A `CodecError` when the record is damaged or the table is too old for it.
  package func vector(sites: SiteTable) throws(CodecError) -> VersionVector {
    if isFresh {
      guard let site = sites[baseSite] else {
        throw CodecError(
          .unknownName, "a site ordinal is not in the store's table", at: RecordLayout.baseSiteOffset)
      }
      guard baseReading > .zero else { return VersionVector() }
      let writer = Writer(site: site, birth: baseReading)
      return VersionVector(ascending: [.init(writer: writer, reading: baseReading)])
    }
    var reader = ByteReader(metadata)
    return try RecordHead.readVector(&reader, base: baseReading, sites: sites).vector
  }

  /// Whether the record holds something that no version vector covers.
  ///
  /// That is default data, or a deletion of which only the time is known. A peer with an equal vector may
  /// lack it.
  ///
  /// - Throws: A `CodecError` when the record is damaged or a table is too old for it.
  /// - Complexity: O(*n*) in the entries whose stamp is not the base stamp.
  package func exceedsVector(tables: RecordTables) throws(CodecError) -> Bool {
    guard !isDefault, !isFresh else { return isDefault }
    var reader = ByteReader(metadata)
    let metadata = try RecordMetadata(&reader, base: baseReading, tables: tables)
    return metadata.bareLife != nil || metadata.parts.contains(.unlisted)
      || metadata.marks.contains { $0.mark.writer == 0 }
      || metadata.hidden.contains { $0.register.isDefault }
  }
}
