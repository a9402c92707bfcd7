import CRDTCore
import QueryEngine

/// What a query finds inside a transaction whose calls are awaited.
public struct DunlinTransactionPendingCursorOperation: Sendable {
  let finding: Finding
  let scope: DunlinScopedTransaction

  private func with(_ finding: Finding) -> Self { Self(finding: finding, scope: scope) }

  /// Orders the documents by what stands at a path.
  public func sort(_ path: String, direction: DunlinSortDirection = .ascending) -> Self {
    with(finding.sorted(path, direction))
  }

  /// Takes at most this many documents.
  public func limit(_ count: Int) -> Self { with(finding.limited(count)) }

  /// Skips this many documents first.
  public func offset(_ count: Int) -> Self { with(finding.skipping(count)) }

  /// Reads the documents, with what the transaction has written.
  ///
  /// - Throws: The codes of queries; `deadline`, `closed`, `cancelled`.
  public func exec() async throws -> [DunlinDocument] {
    let rows = try await scope.answer(.select(finding.select()), finding).rows
    return try translatingErrors { try rows.map { try DunlinDocument(row: $0) } }
  }

  /// Reads the documents as a type of the application's, with what the transaction has written.
  ///
  /// - Throws: As `exec()`; `decoding` with the row, counted from 0, and the path that does not fit.
  public func exec<T: Decodable & Sendable>(as type: T.Type) async throws -> [T] {
    try await scope.answer(.select(finding.select()), finding).decoding(as: type)
  }

  /// Reads the first document alone; `nil` when there is none.
  public func first() async throws -> DunlinDocument? { try await with(finding.first).exec().first }

  /// Reads the first document alone as a type of the application's; `nil` when there is none.
  public func first<T: Decodable & Sendable>(as type: T.Type) async throws -> T? {
    try await with(finding.first).exec(as: type).first
  }

  /// Counts the documents, with what the transaction has written.
  public func count() async throws -> Int {
    let rows = try await scope.answer(.select(finding.counting()), finding).rows
    return try translatingErrors { try finding.count(rows.first) }
  }

  /// Lets `body` edit the documents, on the database's own thread.
  ///
  /// - Returns: What was done at which path, for each document that was edited.
  /// - Throws: As the update of a collection; the codes of transactions.
  @discardableResult
  public func update(
    _ body: @escaping @Sendable ([DunlinMutableDocument]) throws -> Void
  ) async throws -> [DunlinDocumentID: [DunlinUpdateResult]] {
    let finding = finding
    return try await scope.writing("update") { try $0.update($0.documents(finding), body) }
  }

  /// Deletes the documents, here and at every peer that syncs them.
  @discardableResult
  public func remove() async throws -> [DunlinDocumentID] {
    let finding = finding
    return try await scope.writing("remove") { try $0.remove(finding) }
  }

  /// Removes the documents from this device alone.
  @discardableResult
  public func evict() async throws -> [DunlinDocumentID] {
    let finding = finding
    return try await scope.writing("evict") { try $0.evict(finding) }
  }
}

/// One document by its id, inside a transaction whose calls are awaited.
public struct DunlinTransactionPendingIDSpecificOperation: Sendable {
  let id: DunlinDocumentID
  let scope: DunlinScopedTransaction

  /// Reads the document, with what the transaction has written; `nil` when there is none.
  public func exec() async throws -> DunlinDocument? { try await scope.document(id) }

  /// Reads the document as a type of the application's; `nil` when there is none.
  ///
  /// - Throws: As `exec()`; `decoding` with the path that does not fit.
  public func exec<T: Decodable & Sendable>(as type: T.Type) async throws -> T? {
    try await exec()?.decoded(as: type)
  }

  /// Lets `body` edit the document, on the database's own thread; it gets `nil` when there is none.
  ///
  /// - Returns: What was done at which path.
  /// - Throws: As the update of a collection; the codes of transactions.
  @discardableResult
  public func update(
    _ body: @escaping @Sendable (DunlinMutableDocument?) throws -> Void
  ) async throws -> [DunlinUpdateResult] {
    let id = id
    return try await scope.writing("update") { try $0.update(id.checked(), body) }
  }

  /// Deletes the document, here and at every peer that syncs it; whether there was one.
  @discardableResult
  public func remove() async throws -> Bool {
    let id = id
    return try await scope.writing("remove") { try $0.remove(id.checked()) }
  }

  /// Removes the document from this device alone; whether there was one.
  @discardableResult
  public func evict() async throws -> Bool {
    let id = id
    return try await scope.writing("evict") { try $0.evict(id.checked()) }
  }
}
