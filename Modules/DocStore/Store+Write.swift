extension Store {
  /// Runs `body` as the only writer, and returns once what it wrote is durable.
  ///
  /// `body` runs while the caller waits: on the caller's thread where nobody else writes and no task runs on it, else on
  /// the store's. When it throws, nothing is written.
  /// - Parameters:
  ///   - origin: Who writes.
  ///   - hint: Names the transaction in log lines and errors, 64 characters of it.
  ///   - body: Gets the transaction.
  /// - Returns: What `body` returns, and the commit.
  /// - Throws: `nestedWriteTransaction` at once inside a write transaction of this store; `wouldBlock` on a thread
  ///   that tasks run on, after a second's wait for an asynchronous transaction to end; `closed`, `poisoned`,
  ///   `full`, `io`; what `body` throws.
  @discardableResult
  public func write<R>(
    origin: Origin = .user, hint: String? = nil, _ body: (WriteTransaction) throws -> R
  ) throws -> (R, CommitReceipt) {
    try checkMayWrite()
    return try withoutActuallyEscaping(body) { body in
      var result: R?
      let latch = Latch<Job.Outcome>()
      // SAFETY: the caller waits until the job is over, so what `body` captures is used by one thread
      // at a time, and the job lets go of it before the caller goes on.
      let job = Job(origin, hint: hint, options) {
        result = try body($0)
      } completion: {
        latch.set($0)
      }
      let receipt = try writer.carryOut(job, latch, awaitedForm: "try await write")
      guard let result else { throw StoreError(.closed, "The transaction did not run", operation: "write") }
      return (result, receipt)
    }
  }

  /// Runs `body` as the only writer, and returns once what it wrote is durable, without blocking a thread.
  ///
  /// A task that is cancelled while it waits for its turn leaves the queue; later it is too late.
  /// - Throws: As the form that blocks, but for `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func write<R: Sendable>(
    origin: Origin = .user, hint: String? = nil, _ body: sending @escaping (WriteTransaction) throws -> R
  ) async throws -> (R, CommitReceipt) {
    try checkMayWrite()
    let result = Monitor<R?>(nil)
    let receipt = try await enqueue(origin, hint) { transaction in
      let value = try body(transaction)
      result.withLock { $0 = value }
    }
    guard let value = result.withLock({ $0 }) else {
      throw StoreError(.closed, "The transaction did not run", operation: "write")
    }
    return (value, receipt)
  }

  /// Queues a transaction and returns at once; no task and no thread waits for it, so an event loop may call it.
  ///
  /// - Parameters:
  ///   - origin: Who writes.
  ///   - body: Runs as that of `write`.
  ///   - completion: Hears how it went, where the body ran, after listeners have heard of the commit; at once
  ///     where the store is closed. A store that crashes calls it no more.
  public func enqueue(
    origin: Origin = .user, _ body: @escaping @Sendable (WriteTransaction) throws -> Void,
    completion: @escaping @Sendable (Result<CommitReceipt, any Error>) -> Void
  ) {
    do throws(StoreError) {
      _ = try openEnvironment("write")
    } catch {
      return completion(.failure(error))
    }
    writer.enqueue(Job(origin, options, body: body, completion: completion))
  }

  /// Runs an asynchronous `body` as the only writer; its statements reach the writer thread one by one.
  ///
  /// Other writers wait as long as `body` takes, so it should not wait for anything slow: when no
  /// statement comes for the length of the deadline, everything is rolled back.
  /// - Throws: `deadline`; else as the other forms. What `body` throws rolls back.
  @discardableResult
  public func transaction<R: Sendable>(
    origin: Origin = .user, hint: String? = nil, _ body: (AsyncWriteTransaction) async throws -> R
  ) async throws -> (R, CommitReceipt) {
    precondition(options.drive == .thread, "An asynchronous transaction needs a thread of the store's")
    try checkMayWrite()
    let mailbox = Mailbox(deadline: options.transactionDeadline)
    let job = mailbox.makeJob(origin, hint: hint, options: options)
    let token = TransactionToken(store: ObjectIdentifier(self), outer: TransactionToken.current)
    defer { token.end() }
    return try await withTaskCancellationHandler {
      writer.enqueue(job)
      try await mailbox.started()
      do {
        let result = try await TransactionToken.$current.withValue(token) {
          try await body(AsyncWriteTransaction(mailbox: mailbox))
        }
        return (result, try await mailbox.end(committing: true))
      } catch {
        _ = try? await mailbox.end(committing: false)
        throw error
      }
    } onCancel: {
      writer.cancel(job)
    }
  }

  private func enqueue(
    _ origin: Origin, _ hint: String?, _ body: sending @escaping (WriteTransaction) throws -> Void
  ) async throws -> CommitReceipt {
    let outcome = Mailbox.Outcome()
    let job = Job(origin, hint: hint, options, body: body) { outcome.set($0) }
    return try await withTaskCancellationHandler {
      writer.submit(job)
      return try await outcome.value()
    } onCancel: {
      writer.cancel(job)
    }
  }

  /// Refuses what could only wait for itself.
  func checkMayWrite() throws(StoreError) {
    _ = try openEnvironment("write")
    guard !writer.isCurrentThread, !TransactionToken.isOpen(ObjectIdentifier(self)) else {
      throw StoreError(
        .nestedWriteTransaction,
        "A write transaction was started inside a write transaction of the same store",
        operation: "write")
    }
  }
}
