import CRDTCore

extension WriteTransaction {
  /// What was stored under a document's key.
  struct StoredState {
    var isAlive = false
    var isKnown = false
    /// The document's number; if it is unknown, the next new number.
    var number: DocumentNumber
    /// Whether it is in the table of expiry times.
    var isForgettable = false
    /// Whether only a compacted tombstone is stored.
    var isCertified = false
    /// Whether the record that is removed has a document's floor.
    var hasFloor = false
    /// How many sites have written to the record that is removed.
    var writerCount = 0
  }

  /// The state before the change, copied only if there are listeners for commits.
  struct Former {
    var record: Record?
    var summary: Summary?

    init() {}

    init(of row: borrowing DocumentRow) {
      record = Record(copying: row.record)
      summary = row.summary
    }
  }

  /// The inputs of a change of one document.
  struct ChangeStep {
    let key: DocumentKey
    let collection: String
    let index: Int
    let intent: ChangeList.Intent
    let operation: String
    let touch: ChangeList.Touch
    let maintainer: IndexMaintainer?
  }

  /// A new record of a document that is computed and not stored.
  ///
  /// It is an object, because a struct would retain all its members whenever it is passed on.
  final class PreparedChange {
    fileprivate let step: ChangeStep
    fileprivate let stored: StoredState
    fileprivate let former: Former
    fileprivate let document: EncodedDocument

    fileprivate init(_ step: ChangeStep, _ stored: StoredState, _ former: Former, _ document: EncodedDocument)
    {
      self.step = step
      self.stored = stored
      self.former = former
      self.document = document
    }

    /// The summary of the new state.
    var summary: Summary { document.summary }
    var id: DocumentID { step.key.id }
    var collection: String { step.collection }
  }

  typealias Making = (StoredDocument?, inout RecordTables) throws -> EncodedDocument?

  /// Changes one document: reads it in place, calls `edit` to make the new record, and stores that.
  ///
  /// - Parameters:
  ///   - id: The document's id.
  ///   - collection: The collection's name; the collection is created if there is none.
  ///   - intent: What the application does to the document by name.
  ///   - operation: The name of the operation, for errors.
  ///   - mayBeNew: Whether to try first as if the document were unknown, which saves looking it up.
  ///   - edit: Makes the record; may be called twice: without the document, then with it.
  /// - Returns: `false` when `edit` made no record.
  /// - Throws: What `edit` throws; `removedInTransaction` when the intents contradict each other; a failed
  ///   read or write.
  @discardableResult
  func change(
    _ id: DocumentID, in collection: String, as intent: ChangeList.Intent, _ operation: String,
    mayBeNew: Bool = false, _ edit: Making
  ) throws -> Bool {
    let access = try pagesToWrite(operation)
    let (index, isNew) = try intern(collection, operation: operation)
    var isStored = false
    // A collection is created with its first document, not by a write without effect.
    defer { if isNew, !isStored { forgetLastCollection() } }
    let step = try step(id, in: collection, at: index, as: intent, operation)
    if mayBeNew, !findsKnown, step.touch.isFirst, try access.entryCount(tables.certificates) == 0,
      let document = try make(step, from: nil, nextNumber, edit),
      try store(document, step, StoredState(number: nextNumber), Former())
    {
      isStored = true
      return true
    }
    var stored = StoredState(number: nextNumber)
    var former = Former()
    let made = try workOut(step, &stored, &former, edit)
    if mayBeNew { findsKnown = stored.isKnown }
    guard let document = made else { return false }
    isStored = try store(document, step, stored, former)
    // The record is in the store now, so the next one can use its memory.
    if !isCapturing { room = document.record }
    return true
  }

  /// Computes a change of one document like ``change(_:in:as:_:mayBeNew:_:)``, and stores nothing.
  ///
  /// - Returns: `nil` when `edit` made no record.
  func prepareChange(
    _ id: DocumentID, in collection: String, as intent: ChangeList.Intent, _ operation: String, _ edit: Making
  ) throws -> PreparedChange? {
    _ = try pagesToWrite(operation)
    // Documents whose changes are computed one after another are usually side by side.
    _ = try cursor()
    let (index, isNew) = try intern(collection, operation: operation)
    defer { if isNew { forgetLastCollection() } }
    let step = try step(id, in: collection, at: index, as: intent, operation)
    var stored = StoredState(number: nextNumber)
    var former = Former()
    guard let document = try workOut(step, &stored, &former, edit) else { return nil }
    return PreparedChange(step, stored, former, document)
  }

  /// Stores a computed change.
  ///
  /// - Returns: `false`, with nothing changed, when the document was written meanwhile.
  func store(_ change: PreparedChange) throws -> Bool {
    guard changes.touch(of: change.step.key) == change.step.touch,
      index(of: change.step.collection) == change.step.index
    else {
      return false
    }
    var stored = change.stored
    if !stored.isKnown { stored.number = nextNumber }
    // The index rows of other changes may have been computed since.
    if let maintainer = change.step.maintainer { try readRows(change, stored.number, maintainer) }
    return try store(change.document, change.step, stored, change.former)
  }

  private func readRows(
    _ change: PreparedChange, _ number: DocumentNumber, _ maintainer: IndexMaintainer
  ) throws {
    let (key, document) = (change.step.key, change.document)
    try withTables(of: change.step.index) { tables in
      let isRead: Void? = try pages().withRecord(key.collection, named: change.step.collection, key.id) {
        row in
        let isAlive = RecordView(row.record).isAlive
        try maintainer.readOld(isAlive ? row.record : nil, number, tables.keys)
      }
      if isRead == nil { try maintainer.readOld(nil, number, tables.keys) }
      try maintainer.readNew(document.isAlive ? document.record.rawBytes : nil, number, tables.keys)
    }
  }

  private func step(
    _ id: DocumentID, in collection: String, at index: Int, as intent: ChangeList.Intent, _ operation: String
  ) throws -> ChangeStep {
    let key = DocumentKey(collection: number(at: index), id: id)
    let touch = changes.touch(of: key)
    if touch.conflicts(with: intent) {
      throw doomed(
        by: StoreError(
          .removedInTransaction,
          intent == .remove
            ? "A transaction cannot remove a document that it has upserted"
            : "A transaction cannot update a removed document in the same transaction",
          operation: operation))
    }
    return ChangeStep(
      key: key, collection: collection, index: index, intent: intent, operation: operation, touch: touch,
      maintainer: maintainer(at: index))
  }

  /// Reads a document in place and calls `edit` to make the new record.
  private func workOut(
    _ step: ChangeStep, _ stored: inout StoredState, _ former: inout Former, _ edit: Making
  ) throws -> EncodedDocument? {
    var made: EncodedDocument?
    let isKnown = try pages().visitRecord(step.key.collection, named: step.collection, step.key.id) { row in
      stored = StoredState(of: row)
      recordBytes += row.record.byteCount
      if isCapturing { former = Former(of: row) }
      made = try make(step, from: StoredDocument(row.record, summary: row.summary), row.number, edit)
    }
    return isKnown ? made : try makeAnew(step, &stored, edit)
  }

  /// Calls `edit` to make the new record, and computes the index rows of both records.
  private func make(
    _ step: ChangeStep, from existing: StoredDocument?, _ number: DocumentNumber, _ edit: Making
  ) throws -> EncodedDocument? {
    do {
      return try withTables(of: step.index) { tables in
        let sites = tables.sites.count
        defer { recordBytes += (tables.sites.count - sites) * Self.siteBytes }
        let document: EncodedDocument?
        if let existing {
          let isAlive = RecordView(existing.record).isAlive
          try step.maintainer?.readOld(isAlive ? existing.record : nil, number, tables.keys)
          document = try edit(existing, &tables)
        } else {
          try step.maintainer?.readOld(nil, number, tables.keys)
          document = try edit(nil, &tables)
        }
        if let document, let maintainer = step.maintainer {
          try maintainer.readNew(document.isAlive ? document.record.rawBytes : nil, number, tables.keys)
        }
        return document
      }
    } catch let error as DocumentError {
      throw StoreError(error, operation: step.operation)
    }
  }

  /// Calls `edit` to make a record where there is none, or only a compacted tombstone.
  private func makeAnew(
    _ step: ChangeStep, _ stored: inout StoredState, _ edit: Making
  ) throws -> EncodedDocument? {
    let pages = try pages()
    guard try pages.access.entryCount(tables.certificates) > 0 else {
      return try make(step, from: nil, stored.number, edit)
    }
    let certificate = try DocumentPath.withKey(step.key.collection, step.key.id.bytes.rawBytes) { path in
      try pages.certificate(path, sites)
    }
    guard let certificate else { return try make(step, from: nil, stored.number, edit) }
    stored.isCertified = true
    let tombstone = withTables(of: step.index) { tables in
      DocumentCodec.tombstone(of: certificate.life, floor: certificate.floor, tables: &tables)
    }
    return try make(
      step, from: StoredDocument(tombstone.record.rawBytes, summary: tombstone.summary), stored.number,
      edit)
  }

  /// Stores a record.
  ///
  /// - Returns: `false`, with nothing changed, when the document was expected to be new and is not.
  private func store(
    _ document: EncodedDocument, _ step: ChangeStep, _ stored: StoredState, _ former: Former
  ) throws -> Bool {
    let access = try pagesToWrite("put")
    guard document.record.count <= Limits.recordBytes else {
      throw StoreError(
        DocumentError(.size, "a document takes more than \(Limits.recordBytes) bytes"), operation: "put")
    }
    let sequence = nextSequence
    let index = step.index
    let row = DocumentRow.Draft(sequence: sequence, number: stored.number, document: document)
    let isPut = try DocumentPath.withKey(step.key.collection, step.key.id.bytes.rawBytes) { path in
      try put(row, at: path, stored, behindAll: isLastCollection(index), access)
    }
    guard isPut else { return false }
    recordBytes += document.record.count
    let view = RecordView(document.record.rawBytes)
    if !document.isAlive, view.hasFloor, try view.isErased(sites: sites) {
      erased.insert(HashedDocument(collection: step.collection, id: step.key.id))
    }
    _ = drawSequence()
    try note(step.maintainer, access)
    if !stored.isKnown {
      drawNumber()
      countRecord(1, at: index)
    }
    count(document.isAlive, since: stored.isAlive, at: index)
    let record = Record(bytes: document.record)
    let oversize = try weigh(document.isAlive ? record : nil, step.key, step.collection, index)
    let change = Change(
      step.key, number: stored.number, kind: .write, sequence: sequence, group: changes.currentGroup,
      before: former.record, beforeSummary: former.summary, after: isCapturing ? record : nil,
      afterSummary: document.summary, oversize: oversize.isNow, wasOversize: oversize.before, names: names)
    changes.note(change, step.intent, after: step.touch)
    return true
  }

  /// Writes a row, and everything else that the store keeps under the document's key.
  ///
  /// - Returns: `false`, with nothing changed, when the document was expected to be new and is not.
  private func put(
    _ row: DocumentRow.Draft, at path: RawSpan, _ stored: StoredState, behindAll: Bool, _ access: PageAccess
  ) throws(StoreError) -> Bool {
    if !stored.isKnown, try !access.mayAdd(row, path, tables) { return false }
    return try update { () throws(StoreError) in
      if stored.isKnown {
        try access.replace(row, path, at: cursor())
      } else {
        guard try access.add(row, path, tables, behindAll: behindAll) else { return false }
        noteNumber(stored.number, path)
      }
      let view = RecordView(row.document.record.rawBytes)
      if isMarking { settings.siteMarks.mark(view) }
      try noteExpiry(path, view, sequence: row.sequence, stored, access)
      if stored.isCertified { try removeCertificate(path, access) }
      return true
    }
  }

  /// Compares a living document's size with the limits, and maintains the list of oversize documents.
  ///
  /// A removed document has no size: the removal must be sent, whatever the document contained.
  /// - Returns: Whether the document was above the hard limit, and whether it is now.
  private func weigh(
    _ record: Record?, _ key: DocumentKey, _ collection: String, _ index: Int
  ) throws -> (before: Bool, isNow: Bool) {
    let byteCount = try record.map { try canonicalBytes($0, index) } ?? 0
    let sizeClass = SizeClass(byteCount, limits)
    let isOversize = sizeClass == .hard
    if !sizes.isEmpty { forgetSize(of: key) }
    if let sizeClass {
      let document = OversizeDocument(collection: collection, id: key.id, byteCount: byteCount)
      sizes.append(SizeFinding(key: key, document: document, sizeClass: sizeClass))
    }
    guard isOversize || oversizeCount > 0 else { return (false, false) }
    let access = try pagesToWrite("put")
    let path = DocumentPath.key(key.collection, key.id.bytes)
    var wasOversize = false
    try update { () throws(StoreError) in
      wasOversize = try access.delete(tables.oversize, path.rawBytes)
      if wasOversize { oversizeCount -= 1 }
      guard isOversize else { return }
      var value = ByteWriter(capacity: 8)
      value.writeFixed(UInt64(byteCount))
      try SmallRecord.put(value.bytes, at: path, in: tables.oversize, access)
      oversizeCount += 1
    }
    return (wasOversize, isOversize)
  }

  /// A document's canonical size; far below the limits, the size of its record, which is about the same.
  private func canonicalBytes(_ record: Record, _ index: Int) throws -> Int {
    let limit = min(limits.soft, limits.hard)
    guard SizeClass.mayExceed(limit, recordBytes: record.bytes.count) else { return record.bytes.count }
    return try withTables(of: index) { try Self.canonicalBytes(record.bytes.rawBytes, $0) }
  }

  /// Whether the merge of two states is larger than peers exchange.
  func exceedsMerges(_ document: EncodedDocument, _ tables: RecordTables) throws(CodecError) -> Bool {
    guard document.isAlive, document.record.count > Limits.mergedDocumentBytes / 4 else { return false }
    return try Self.canonicalBytes(document.record.rawBytes, tables) > Limits.mergedDocumentBytes
  }

  /// The size in bytes of the canonical form of a record.
  static func canonicalBytes(_ record: RawSpan, _ tables: RecordTables) throws(CodecError) -> Int {
    var out = ByteWriter(capacity: record.byteCount)
    try WireDocument.append(RecordView(record), lacking: VersionVector(), tables: tables, to: &out)
    return out.count
  }

  func forgetSize(of key: DocumentKey) {
    for index in sizes.indices where sizes[index].key == key { sizes[index].isStored = false }
  }
}

extension WriteTransaction.StoredState {
  init(of row: borrowing DocumentRow) {
    isAlive = RecordView(row.record).isAlive
    isKnown = true
    number = row.number
    isForgettable = RecordView(row.record).isForgettable
  }
}
