/// The handle of an asynchronous transaction, for use in its body.
public struct AsyncWriteTransaction: Sendable {
  let mailbox: Mailbox

  /// Runs a statement on the writer's thread and returns its result.
  ///
  /// A statement that throws undoes nothing by itself. To roll back, let the error leave the body.
  /// - Throws: `deadline` or `closed` when the transaction has ended; `CancellationError`; what `body`
  ///   throws.
  public func run<R: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> R) async throws -> R {
    try Task.checkCancellation()
    return try await withCheckedThrowingContinuation { continuation in
      mailbox.post { transaction in
        continuation.resume(with: Result { try body(transaction.get()) })
      }
    }
  }
}
