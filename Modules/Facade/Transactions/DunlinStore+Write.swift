extension DunlinStore {
  /// Runs `body` as one transaction over any collections, which takes effect as a whole.
  ///
  /// The same holds at other peers. One write transaction runs at a time; others wait. `body` runs on the
  /// database's own thread while the caller waits, and must not start another one. When `body` throws,
  /// nothing is written.
  /// - Parameters:
  ///   - hint: Names the transaction in log lines and errors.
  ///   - body: Gets the transaction.
  /// - Returns: What `body` returns; `commit(hint:_:)` also returns the commit.
  /// - Throws: What `body` throws; `nestedWriteTransaction` at once inside another write; `wouldBlock` in a
  ///   task, after one second's wait for the end of an asynchronous transaction; `full`, `io`, `poisoned`,
  ///   `closed`.
  @discardableResult
  public func write<R>(hint: String? = nil, _ body: (DunlinWriteTransaction) throws -> R) throws -> R {
    try local.carryOut(body, as: "write", hint: hint).0
  }

  /// Runs `body` as one transaction over any collections, without blocking a thread.
  ///
  /// A task that is cancelled while it waits for its turn writes nothing. A later cancellation has no effect.
  /// - Returns: What `body` returns.
  /// - Throws: The same as the form that blocks, without `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func write<R: Sendable>(
    hint: String? = nil, _ body: sending @escaping (DunlinWriteTransaction) throws -> R
  ) async throws -> R {
    let local = local
    return try await local.carryOut(body, hint: hint).0
  }

  /// Runs a `body` that does not throw as one transaction over any collections.
  ///
  /// This form does not throw: it logs a failure, passes it to the configuration's failure handler, and
  /// writes nothing. For a `body` that throws, the compiler chooses the form that throws.
  /// - Returns: What `body` returns; `nil` after a failure.
  @discardableResult
  public func write<R>(hint: String? = nil, _ body: (DunlinWriteTransaction) -> R) -> R? {
    local.reporter.orReport("write", nil) {
      try local.carryOut(body, as: "write", hint: hint).0
    }
  }

  /// Runs a `body` that does not throw as one transaction over any collections, without blocking a thread.
  ///
  /// This form does not throw: it logs a failure, passes it to the configuration's failure handler, and
  /// writes nothing. For a `body` that throws, the compiler chooses the form that throws.
  /// - Returns: What `body` returns; `nil` after a failure.
  @discardableResult
  public func write<R: Sendable>(
    hint: String? = nil, _ body: sending @escaping (DunlinWriteTransaction) -> R
  ) async -> R? {
    let local = local
    do {
      return try await local.carryOut(body, hint: hint).0
    } catch {
      local.reporter.fail("write", error)
      return nil
    }
  }

  /// Runs a `body` that neither throws nor returns a value as one transaction over any collections.
  ///
  /// Use this form for a closure that contains only the write, as in `DispatchQueue.global().async { … }`. It
  /// does not throw: it logs a failure, passes it to the configuration's failure handler, and writes nothing.
  public func write(hint: String? = nil, _ body: (DunlinWriteTransaction) -> Void) {
    local.reporter.orReport("write", ()) {
      _ = try local.carryOut(body, as: "write", hint: hint)
    }
  }

  /// Runs a `body` that neither throws nor returns a value as one transaction, without blocking a thread.
  ///
  /// This form does not throw: it logs a failure, passes it to the configuration's failure handler, and
  /// writes nothing. For a `body` that throws, the compiler chooses the form that throws.
  public func write(
    hint: String? = nil, _ body: sending @escaping (DunlinWriteTransaction) -> Void
  ) async {
    let local = local
    do {
      _ = try await local.carryOut(body, hint: hint)
    } catch {
      local.reporter.fail("write", error)
    }
  }
}
