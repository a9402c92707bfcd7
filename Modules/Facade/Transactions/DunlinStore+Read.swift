import CRDTCore
import DocStore
import QueryEngine

extension DunlinStore {
  /// Runs `body` over one snapshot: all its reads see the same moment, whatever is written meanwhile.
  ///
  /// It waits for no writer, and blocks no writer. A statement that writes throws `readOnlyTransaction`.
  /// While `body` runs, the store cannot reuse the space of older versions, so `body` should be short. When
  /// the snapshot is older than `DunlinConfiguration.snapshotDeadline` and a writer is active, the next read
  /// throws `deadline`.
  /// - Parameters:
  ///   - hint: Names the transaction in errors.
  ///   - body: Gets the transaction, which is valid only in `body`.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws; `deadline`, `tooManyReaders`, `io`, `closed`.
  public func read<R>(hint: String? = nil, _ body: (DunlinReadTransaction) throws -> R) throws -> R {
    try local.read(hint, body)
  }

  /// Runs `body` over one snapshot, off the caller's actor.
  ///
  /// - Throws: The same as the other form.
  @concurrent
  public func read<R: Sendable>(
    hint: String? = nil, _ body: sending @escaping (DunlinReadTransaction) throws -> R
  ) async throws -> R {
    try Task.checkCancellation()
    return try local.read(hint, body)
  }
}

extension LocalDatabase {
  fileprivate func read<R>(_ hint: String?, _ body: (DunlinReadTransaction) throws -> R) throws -> R {
    try translatingErrors {
      try store.read { snapshot in
        try withUnsafePointer(to: snapshot) { snapshot in
          let opened = OpenSnapshot(snapshot, hint)
          // A transaction that escapes from `body` can no longer read.
          defer { opened.end() }
          return try body(DunlinReadTransaction(opened, self))
        }
      }
    }
  }
}

/// The snapshot of a read transaction, valid while its body runs.
final class OpenSnapshot {
  // SAFETY: it points at the snapshot for as long as the body of its transaction runs, and is set to `nil`
  // afterwards.
  private var snapshot: UnsafePointer<ReadTransaction>?
  private let hint: String?

  init(_ snapshot: UnsafePointer<ReadTransaction>, _ hint: String?) {
    self.snapshot = snapshot
    self.hint = hint
  }

  func end() { snapshot = nil }

  /// Reads from the snapshot.
  ///
  /// - Throws: `closed` after the body has ended; what `body` throws, as public errors.
  func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    guard let snapshot else { throw DunlinError(.closed, "the read transaction is over") }
    return try translatingErrors { try body(snapshot.pointee) }
  }

  /// Executes a statement on the snapshot.
  ///
  /// - Throws: `readOnlyTransaction` for one that writes; the codes of queries.
  func execute(_ prepared: PreparedStatement, _ arguments: Arguments, on engine: Engine) throws -> QueryResult
  {
    try prepared.checkReadOnly(hint)
    return try read { try engine.execute(prepared, arguments: arguments, in: $0) }
  }
}

extension PreparedStatement {
  /// - Throws: `readOnlyTransaction` for a statement that writes.
  func checkReadOnly(_ hint: String?) throws(DunlinError) {
    guard !statement.isReadOnly else { return }
    throw .readOnlyTransaction("\(statement.verb) writes", hint)
  }
}

extension DunlinError {
  /// The error for a write in a read transaction.
  static func readOnlyTransaction(_ what: String, _ hint: String?) -> DunlinError {
    DunlinError(
      .readOnlyTransaction, "\(what), and the transaction is read-only: use write or transaction",
      context: hint.map { ["transaction": String($0.prefix(64))] } ?? [:])
  }
}

extension LocalDatabase {
  /// The documents that a query of the builder language finds in a snapshot.
  func documents(_ query: Finding, in snapshot: borrowing ReadTransaction) throws -> [DunlinDocument] {
    try answer(.select(query.select()), query, in: snapshot).documents()
  }

  func answer(
    _ statement: Statement, _ query: Finding, in snapshot: borrowing ReadTransaction
  ) throws -> Answer {
    Answer(
      try engine.execute(statement, arguments: query.arguments, in: snapshot), .collection(query.collection))
  }

  func document(
    _ id: DocumentID, in collection: String, _ snapshot: borrowing ReadTransaction
  ) throws -> DunlinDocument? {
    guard let found = try snapshot.collection(collection) else { return nil }
    let document = try snapshot.withRecord(found, id) { record, _ in
      try DunlinDocument(id, record, found.keys, in: collection)
    }
    return document ?? nil
  }
}
