import DocStore

extension LocalDatabase {
  /// Runs `body` on one collection, in a transaction of its own; the caller's thread waits.
  ///
  /// - Parameters:
  ///   - collection: The collection.
  ///   - method: The public method that the application called; `wouldBlock` names its awaited form.
  ///   - body: Gets the collection inside the transaction.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws; the codes of writes. The error's context contains the collection.
  func write<R>(
    _ collection: String, as method: String, _ body: (Operations) throws -> R
  ) throws -> R {
    try commit(collection, as: method, body).0
  }

  /// Runs `body` on one collection in a transaction of its own; no thread waits.
  func write<R: Sendable>(
    _ collection: String, _ body: sending @escaping (Operations) throws -> R
  ) async throws -> R {
    try await commit(collection, body).0
  }

  /// Does the same as `write`, and also returns the commit.
  func commit<R>(
    _ collection: String, as method: String, _ body: (Operations) throws -> R
  ) throws -> (R, CommitReceipt) {
    try locatingErrors(in: collection) {
      try blockingCommit(as: method) { try body(Operations(collection, self, $0)) }
    }
  }

  /// Does the same as `write`, and also returns the commit.
  func commit<R: Sendable>(
    _ collection: String, _ body: sending @escaping (Operations) throws -> R
  ) async throws -> (R, CommitReceipt) {
    do {
      return try await awaitedCommit { try body(Operations(collection, self, $0)) }
    } catch {
      throw DunlinError.locating(error, in: collection)
    }
  }

  /// Runs `body` as a transaction; the caller's thread waits.
  func blockingCommit<R>(
    as method: String, hint: String? = nil, _ body: (WriteTransaction) throws -> R
  ) throws -> (R, CommitReceipt) {
    try translatingErrors(awaitedForm: "try await \(method)") { try store.write(hint: hint, body) }
  }

  /// Runs `body` as a transaction; no thread waits.
  func awaitedCommit<R: Sendable>(
    hint: String? = nil, _ body: sending @escaping (WriteTransaction) throws -> R
  ) async throws -> (R, CommitReceipt) {
    do {
      return try await store.write(hint: hint, body)
    } catch {
      throw DunlinError.translating(error)
    }
  }
}

extension CommitReceipt {
  /// The commit's position in the store's log; `nil` when nothing was written.
  var place: UInt64? { sequence > 0 ? sequence : nil }
}

extension DunlinError {
  /// Adds the collection to the context of an error of this library; returns any other error unchanged.
  static func locating(_ error: any Error, in collection: String) -> any Error {
    (translating(error) as? DunlinError)?.located(in: collection) ?? error
  }

  /// The error with the collection in its context.
  func located(in collection: String) -> DunlinError { located("collection", collection) }

  /// The error with a position in its context, unless the context already has one of that name.
  func located(_ name: String, _ place: String) -> DunlinError {
    guard context[name] == nil else { return self }
    return DunlinError(
      code, message, context: context.merging([name: place]) { $1 }, underlying: underlying)
  }
}

/// Runs `body` for one of several documents, and adds its number to the context of the library's errors.
func locatingErrors<R>(inRow row: Int, _ body: () throws -> R) throws -> R {
  do {
    return try body()
  } catch {
    throw (DunlinError.translating(error) as? DunlinError)?.located("row", "\(row)") ?? error
  }
}

/// Runs `body`, and adds the collection to the context of the library's errors.
func locatingErrors<R>(in collection: String, _ body: () throws -> R) throws -> R {
  do { return try body() } catch { throw DunlinError.locating(error, in: collection) }
}
