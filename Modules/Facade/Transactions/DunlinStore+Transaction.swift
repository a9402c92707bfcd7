import DocStore

extension DunlinStore {
  /// Runs `body` as one transaction whose statements are awaited one by one.
  ///
  /// Other writers wait as long as `body` takes: it should wait for nothing slow. When no statement comes for
  /// the length of the configured deadline, all is rolled back. When `body` throws, nothing is written; a
  /// statement that fails has written nothing, and a body that catches its error can go on.
  ///
  /// A read-only one reads from one snapshot, which a thread keeps open, and keeps no writer waiting; 64 may be open. A
  /// statement that writes is the error `readOnlyTransaction` there.
  /// - Parameters:
  ///   - hint: Names the transaction in log lines and errors.
  ///   - isReadOnly: Whether nothing may be written.
  ///   - body: Gets the transaction.
  /// - Returns: What `body` returns; ``commitTransaction(hint:_:)`` tells of the commit, too.
  /// - Throws: What `body` throws; `nestedWriteTransaction` at once inside another one; `deadline`,
  ///   `cancelled`, `full`, `io`, `closed`; `limit` for too many read-only ones.
  @discardableResult
  public func transaction<R: Sendable>(
    hint: String? = nil, isReadOnly: Bool = false, _ body: (DunlinTransaction) async throws -> R
  ) async throws -> R {
    guard isReadOnly else { return try await core.carryOut(awaiting: body, hint: hint).0 }
    return try await core.readTransaction(hint, body)
  }

  /// Runs `body` as one transaction whose statements are awaited, which takes effect or not as `body` says.
  ///
  /// - Returns: What `body` returns.
  /// - Throws: As the form whose body returns a value.
  @discardableResult @_disfavoredOverload
  public func transaction(
    hint: String? = nil, isReadOnly: Bool = false,
    _ body: (DunlinTransaction) async throws -> DunlinTransactionCompletionAction
  ) async throws -> DunlinTransactionCompletionAction {
    guard !isReadOnly else { return try await core.readTransaction(hint, body) }
    return try await core.carryOut(awaiting: body, hint: hint).0
  }

  /// Runs `body` as one transaction whose statements are awaited, and tells of its commit, for who wants to wait until other
  /// peers have it.
  ///
  /// - Returns: What `body` returns, and the commit.
  /// - Throws: As `transaction(hint:isReadOnly:_:)`.
  @discardableResult
  public func commitTransaction<R: Sendable>(
    hint: String? = nil, _ body: (DunlinTransaction) async throws -> R
  ) async throws -> DunlinCommit<R> {
    let (value, receipt) = try await core.carryOut(awaiting: body, hint: hint)
    return DunlinCommit(value, receipt)
  }
}

extension Core {
  fileprivate func readTransaction<R: Sendable>(
    _ hint: String?, _ body: (DunlinTransaction) async throws -> R
  ) async throws -> R {
    let snapshot = SnapshotThread(deadline: transactionDeadline, hint: hint)
    try rowReaders.run(on: store, stop: { snapshot.end($0) }) { [store] in snapshot.serve(store) }
    // The snapshot is of the moment before the body begins.
    defer { snapshot.end(DunlinError(.closed, "the read transaction is over")) }
    do {
      try await snapshot.read { _ in }
      return try await body(DunlinTransaction(.reading(snapshot), hint, self))
    } catch {
      throw DunlinError.translating(error)
    }
  }
}
