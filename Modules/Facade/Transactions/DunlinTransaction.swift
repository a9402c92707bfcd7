import CRDTCore
import DocStore
import QueryEngine

/// A transaction whose calls are awaited, valid only in its body.
public struct DunlinTransaction: Sendable {
  enum Access: Sendable {
    case writing(AsyncWriteTransaction)
    case reading(SnapshotThread)
  }

  let access: Access
  let hint: String?
  let local: LocalDatabase

  init(_ access: Access, _ hint: String?, _ local: LocalDatabase) {
    self.access = access
    self.hint = hint
    self.local = local
  }

  /// The part of the transaction that concerns one collection.
  public func scoped(toCollectionNamed name: String) -> DunlinScopedTransaction {
    DunlinScopedTransaction(collectionName: name, transaction: self)
  }

  /// The part of the transaction that concerns one collection.
  public subscript(name: String) -> DunlinScopedTransaction { scoped(toCollectionNamed: name) }

  /// Executes one DQL statement as a part of the transaction; it sees what the transaction has written.
  ///
  /// - Throws: The codes of queries; `readOnlyTransaction`, `deadline`, `closed`, `cancelled`.
  @discardableResult
  public func execute(query: String, arguments: [String: Any?] = [:]) async throws -> DunlinQueryResult {
    try await DunlinQueryResult(answering(query, Value.fields(arguments)))
  }

  /// Executes a prepared statement as a part of the transaction; it sees what the transaction has written.
  ///
  /// - Throws: The codes of queries; `readOnlyTransaction`, `deadline`, `closed`, `cancelled`.
  @discardableResult
  public func execute(
    _ statement: DunlinPreparedStatement, arguments: [String: Any?] = [:]
  ) async throws -> DunlinQueryResult {
    try await DunlinQueryResult(answering(statement.prepared, Value.fields(arguments)))
  }

  func answering(_ query: String, _ arguments: [TextKey: Value]) async throws -> Answer {
    try await answering(translatingErrors { try local.engine.prepare(query) }, arguments)
  }

  /// Executes a prepared statement.
  ///
  /// Cancelling the task ends a statement that has not begun to write; the transaction can go on.
  func answering(_ prepared: PreparedStatement, _ arguments: [TextKey: Value]) async throws -> Answer {
    if case .reading = access { try prepared.checkReadOnly(hint) }
    let (engine, context) = (local.engine, local.engine.makeContext())
    do {
      let result = try await withTaskCancellationHandler {
        switch access {
        case .writing(let transaction):
          try await transaction.run {
            try engine.execute(prepared, arguments: arguments, in: $0, context: context)
          }
        case .reading(let snapshot):
          try await snapshot.read {
            try engine.execute(prepared, arguments: arguments, in: $0, context: context)
          }
        }
      } onCancel: {
        context.cancel()
      }
      return Answer(result, .statement(prepared.text))
    } catch {
      throw DunlinError.translating(error)
    }
  }
}
