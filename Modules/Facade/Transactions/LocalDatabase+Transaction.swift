import DocStore

extension LocalDatabase {
  /// Runs an application's `body` as a transaction; the caller's thread waits.
  ///
  /// The transaction fails if a call in it that does not throw has failed. It is rolled back if `body`
  /// returns `rollback`.
  func carryOut<R>(
    _ body: (DunlinWriteTransaction) throws -> R, as method: String, hint: String?
  ) throws -> (R, CommitReceipt) {
    var undone: R?
    do {
      return try blockingCommit(as: method, hint: hint) { transaction in
        let result = try run(body, in: transaction)
        guard asksForRollback(result) else { return result }
        undone = result
        throw RollbackRequest(value: ())
      }
    } catch is RollbackRequest<Void> where undone != nil {
      guard let undone else { preconditionFailure("What was rolled back has no result") }
      return (undone, CommitReceipt())
    }
  }

  /// Runs an application's `body` as a transaction; no thread waits.
  func carryOut<R: Sendable>(
    _ body: sending @escaping (DunlinWriteTransaction) throws -> R, hint: String?
  ) async throws -> (R, CommitReceipt) {
    do {
      return try await awaitedCommit(hint: hint) { transaction in
        let result = try self.run(body, in: transaction)
        guard asksForRollback(result) else { return result }
        throw RollbackRequest(value: result)
      }
    } catch let request as RollbackRequest<R> {
      return (request.value, CommitReceipt())
    }
  }

  /// Runs an application's `body`, which awaits its calls, as a transaction.
  func carryOut<R: Sendable>(
    awaiting body: (DunlinTransaction) async throws -> R, hint: String?
  ) async throws -> (R, CommitReceipt) {
    do {
      return try await store.transaction(hint: hint) { transaction in
        let result = try await body(DunlinTransaction(.writing(transaction), hint, self))
        guard asksForRollback(result) else { return result }
        throw RollbackRequest(value: result)
      }
    } catch let request as RollbackRequest<R> {
      return (request.value, CommitReceipt())
    } catch {
      throw DunlinError.translating(error)
    }
  }

  private func run<R>(
    _ body: (DunlinWriteTransaction) throws -> R, in transaction: WriteTransaction
  ) throws -> R {
    let transaction = DunlinWriteTransaction(transaction, self)
    let result = try body(transaction)
    try transaction.finish()
    return result
  }
}

/// Signals that a body has asked for a rollback: the store's transaction ends with this error.
///
/// No public call throws it.
private struct RollbackRequest<Value: Sendable>: Error {
  let value: Value
}

private func asksForRollback<R>(_ result: R) -> Bool {
  (result as? DunlinTransactionCompletionAction) == .rollback
}
