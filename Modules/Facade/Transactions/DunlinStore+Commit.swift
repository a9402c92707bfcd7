extension DunlinStore {
  /// Runs `body` as one transaction, and returns its commit.
  ///
  /// The commit is for a caller that wants to wait until other peers have it. Otherwise this does the same as
  /// `write(hint:_:)`.
  /// - Parameters:
  ///   - hint: Names the transaction in log lines and errors.
  ///   - body: Gets the transaction; when it throws, nothing is written.
  /// - Returns: What `body` returns, and the commit.
  /// - Throws: The same as `write(hint:_:)`.
  @discardableResult
  public func commit<R>(
    hint: String? = nil, _ body: (DunlinWriteTransaction) throws -> R
  ) throws -> DunlinCommit<R> {
    let (value, receipt) = try local.carryOut(body, as: "commit", hint: hint)
    return DunlinCommit(value, receipt)
  }

  /// Runs `body` as one transaction, and returns its commit, without blocking a thread.
  ///
  /// - Throws: The same as the form that blocks, without `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func commit<R: Sendable>(
    hint: String? = nil, _ body: sending @escaping (DunlinWriteTransaction) throws -> R
  ) async throws -> DunlinCommit<R> {
    let local = local
    let (value, receipt) = try await local.carryOut(body, hint: hint)
    return DunlinCommit(value, receipt)
  }

  /// Runs `body` as one transaction; the value that `body` returns commits it or rolls it back.
  ///
  /// - Returns: What `body` returns.
  /// - Throws: The same as the form whose body returns a value.
  @discardableResult @_disfavoredOverload
  public func write(
    hint: String? = nil, _ body: (DunlinWriteTransaction) throws -> DunlinTransactionCompletionAction
  ) throws -> DunlinTransactionCompletionAction {
    try local.carryOut(body, as: "write", hint: hint).0
  }

  /// Runs `body` as one transaction, which `body` commits or rolls back, without blocking a thread.
  ///
  /// - Returns: What `body` returns.
  /// - Throws: The same as the form whose body returns a value.
  @discardableResult @_disfavoredOverload
  public func write(
    hint: String? = nil,
    _ body: sending @escaping (DunlinWriteTransaction) throws -> DunlinTransactionCompletionAction
  ) async throws -> DunlinTransactionCompletionAction {
    let local = local
    return try await local.carryOut(body, hint: hint).0
  }
}
