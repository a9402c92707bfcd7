import CRDTCore
import DocStore
import QueryEngine

/// A transaction whose statements are awaited, for use in its body alone.
public struct DunlinTransaction: Sendable {
  let transaction: AsyncWriteTransaction
  let engine: Engine

  /// Executes one DQL statement as a part of the transaction; it sees what the transaction has written.
  ///
  /// - Throws: The codes of queries; `deadline`, `closed`, `cancelled`.
  @discardableResult
  public func execute(query: String, arguments: [String: Any?] = [:]) async throws -> DunlinQueryResult {
    try await DunlinQueryResult(answering(query, Value.fields(arguments)))
  }

  /// Executes a prepared statement as a part of the transaction; it sees what the transaction has written.
  ///
  /// - Throws: The codes of queries; `deadline`, `closed`, `cancelled`.
  @discardableResult
  public func execute(
    _ statement: DunlinPreparedStatement, arguments: [String: Any?] = [:]
  ) async throws -> DunlinQueryResult {
    try await DunlinQueryResult(answering(statement.prepared, Value.fields(arguments)))
  }

  func answering(_ query: String, _ arguments: [TextKey: Value]) async throws -> QueryResult {
    try await answering(translatingErrors { try engine.prepare(query) }, arguments)
  }

  /// Cancelling the task ends a statement that has not begun to write; the transaction can go on.
  func answering(_ prepared: PreparedStatement, _ arguments: [TextKey: Value]) async throws -> QueryResult {
    let context = engine.makeContext()
    do {
      return try await withTaskCancellationHandler {
        try await transaction.run { [engine] transaction in
          try engine.execute(prepared, arguments: arguments, in: transaction, context: context)
        }
      } onCancel: {
        context.cancel()
      }
    } catch {
      throw DunlinError.translating(error)
    }
  }
}
