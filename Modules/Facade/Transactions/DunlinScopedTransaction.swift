public import CRDTCore
import DocStore
import QueryEngine

/// One collection inside a transaction whose calls are awaited; it reads what the transaction has written.
public struct DunlinScopedTransaction: Sendable {
  public let collectionName: String
  let transaction: DunlinTransaction

  /// Writes fields into a document, and creates the document if necessary; its other fields stay.
  ///
  /// - Throws: `removedInTransaction` for a document that the transaction has removed; the codes of
  ///   `DunlinCollection.upsert`; `readOnlyTransaction`, `deadline`, `closed`, `cancelled`.
  @discardableResult
  public func upsert(
    _ content: [String: Any?], writeStrategy: DunlinWriteStrategy = .merge
  ) async throws -> DunlinDocumentID {
    let written = try Value.written(content)
    return try await writing("upsert") { try $0.upsert(written, writeStrategy) }
  }

  /// Writes the fields that a value encodes as.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func upsert(
    _ content: some Encodable, writeStrategy: DunlinWriteStrategy = .merge
  ) async throws -> DunlinDocumentID {
    let written = try ValueEncoding.fields(content)
    return try await writing("upsert") { try $0.upsert(written, writeStrategy) }
  }

  /// Writes several documents.
  ///
  /// - Returns: The documents' ids, in the same order.
  /// - Throws: The same as the form for one document, with the document's number as `row`, counted from 0.
  @discardableResult
  public func upsert(
    _ contents: [[String: Any?]], writeStrategy: DunlinWriteStrategy = .merge
  ) async throws -> [DunlinDocumentID] {
    let written = try WrittenFields.each(of: contents) { try Value.written($0) }
    return try await writing("upsert") { try $0.upsert(written, writeStrategy) }
  }

  /// Writes several encoded values as documents.
  ///
  /// - Throws: The same as the form for dictionaries, and what the values' own encoding throws.
  @discardableResult @_disfavoredOverload
  public func upsert<T: Encodable>(
    _ contents: [T], writeStrategy: DunlinWriteStrategy = .merge
  ) async throws -> [DunlinDocumentID] {
    let written = try WrittenFields.each(of: contents) { try ValueEncoding.fields($0) }
    return try await writing("upsert") { try $0.upsert(written, writeStrategy) }
  }

  /// Makes the stored document equal to these fields, and writes only the differences.
  ///
  /// - Throws: The same as `DunlinCollection.save`; the codes of transactions.
  @discardableResult
  public func save(_ content: [String: Any?]) async throws -> DunlinSaveResult {
    try await save(SavedFields(content), from: nil)
  }

  /// Makes the stored document equal to a value, and writes only the differences.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func save(_ content: some Encodable) async throws -> DunlinSaveResult {
    try await save(SavedFields(encoding: content), from: nil)
  }

  /// Writes what was edited in a document since it was read, and leaves all other fields as they are now.
  ///
  /// - Throws: The same as `DunlinCollection.save`; the codes of transactions.
  @discardableResult
  public func save(_ content: [String: Any?], from original: [String: Any?]) async throws -> DunlinSaveResult
  {
    try await save(SavedFields(content), from: SavedFields(original))
  }

  /// Writes what was edited in a value since it was read, and leaves all other fields as they are now.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func save<T: Encodable>(_ content: T, from original: T) async throws -> DunlinSaveResult {
    try await save(SavedFields(encoding: content), from: SavedFields(encoding: original))
  }

  /// Saves a value, and reads it again.
  ///
  /// - Throws: The same as the form that does not read the value again; `decoding` when the stored document
  ///   does not decode as such a value.
  @discardableResult @_disfavoredOverload
  public func save<T: Codable & Sendable>(_ content: inout T) async throws -> DunlinSaveResult {
    let saved = try SavedFields(encoding: content)
    let (result, fresh) = try await writing("save") { try $0.saveAndRead(saved, as: T.self) }
    content = fresh
    return result
  }

  private func save(_ saved: SavedFields, from original: SavedFields?) async throws -> DunlinSaveResult {
    try await writing("save") { try $0.save(saved, from: original) }
  }

  /// The documents that a query of the builder language finds, to be read or changed.
  public func find(
    _ query: String, args: [String: Any?] = [:]
  ) -> DunlinTransactionPendingCursorOperation {
    find(Finding(collection: collectionName, text: query, arguments: args))
  }

  /// The documents that a query of the builder language finds, with an encoded value as `$args`.
  @_disfavoredOverload
  public func find(_ query: String, args: some Encodable) -> DunlinTransactionPendingCursorOperation {
    find(Finding(collection: collectionName, text: query, arguments: args))
  }

  private func find(_ finding: Finding) -> DunlinTransactionPendingCursorOperation {
    DunlinTransactionPendingCursorOperation(finding: finding, scope: self)
  }

  /// All documents, to be read or changed.
  public func findAll() -> DunlinTransactionPendingCursorOperation { find("true") }

  /// The document of an id, to be read or changed.
  public func findByID(_ id: DunlinDocumentID) -> DunlinTransactionPendingIDSpecificOperation {
    DunlinTransactionPendingIDSpecificOperation(id: id, scope: self)
  }

  /// The document of a string id, to be read or changed.
  public func findByID(_ id: String) -> DunlinTransactionPendingIDSpecificOperation {
    findByID(DunlinDocumentID(stringLiteral: id))
  }

  // MARK: - Steps

  /// Runs `body` on the collection; throws in a read-only transaction.
  func writing<R: Sendable>(
    _ call: String, _ body: @escaping @Sendable (Operations) throws -> R
  ) async throws -> R {
    guard case .writing(let writer) = transaction.access else {
      throw DunlinError.readOnlyTransaction(call + " writes", transaction.hint)
    }
    return try await locatingErrors { [collectionName, local = transaction.local] in
      try await writer.run { try body(Operations(collectionName, local, $0)) }
    }
  }

  /// Executes a query, with what the transaction has written.
  func answer(_ statement: Statement, _ finding: Finding) async throws -> Answer {
    try await locatingErrors { [collectionName, local = transaction.local] in
      switch transaction.access {
      case .writing(let writer):
        try await writer.run { try Operations(collectionName, local, $0).execute(statement, finding) }
      case .reading(let snapshot):
        try await snapshot.read { try local.answer(statement, finding, in: $0) }
      }
    }
  }

  /// Reads a document, with what the transaction has written.
  func document(_ id: DunlinDocumentID) async throws -> DunlinDocument? {
    try await locatingErrors { [collectionName, local = transaction.local] in
      switch transaction.access {
      case .writing(let writer):
        try await writer.run { try Operations(collectionName, local, $0).document(id.checked()) }
      case .reading(let snapshot):
        try await snapshot.read { try local.document(id.checked(), in: collectionName, $0) }
      }
    }
  }

  private func locatingErrors<R>(_ body: () async throws -> R) async throws -> R {
    do { return try await body() } catch { throw DunlinError.locating(error, in: collectionName) }
  }
}
