/// The writer's side of an asynchronous transaction, for use in its body.
public struct AsyncWriteTransaction: Sendable {
  let mailbox: Mailbox

  /// Runs a statement on the writer thread and returns what it returns.
  ///
  /// A statement that throws undoes nothing by itself: let the error leave the body to roll back.
  /// - Throws: `deadline` or `closed` when the transaction is over; `CancellationError`; what `body` throws.
  public func run<R: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> R) async throws -> R {
    try Task.checkCancellation()
    return try await withCheckedThrowingContinuation { continuation in
      mailbox.post { transaction in
        continuation.resume(with: Result { try body(transaction.get()) })
      }
    }
  }
}
