import DocStore

extension Core {
  /// Runs `body` on one collection in a transaction of its own; the caller's thread waits.
  ///
  /// - Parameters:
  ///   - collection: The collection.
  ///   - method: What the application called, whose awaited form `wouldBlock` names.
  ///   - body: Gets the collection inside the transaction.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws; the codes of writes.
  func write<R>(
    _ collection: String, as method: String, _ body: (Operations) throws -> R
  ) throws -> R {
    try blockingWrite(as: method) { try body(Operations(collection, self, $0)) }
  }

  /// Runs `body` on one collection in a transaction of its own; no thread waits.
  func write<R: Sendable>(
    _ collection: String, _ body: sending @escaping (Operations) throws -> R
  ) async throws -> R {
    try await awaitedWrite { try body(Operations(collection, self, $0)) }
  }

  /// Runs `body` as a transaction; the caller's thread waits.
  func blockingWrite<R>(as method: String, _ body: (WriteTransaction) throws -> R) throws -> R {
    try translatingErrors(awaitedForm: "try await \(method)") { try store.write(body).0 }
  }

  /// Runs `body` as a transaction; no thread waits.
  func awaitedWrite<R: Sendable>(_ body: sending @escaping (WriteTransaction) throws -> R) async throws -> R {
    do {
      return try await store.write(body).0
    } catch {
      throw DunlinError.translating(error)
    }
  }
}
