public import CRDTCore

/// One collection inside a write transaction; it reads what the transaction has written.
///
/// If a call that does not throw fails, the whole transaction fails.
public struct DunlinScopedWriteTransaction {
  let owner: DunlinWriteTransaction
  let operations: Operations

  /// The collection's name.
  public var collectionName: String { operations.name }

  /// Writes fields into a document, and creates the document if necessary; its other fields stay.
  ///
  /// - Throws: `removedInTransaction` for a document that the transaction has removed, and then nothing of
  ///   the transaction is written; the codes of `DunlinCollection.upsert`.
  @discardableResult
  public func upsert(
    _ content: [String: Any?], writeStrategy: DunlinWriteStrategy = .merge
  ) throws -> DunlinDocumentID {
    try translatingErrors { try operations.upsert(Value.written(content), writeStrategy) }
  }

  /// Writes the fields that a value encodes as.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @discardableResult @_disfavoredOverload
  public func upsert(
    _ content: some Encodable, writeStrategy: DunlinWriteStrategy = .merge
  ) throws -> DunlinDocumentID {
    try translatingErrors { try operations.upsert(ValueEncoding.fields(content), writeStrategy) }
  }

  /// Writes several documents.
  ///
  /// - Returns: The documents' ids, in the same order.
  /// - Throws: The same as the form for one document, with the document's number as `row`, counted from 0.
  @discardableResult
  public func upsert(
    _ contents: [[String: Any?]], writeStrategy: DunlinWriteStrategy = .merge
  ) throws -> [DunlinDocumentID] {
    try translatingErrors {
      try operations.upsert(WrittenFields.each(of: contents) { try Value.written($0) }, writeStrategy)
    }
  }

  /// Writes several encoded values as documents.
  ///
  /// - Throws: The same as the form for dictionaries, and what the values' own encoding throws.
  @discardableResult @_disfavoredOverload
  public func upsert<T: Encodable>(
    _ contents: [T], writeStrategy: DunlinWriteStrategy = .merge
  ) throws -> [DunlinDocumentID] {
    try translatingErrors {
      try operations.upsert(WrittenFields.each(of: contents) { try ValueEncoding.fields($0) }, writeStrategy)
    }
  }

  /// The documents that a query of the builder language finds, to be read or changed.
  public func find(
    _ query: String, args: [String: Any?] = [:]
  ) -> DunlinWriteTransactionPendingCursorOperation {
    DunlinWriteTransactionPendingCursorOperation(
      owner: owner, operations: operations,
      finding: Finding(collection: operations.name, text: query, arguments: args))
  }

  /// The documents that a query of the builder language finds, with an encoded value as `$args`.
  @_disfavoredOverload
  public func find(
    _ query: String, args: some Encodable
  ) -> DunlinWriteTransactionPendingCursorOperation {
    DunlinWriteTransactionPendingCursorOperation(
      owner: owner, operations: operations,
      finding: Finding(collection: operations.name, text: query, arguments: args))
  }

  /// All documents, to be read or changed.
  public func findAll() -> DunlinWriteTransactionPendingCursorOperation { find("true") }

  /// The document of an id, to be read or changed.
  public func findByID(_ id: DunlinDocumentID) -> DunlinWriteTransactionPendingIDSpecificOperation {
    DunlinWriteTransactionPendingIDSpecificOperation(owner: owner, operations: operations, id: id)
  }

  /// The document of a string id, to be read or changed.
  public func findByID(_ id: String) -> DunlinWriteTransactionPendingIDSpecificOperation {
    findByID(DunlinDocumentID(stringLiteral: id))
  }
}

/// The documents that a query finds inside a write transaction.
public struct DunlinWriteTransactionPendingCursorOperation {
  let owner: DunlinWriteTransaction
  let operations: Operations
  let finding: Finding

  func with(_ finding: Finding) -> Self {
    Self(owner: owner, operations: operations, finding: finding)
  }

  /// Orders the documents by the value at a path.
  public func sort(_ path: String, direction: DunlinSortDirection = .ascending) -> Self {
    with(finding.sorted(path, direction))
  }

  /// Takes at most this many documents.
  public func limit(_ count: Int) -> Self { with(finding.limited(count)) }

  /// Skips this many documents first.
  public func offset(_ count: Int) -> Self { with(finding.skipping(count)) }

  /// Reads the documents, with what the transaction has written.
  public func exec() throws -> [DunlinDocument] {
    try translatingErrors { try operations.documents(finding) }
  }

  /// Lets `body` edit the documents.
  @discardableResult
  public func update(
    _ body: ([DunlinMutableDocument]) throws -> Void
  ) throws -> [DunlinDocumentID: [DunlinUpdateResult]] {
    try translatingErrors { try operations.update(operations.documents(finding), body) }
  }

  /// Lets a `body` that does not throw edit the documents.
  @discardableResult
  public func update(
    _ body: ([DunlinMutableDocument]) -> Void
  ) -> [DunlinDocumentID: [DunlinUpdateResult]] {
    owner.orFail([:]) { try operations.update(operations.documents(finding), body) }
  }

  /// Deletes the documents, on this device and at every peer that syncs them.
  @discardableResult
  public func remove() throws -> [DunlinDocumentID] {
    try translatingErrors { try operations.remove(finding) }
  }

  /// Evicts the documents from this device only.
  @discardableResult
  public func evict() -> [DunlinDocumentID] { owner.orFail([]) { try operations.evict(finding) } }
}

/// One document by its id, inside a write transaction.
public struct DunlinWriteTransactionPendingIDSpecificOperation {
  let owner: DunlinWriteTransaction
  let operations: Operations
  let id: DunlinDocumentID

  /// Reads the document, with what the transaction has written; `nil` when there is none.
  public func exec() throws -> DunlinDocument? {
    try translatingErrors { try operations.document(id.checked()) }
  }

  /// Lets `body` edit the document; `body` gets `nil` when there is none.
  @discardableResult
  public func update(_ body: (DunlinMutableDocument?) throws -> Void) throws -> [DunlinUpdateResult] {
    try translatingErrors { try operations.update(id.checked(), body) }
  }

  /// Lets a `body` that does not throw edit the document; `body` gets `nil` when there is none.
  @discardableResult
  public func update(_ body: (DunlinMutableDocument?) -> Void) -> [DunlinUpdateResult] {
    owner.orFail([]) { try operations.update(id.checked(), body) }
  }

  /// Deletes the document, on this device and at every peer that syncs it.
  @discardableResult
  public func remove() throws -> Bool { try translatingErrors { try operations.remove(id.checked()) } }

  /// Evicts the document from this device only.
  @discardableResult
  public func evict() -> Bool { owner.orFail(false) { try operations.evict(id.checked()) } }
}

extension DunlinWriteTransaction {
  /// Returns what `body` returns; if `body` throws, the transaction will fail, and `fallback` is returned.
  fileprivate func orFail<R>(_ fallback: @autoclosure () -> R, _ body: () throws -> R) -> R {
    do {
      return try body()
    } catch {
      fail(error)
      return fallback()
    }
  }
}
