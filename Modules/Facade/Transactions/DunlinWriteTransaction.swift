import CRDTCore
import DocStore
import QueryEngine

/// A write transaction, valid only in its body; it reads what it has written.
public final class DunlinWriteTransaction: DunlinBlockingTransaction {
  let transaction: WriteTransaction
  private let local: LocalDatabase
  private var failure: (any Error)?

  init(_ transaction: WriteTransaction, _ local: LocalDatabase) {
    self.transaction = transaction
    self.local = local
  }

  /// The part of the transaction that concerns one collection.
  public func scoped(toCollectionNamed name: String) -> DunlinScopedWriteTransaction {
    DunlinScopedWriteTransaction(owner: self, operations: Operations(name, local, transaction))
  }

  /// The part of the transaction that concerns one collection.
  public subscript(name: String) -> DunlinScopedWriteTransaction { scoped(toCollectionNamed: name) }

  override func answer(_ prepared: PreparedStatement, _ arguments: Arguments) throws -> QueryResult {
    try local.engine.execute(prepared, arguments: arguments, in: transaction)
  }

  override func prepare(_ query: String) throws -> PreparedStatement { try local.engine.prepare(query) }

  /// Records the failure of a call that does not throw: the transaction then fails as a whole.
  func fail(_ error: any Error) { failure = failure ?? error }

  func finish() throws { if let failure { throw failure } }
}
