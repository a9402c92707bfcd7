extension DunlinStore {
  /// Runs `body` as one transaction, and tells of its commit, for who wants to wait until other peers have it.
  ///
  /// It is `write(hint:_:)` for all else.
  /// - Parameters:
  ///   - hint: Names the transaction in log lines and errors.
  ///   - body: Gets the transaction; when it throws, nothing is written.
  /// - Returns: What `body` returns, and the commit.
  /// - Throws: As `write(hint:_:)`.
  @discardableResult
  public func commit<R>(
    hint: String? = nil, _ body: (DunlinWriteTransaction) throws -> R
  ) throws -> DunlinCommit<R> {
    let (value, receipt) = try core.carryOut(body, as: "commit", hint: hint)
    return DunlinCommit(value, receipt)
  }

  /// Runs `body` as one transaction, and tells of its commit, without blocking a thread.
  ///
  /// - Throws: As the form that blocks, but for `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func commit<R: Sendable>(
    hint: String? = nil, _ body: sending @escaping (DunlinWriteTransaction) throws -> R
  ) async throws -> DunlinCommit<R> {
    let core = core
    let (value, receipt) = try await core.carryOut(body, hint: hint)
    return DunlinCommit(value, receipt)
  }

  /// Runs `body` as one transaction, which takes effect or not as `body` says.
  ///
  /// - Returns: What `body` returns.
  /// - Throws: As the form whose body returns a value.
  @discardableResult @_disfavoredOverload
  public func write(
    hint: String? = nil, _ body: (DunlinWriteTransaction) throws -> DunlinTransactionCompletionAction
  ) throws -> DunlinTransactionCompletionAction {
    try core.carryOut(body, as: "write", hint: hint).0
  }

  /// Runs `body` as one transaction, which takes effect or not as `body` says, without blocking a thread.
  ///
  /// - Returns: What `body` returns.
  /// - Throws: As the form whose body returns a value.
  @discardableResult @_disfavoredOverload
  public func write(
    hint: String? = nil,
    _ body: sending @escaping (DunlinWriteTransaction) throws -> DunlinTransactionCompletionAction
  ) async throws -> DunlinTransactionCompletionAction {
    let core = core
    return try await core.carryOut(body, hint: hint).0
  }
}
