extension DunlinStore {
  /// Runs `body` as one transaction over any collections: it takes effect as a whole, here and at other peers.
  ///
  /// One write transaction runs at a time; others wait. `body` runs on the database's own thread while the
  /// caller waits, and must not start another one. When it throws, nothing is written.
  /// - Parameters:
  ///   - hint: Names the transaction in log lines and errors.
  ///   - body: Gets the transaction.
  /// - Returns: What `body` returns; `commit(hint:_:)` tells of the commit, too.
  /// - Throws: What `body` throws; `nestedWriteTransaction` at once inside another write; `wouldBlock` in a task,
  ///   after a second's wait for an asynchronous transaction to end; `full`, `io`, `poisoned`, `closed`.
  @discardableResult
  public func write<R>(hint: String? = nil, _ body: (DunlinWriteTransaction) throws -> R) throws -> R {
    try core.carryOut(body, as: "write", hint: hint).0
  }

  /// Runs `body` as one transaction over any collections, without blocking a thread.
  ///
  /// A task that is cancelled while it waits for its turn writes nothing; later it is too late.
  /// - Returns: What `body` returns.
  /// - Throws: As the form that blocks, but for `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func write<R: Sendable>(
    hint: String? = nil, _ body: sending @escaping (DunlinWriteTransaction) throws -> R
  ) async throws -> R {
    let core = core
    return try await core.carryOut(body, hint: hint).0
  }

  /// Runs a `body` that cannot fail as one transaction over any collections.
  ///
  /// This form does not throw: a failure is logged and handed to the configuration's failure handler, and
  /// nothing is written. A `body` that throws gets the form that throws.
  /// - Returns: What `body` returns; `nil` after a failure.
  @discardableResult
  public func write<R>(hint: String? = nil, _ body: (DunlinWriteTransaction) -> R) -> R? {
    core.reporter.orReport("write", nil) {
      try core.carryOut(body, as: "write", hint: hint).0
    }
  }

  /// Runs a `body` that cannot fail as one transaction over any collections, without blocking a thread.
  ///
  /// This form does not throw: a failure is logged and handed to the configuration's failure handler, and
  /// nothing is written. A `body` that throws gets the form that throws.
  /// - Returns: What `body` returns; `nil` after a failure.
  @discardableResult
  public func write<R: Sendable>(
    hint: String? = nil, _ body: sending @escaping (DunlinWriteTransaction) -> R
  ) async -> R? {
    let core = core
    do {
      return try await core.carryOut(body, hint: hint).0
    } catch {
      core.reporter.fail("write", error)
      return nil
    }
  }

  /// Runs a `body` that cannot fail and returns nothing as one transaction over any collections.
  ///
  /// It is the form for a closure with nothing but the write in it, as in `DispatchQueue.global().async { … }`. It does
  /// not throw: a failure is logged and handed to the configuration's failure handler, and nothing is written.
  public func write(hint: String? = nil, _ body: (DunlinWriteTransaction) -> Void) {
    core.reporter.orReport("write", ()) {
      _ = try core.carryOut(body, as: "write", hint: hint)
    }
  }

  /// Runs a `body` that cannot fail and returns nothing as one transaction over any collections, without blocking a
  /// thread.
  ///
  /// This form does not throw: a failure is logged and handed to the configuration's failure handler, and
  /// nothing is written. A `body` that throws gets the form that throws.
  public func write(
    hint: String? = nil, _ body: sending @escaping (DunlinWriteTransaction) -> Void
  ) async {
    let core = core
    do {
      _ = try await core.carryOut(body, hint: hint)
    } catch {
      core.reporter.fail("write", error)
    }
  }
}
