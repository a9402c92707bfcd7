import CRDTCore
import DocStore
import QueryEngine

/// A read-only transaction over one snapshot, valid only in its body.
public final class DunlinReadTransaction: DunlinBlockingTransaction {
  let snapshot: OpenSnapshot
  private let local: LocalDatabase

  init(_ snapshot: OpenSnapshot, _ local: LocalDatabase) {
    self.snapshot = snapshot
    self.local = local
  }

  /// The last commit that the snapshot includes, by its position in this store's log; 0 before the first.
  ///
  /// - Throws: `closed` after the body has ended.
  public func commitID() throws -> UInt64 { try snapshot.read { $0.sequence } }

  /// The part of the transaction that concerns one collection.
  public func scoped(toCollectionNamed name: String) -> DunlinScopedReadTransaction {
    DunlinScopedReadTransaction(collectionName: name, snapshot: snapshot, local: local)
  }

  /// The part of the transaction that concerns one collection.
  public subscript(name: String) -> DunlinScopedReadTransaction { scoped(toCollectionNamed: name) }

  override func answer(_ prepared: PreparedStatement, _ arguments: Arguments) throws -> QueryResult {
    try snapshot.execute(prepared, arguments, on: local.engine)
  }

  override func prepare(_ query: String) throws -> PreparedStatement { try local.engine.prepare(query) }
}

/// One collection inside a read-only transaction.
public struct DunlinScopedReadTransaction {
  public let collectionName: String
  let snapshot: OpenSnapshot
  let local: LocalDatabase

  /// The documents that a query of the builder language finds.
  public func find(
    _ query: String, args: [String: Any?] = [:]
  ) -> DunlinReadTransactionPendingCursorOperation {
    find(Finding(collection: collectionName, text: query, arguments: args))
  }

  /// The documents that a query of the builder language finds, with an encoded value as `$args`.
  @_disfavoredOverload
  public func find(_ query: String, args: some Encodable) -> DunlinReadTransactionPendingCursorOperation {
    find(Finding(collection: collectionName, text: query, arguments: args))
  }

  private func find(_ finding: Finding) -> DunlinReadTransactionPendingCursorOperation {
    DunlinReadTransactionPendingCursorOperation(finding: finding, snapshot: snapshot, local: local)
  }

  /// All documents.
  public func findAll() -> DunlinReadTransactionPendingCursorOperation { find("true") }

  /// The document of an id.
  public func findByID(_ id: DunlinDocumentID) -> DunlinReadTransactionPendingIDSpecificOperation {
    DunlinReadTransactionPendingIDSpecificOperation(
      id: id, collection: collectionName, snapshot: snapshot, local: local)
  }

  /// The document of a string id.
  public func findByID(_ id: String) -> DunlinReadTransactionPendingIDSpecificOperation {
    findByID(DunlinDocumentID(stringLiteral: id))
  }
}

/// The documents that a query finds inside a read-only transaction.
public struct DunlinReadTransactionPendingCursorOperation {
  let finding: Finding
  let snapshot: OpenSnapshot
  let local: LocalDatabase

  private func with(_ finding: Finding) -> Self { Self(finding: finding, snapshot: snapshot, local: local) }

  /// Orders the documents by the value at a path.
  public func sort(_ path: String, direction: DunlinSortDirection = .ascending) -> Self {
    with(finding.sorted(path, direction))
  }

  /// Takes at most this many documents.
  public func limit(_ count: Int) -> Self { with(finding.limited(count)) }

  /// Skips this many documents first.
  public func offset(_ count: Int) -> Self { with(finding.skipping(count)) }

  /// Reads the documents.
  ///
  /// - Throws: The codes of queries; `deadline`, `closed`.
  public func exec() throws -> [DunlinDocument] { try snapshot.read { try local.documents(finding, in: $0) } }

  /// Reads the documents as a type of the application's.
  ///
  /// - Throws: The same as `exec()`; `decoding` with the row, counted from 0, and the path that does not fit.
  public func exec<T: Decodable>(as type: T.Type) throws -> [T] {
    try snapshot.read { try local.answer(.select(finding.select()), finding, in: $0).decoded(as: type) }
  }

  /// Reads the documents as a type of the application's, with those that do not fit as the caller chooses.
  ///
  /// - Parameters:
  ///   - type: The type as which each document is decoded.
  ///   - unfit: What happens with documents that do not fit: the call throws, or hands them over beside the
  ///     others.
  /// - Returns: The documents that fit, those that do not, and the hints.
  /// - Throws: The same as `exec()`; `decoding` with `.fail`.
  public func exec<T: Decodable>(as type: T.Type, unfit: DunlinUnfitRows) throws -> DunlinTypedResult<T> {
    try snapshot.read {
      try local.answer(.select(finding.select()), finding, in: $0).typed(as: type, unfit: unfit)
    }
  }

  /// Reads only the first document; `nil` when there is none.
  public func first() throws -> DunlinDocument? { try with(finding.first).exec().first }

  /// Reads only the first document, as a type of the application's; `nil` when there is none.
  public func first<T: Decodable>(as type: T.Type) throws -> T? {
    try with(finding.first).exec(as: type).first
  }

  /// Counts the documents.
  public func count() throws -> Int {
    let statement = try Statement.select(finding.counting())
    return try snapshot.read { try finding.count(local.answer(statement, finding, in: $0).rows.first) }
  }
}

/// One document by its id, inside a read-only transaction.
public struct DunlinReadTransactionPendingIDSpecificOperation {
  let id: DunlinDocumentID
  let collection: String
  let snapshot: OpenSnapshot
  let local: LocalDatabase

  /// Reads the document; `nil` when there is none.
  public func exec() throws -> DunlinDocument? {
    try snapshot.read { try local.document(id.checked(), in: collection, $0) }
  }

  /// Reads the document as a type of the application's; `nil` when there is none.
  public func exec<T: Decodable>(as type: T.Type) throws -> T? { try exec()?.decoded(as: type) }
}
