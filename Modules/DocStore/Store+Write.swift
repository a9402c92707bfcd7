extension Store {
  /// Runs `body` as the only writer, and returns once what it wrote is durable.
  ///
  /// The caller waits while `body` runs. It runs on the caller's thread if nobody else writes and no task
  /// runs on that thread, otherwise on the store's thread. When it throws, nothing is written.
  /// - Parameters:
  ///   - origin: Who writes.
  ///   - hint: Names the transaction in log lines and errors; the first 64 characters are used.
  ///   - body: Is called with the transaction.
  /// - Returns: What `body` returns, and the commit.
  /// - Throws: `nestedWriteTransaction` immediately, inside a write transaction of this store; `wouldBlock`
  ///   on a thread that runs tasks, after waiting one second for an asynchronous transaction to end;
  ///   `readOnlyStore`, `closed`, `poisoned`, `full`, `io`; what `body` throws.
  @discardableResult
  public func write<R>(
    origin: Origin = .user, hint: String? = nil, _ body: (WriteTransaction) throws -> R
  ) throws -> (R, CommitReceipt) {
    try checkMayWrite()
    return try withoutActuallyEscaping(body) { body in
      var result: R?
      let latch = Latch<Job.Outcome>()
      // SAFETY: the caller waits until the job has ended, so only one thread at a time uses what `body`
      // captures, and the job releases it before the caller goes on.
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
  /// A task that is cancelled while it waits in the queue leaves the queue. Later, cancelling has no effect.
  /// - Throws: What the blocking form throws, except `wouldBlock`; and `CancellationError`.
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

  /// Queues a transaction and returns at once; no task or thread waits for it, so an event loop may call it.
  ///
  /// - Parameters:
  ///   - origin: Who writes.
  ///   - body: Runs like that of `write`.
  ///   - completion: Is called with the result, on the thread on which the body ran, after the listeners were
  ///     called with the commit. If the store is closed, it is called at once. A store that crashes does not
  ///     call it.
  public func enqueue(
    origin: Origin = .user, _ body: @escaping @Sendable (WriteTransaction) throws -> Void,
    completion: @escaping @Sendable (Result<CommitReceipt, any Error>) -> Void
  ) {
    do throws(StoreError) {
      try checkIsWritable()
    } catch {
      return completion(.failure(error))
    }
    writer.enqueue(Job(origin, options, body: body, completion: completion))
  }

  /// Runs an asynchronous `body` as the only writer; its statements reach the writer thread one by one.
  ///
  /// Other writers wait while `body` runs, so it should not wait for anything slow. When no statement arrives
  /// within the deadline, everything is rolled back.
  /// - Throws: `deadline`, and what the other forms throw. When `body` throws, the transaction is rolled
  ///   back.
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

  /// - Throws: `closed`, `forked`; `readOnlyStore` for a store that is only read.
  private func checkIsWritable() throws(StoreError) {
    _ = try openEnvironment("write")
    guard !options.isReadOnly else { throw StoreError.readOnly("write") }
  }

  /// Refuses a write that would wait for itself.
  func checkMayWrite() throws(StoreError) {
    try checkIsWritable()
    guard !writer.isCurrentThread, !TransactionToken.isOpen(ObjectIdentifier(self)) else {
      throw StoreError(
        .nestedWriteTransaction,
        "A write transaction was started inside a write transaction of the same store",
        operation: "write")
    }
  }
}
