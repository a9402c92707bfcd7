import CRDTCore
import DocStore
import QueryEngine

/// The operations on one collection inside a write transaction.
struct Operations {
  let name: String
  private let local: LocalDatabase
  private let transaction: WriteTransaction

  init(_ name: String, _ local: LocalDatabase, _ transaction: WriteTransaction) {
    self.name = name
    self.local = local
    self.transaction = transaction
  }

  /// Writes fields; counters that were read add what they have counted since to the stored counters.
  func upsert(_ written: WrittenFields, _ strategy: WriteStrategy) throws -> DunlinDocumentID {
    if let unnamed = written.unnamed { local.unnamedTypes.log(unnamed, local.reporter) }
    var increments: [Edit] = []
    if !written.readCounters.isEmpty, let id = written.fields["_id"],
      let standing = try document(DocumentID(id))
    {
      switch strategy {
      case .merge, .updateDifferentValues:
        increments = written.readCounters.increments(onto: standing.fields)
      case .insertIfAbsent, .insertDefaultIfAbsent: break
      }
    }
    let id = try transaction.upsert(written.fields, into: name, strategy: strategy)
    if !increments.isEmpty { try transaction.update(id, in: name, increments) }
    return DunlinDocumentID(id)
  }

  /// Writes the fields of several documents, in their order.
  ///
  /// - Throws: As for one document, with its number as `row`, counted from 0.
  func upsert(_ written: [WrittenFields], _ strategy: WriteStrategy) throws -> [DunlinDocumentID] {
    try written.enumerated().map { row, fields in
      try locatingErrors(inRow: row) { try upsert(fields, strategy) }
    }
  }

  /// Makes a document equal to the given fields, and writes only the differences.
  ///
  /// - Parameters:
  ///   - saved: The whole document.
  ///   - original: The document that the caller began with: fields that are equal there are not written.
  /// - Returns: What was written.
  /// - Throws: `notFound` when there is an original and the document no longer exists; `invalidDocumentID`
  ///   for an original that has another id, or none.
  func save(_ saved: SavedFields, from original: SavedFields? = nil) throws -> DunlinSaveResult {
    guard let named = saved.fields["_id"] else {
      guard original == nil else { throw Self.isNotOriginal }
      if let unnamed = saved.written.unnamed { local.unnamedTypes.log(unnamed, local.reporter) }
      let id = DunlinDocumentID(try transaction.upsert(saved.written.fields, into: name, strategy: .merge))
      return saved.result(ofNew: id)
    }
    let id = try DocumentID(named)
    if let original, try original.fields["_id"].map({ try DocumentID($0) }) != id { throw Self.isNotOriginal }
    guard let standing = try document(id) else {
      guard original == nil else {
        throw DunlinError(
          .notFound,
          "the document was removed or evicted since it was read: save it without what it was, to make it anew"
        )
      }
      try transaction.upsert(saved.written.fields, into: name, strategy: .merge)
      return saved.result(ofNew: DunlinDocumentID(id))
    }
    let difference = DocumentDifference(
      saved, from: original, over: standing.fields, id: DunlinDocumentID(id))
    if !difference.edits.isEmpty { try transaction.update(id, in: name, difference.edits) }
    return DunlinSaveResult(id: DunlinDocumentID(id), isNew: false, changes: difference.results)
  }

  /// Saves a document, and reads the stored document afterwards.
  ///
  /// - Throws: The same as `save`; `decoding` when the document does not decode as such a value.
  func saveAndRead<T: Decodable>(_ saved: SavedFields, as type: T.Type) throws -> (DunlinSaveResult, T) {
    let result = try save(saved)
    guard let standing = try document(result.id.checked()) else {
      preconditionFailure("A document that was saved is not there")
    }
    return (result, try standing.decoded(as: type))
  }

  private static var isNotOriginal: DunlinError {
    DunlinError(
      .invalidDocumentID, "what is saved and what it was have the same _id", context: ["path": "_id"])
  }

  func documents(_ query: Finding) throws -> [DunlinDocument] {
    try execute(.select(query.select()), query).documents()
  }

  func document(_ id: DocumentID) throws -> DunlinDocument? {
    guard let collection = try transaction.collection(name) else { return nil }
    let document = try transaction.withRecord(collection, id) { record, _ in
      try DunlinDocument(id, record, collection.keys, in: name)
    }
    return document ?? nil
  }

  func remove(_ query: Finding) throws -> [DunlinDocumentID] { try ids(.delete(query.removal()), query) }

  func evict(_ query: Finding) throws -> [DunlinDocumentID] { try ids(.evict(query.removal()), query) }

  func execute(_ statement: Statement, _ query: Finding) throws -> Answer {
    Answer(
      try local.engine.execute(statement, arguments: query.arguments, in: transaction),
      .collection(query.collection))
  }

  private func ids(_ statement: Statement, _ query: Finding) throws -> [DunlinDocumentID] {
    try execute(statement, query).result.mutatedDocumentIDs.map { DunlinDocumentID($0) }
  }

  func remove(_ id: DocumentID) throws -> Bool { try transaction.remove(id, in: name) }

  func evict(_ id: DocumentID) throws -> Bool { try transaction.evict(id, in: name) }

  /// Erases documents.
  ///
  /// - Returns: For each document, whether the store held anything of it.
  /// - Throws: As for one document, with its number as `row`, counted from 0.
  func erase(_ ids: [DunlinDocumentID]) throws -> [DunlinDocumentID: Bool] {
    var found: [DunlinDocumentID: Bool] = [:]
    for (row, id) in ids.enumerated() where found[id] == nil {
      found[id] = try locatingErrors(inRow: row) { try transaction.erase(id.checked(), in: name) }
    }
    return found
  }

  /// Lets `body` edit the documents, then applies the collected edits.
  func update(
    _ documents: [DunlinDocument], _ body: ([DunlinMutableDocument]) throws -> Void
  ) throws -> [DunlinDocumentID: [DunlinUpdateResult]] {
    let reporter = local.reporter
    let drafts = documents.map { document in
      DocumentDraft(id: document.id.id, fields: document.fields) { reporter.fail("a late write", $0) }
    }
    try body(drafts.map { DunlinMutableDocument($0) })
    var results: [DunlinDocumentID: [DunlinUpdateResult]] = [:]
    for draft in drafts {
      try draft.finish()
      guard !draft.edits.isEmpty else { continue }
      try transaction.update(draft.id, in: name, draft.edits)
      results[DunlinDocumentID(draft.id)] = draft.results
    }
    return results
  }
}

extension SavedFields {
  fileprivate func result(ofNew id: DunlinDocumentID) -> DunlinSaveResult {
    let paths = fields.keys.sorted().filter { $0 != "_id" }
    return DunlinSaveResult(
      id: id, isNew: true, changes: paths.map { .set(docID: id, path: $0.text) },
      hints: written.unnamed.map { [$0.hint] } ?? [])
  }
}

extension DunlinDocument {
  init(row: Row, _ origin: RowOrigin) throws {
    guard let id = row.id else { throw DunlinError(.runtime, "a row stands for no document") }
    self.init(id: id, fields: try row.values(), origin)
  }

  /// Decodes a record; `nil` for a tombstone.
  init?(_ id: DocumentID, _ record: borrowing RecordView, _ keys: KeyTable, in collection: String) throws {
    guard record.isAlive else { return nil }
    var fields = try record.fields(keys)
    fields["_id"] = id.value
    self.init(id: id, fields: fields, .collection(collection))
  }
}
