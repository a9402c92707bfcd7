import DocStore

extension DunlinStore {
  /// Runs `body` as one transaction whose statements are awaited one by one.
  ///
  /// Other writers wait as long as `body` runs, so it should not wait for anything slow. When no statement
  /// arrives for the length of the configured deadline, the transaction is rolled back. When `body` throws,
  /// nothing is written. A statement that fails has written nothing; a body that catches its error can go on.
  ///
  /// A read-only transaction reads from one snapshot, which a thread keeps open, and blocks no writer. Up to
  /// 64 may be open. A statement that writes throws `readOnlyTransaction` there.
  /// - Parameters:
  ///   - hint: Names the transaction in log lines and errors.
  ///   - isReadOnly: Whether the transaction may only read.
  ///   - body: Gets the transaction.
  /// - Returns: What `body` returns; ``commitTransaction(hint:_:)`` also returns the commit.
  /// - Throws: What `body` throws; `nestedWriteTransaction` at once inside another one; `deadline`,
  ///   `cancelled`, `full`, `io`, `closed`; `limit` for too many read-only ones.
  @discardableResult
  public func transaction<R: Sendable>(
    hint: String? = nil, isReadOnly: Bool = false, _ body: (DunlinTransaction) async throws -> R
  ) async throws -> R {
    guard isReadOnly else { return try await local.carryOut(awaiting: body, hint: hint).0 }
    return try await local.readTransaction(hint, body)
  }

  /// Runs `body` as one transaction with awaited statements, which `body` commits or rolls back.
  ///
  /// - Returns: What `body` returns.
  /// - Throws: The same as the form whose body returns a value.
  @discardableResult @_disfavoredOverload
  public func transaction(
    hint: String? = nil, isReadOnly: Bool = false,
    _ body: (DunlinTransaction) async throws -> DunlinTransactionCompletionAction
  ) async throws -> DunlinTransactionCompletionAction {
    guard !isReadOnly else { return try await local.readTransaction(hint, body) }
    return try await local.carryOut(awaiting: body, hint: hint).0
  }

  /// Runs `body` as one transaction whose statements are awaited, and returns its commit.
  ///
  /// The commit is for a caller that wants to wait until other peers have it.
  /// - Returns: What `body` returns, and the commit.
  /// - Throws: The same as `transaction(hint:isReadOnly:_:)`.
  @discardableResult
  public func commitTransaction<R: Sendable>(
    hint: String? = nil, _ body: (DunlinTransaction) async throws -> R
  ) async throws -> DunlinCommit<R> {
    let (value, receipt) = try await local.carryOut(awaiting: body, hint: hint)
    return DunlinCommit(value, receipt)
  }
}

extension LocalDatabase {
  fileprivate func readTransaction<R: Sendable>(
    _ hint: String?, _ body: (DunlinTransaction) async throws -> R
  ) async throws -> R {
    let snapshot = SnapshotThread(deadline: transactionDeadline, hint: hint)
    try rowReaders.run(stop: { snapshot.end($0) }) { [store] in snapshot.serve(store) }
    // This read opens the snapshot before the body begins.
    defer { snapshot.end(DunlinError(.closed, "the read transaction is over")) }
    do {
      try await snapshot.read { _ in }
      return try await body(DunlinTransaction(.reading(snapshot), hint, self))
    } catch {
      throw DunlinError.translating(error)
    }
  }
}
