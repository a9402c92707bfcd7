import CRDTCore
import QueryEngine

/// The documents that a query finds inside a transaction whose calls are awaited.
public struct DunlinTransactionPendingCursorOperation: Sendable {
  let finding: Finding
  let scope: DunlinScopedTransaction

  private func with(_ finding: Finding) -> Self { Self(finding: finding, scope: scope) }

  /// Orders the documents by the value at a path.
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
    try await scope.answer(.select(finding.select()), finding).documents()
  }

  /// Reads the documents as a type of the application's, with what the transaction has written.
  ///
  /// - Throws: The same as `exec()`; `decoding` with the row, counted from 0, and the path that does not fit.
  public func exec<T: Decodable & Sendable>(as type: T.Type) async throws -> [T] {
    try await scope.answer(.select(finding.select()), finding).decoding(as: type)
  }

  /// Reads the documents as a type of the application's, with those that do not fit as the caller chooses.
  ///
  /// - Parameters:
  ///   - type: The type as which each document is decoded.
  ///   - unfit: What happens with documents that do not fit: the call throws, or hands them over beside the
  ///     others.
  /// - Returns: The documents that fit, those that do not, and the hints.
  /// - Throws: The same as `exec()`; `decoding` with `.fail`.
  public func exec<T: Decodable & Sendable>(
    as type: T.Type, unfit: DunlinUnfitRows
  ) async throws -> DunlinTypedResult<T> {
    try await scope.answer(.select(finding.select()), finding).typing(as: type, unfit: unfit)
  }

  /// Reads only the first document; `nil` when there is none.
  public func first() async throws -> DunlinDocument? { try await with(finding.first).exec().first }

  /// Reads only the first document, as a type of the application's; `nil` when there is none.
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
  /// - Returns: The edits and their paths, for each document that was edited.
  /// - Throws: The same as the update of a collection; the codes of transactions.
  @discardableResult
  public func update(
    _ body: @escaping @Sendable ([DunlinMutableDocument]) throws -> Void
  ) async throws -> [DunlinDocumentID: [DunlinUpdateResult]] {
    let finding = finding
    return try await scope.writing("update") { try $0.update($0.documents(finding), body) }
  }

  /// Deletes the documents, on this device and at every peer that syncs them.
  @discardableResult
  public func remove() async throws -> [DunlinDocumentID] {
    let finding = finding
    return try await scope.writing("remove") { try $0.remove(finding) }
  }

  /// Evicts the documents from this device only.
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
  /// - Throws: The same as `exec()`; `decoding` with the path that does not fit.
  public func exec<T: Decodable & Sendable>(as type: T.Type) async throws -> T? {
    try await exec()?.decoded(as: type)
  }

  /// Lets `body` edit the document, on the database's own thread; `body` gets `nil` when there is none.
  ///
  /// - Returns: The edits and their paths.
  /// - Throws: The same as the update of a collection; the codes of transactions.
  @discardableResult
  public func update(
    _ body: @escaping @Sendable (DunlinMutableDocument?) throws -> Void
  ) async throws -> [DunlinUpdateResult] {
    let id = id
    return try await scope.writing("update") { try $0.update(id.checked(), body) }
  }

  /// Deletes the document, on this device and at every peer that syncs it; returns whether there was one.
  @discardableResult
  public func remove() async throws -> Bool {
    let id = id
    return try await scope.writing("remove") { try $0.remove(id.checked()) }
  }

  /// Evicts the document from this device only; returns whether there was one.
  @discardableResult
  public func evict() async throws -> Bool {
    let id = id
    return try await scope.writing("evict") { try $0.evict(id.checked()) }
  }
}
