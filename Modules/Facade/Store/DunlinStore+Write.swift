import DocStore

extension DunlinStore {
  /// Runs `body` as one transaction over any collections: it takes effect as a whole, here and at other peers.
  ///
  /// One write transaction runs at a time; others wait. `body` runs on the database's own thread while the
  /// caller waits, and must not start another one. When it throws, nothing is written.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws; `nestedWriteTransaction` at once inside another write; `wouldBlock` in a task,
  ///   after a second's wait for an asynchronous transaction to end; `full`, `io`, `poisoned`, `closed`.
  @discardableResult
  public func write<R>(_ body: (DunlinWriteTransaction) throws -> R) throws -> R {
    try core.blockingWrite(as: "write") { try core.run(body, in: $0) }
  }

  /// Runs `body` as one transaction over any collections, without blocking a thread.
  ///
  /// A task that is cancelled while it waits for its turn writes nothing; later it is too late.
  /// - Returns: What `body` returns.
  /// - Throws: As the form that blocks, but for `wouldBlock`; and `CancellationError`.
  @discardableResult
  public func write<R: Sendable>(
    _ body: sending @escaping (DunlinWriteTransaction) throws -> R
  ) async throws -> R {
    let core = core
    return try await core.awaitedWrite { try core.run(body, in: $0) }
  }

  /// Runs a `body` that cannot fail as one transaction over any collections.
  ///
  /// This form does not throw: a failure is logged and handed to the configuration's failure handler, and
  /// nothing is written. A `body` that throws gets the form that throws.
  /// - Returns: What `body` returns; `nil` after a failure.
  @discardableResult
  public func write<R>(_ body: (DunlinWriteTransaction) -> R) -> R? {
    core.reporter.orReport("write", nil) {
      try core.blockingWrite(as: "write") { try core.run(body, in: $0) }
    }
  }

  /// Runs a `body` that cannot fail as one transaction over any collections, without blocking a thread.
  ///
  /// This form does not throw: a failure is logged and handed to the configuration's failure handler, and
  /// nothing is written. A `body` that throws gets the form that throws.
  /// - Returns: What `body` returns; `nil` after a failure.
  @discardableResult
  public func write<R: Sendable>(_ body: sending @escaping (DunlinWriteTransaction) -> R) async -> R? {
    let core = core
    do {
      return try await core.awaitedWrite { try core.run(body, in: $0) }
    } catch {
      core.reporter.fail("write", error)
      return nil
    }
  }

  /// Runs a `body` that cannot fail and returns nothing as one transaction over any collections.
  ///
  /// It is the form for a closure with nothing but the write in it, as in `DispatchQueue.global().async { … }`. It does
  /// not throw: a failure is logged and handed to the configuration's failure handler, and nothing is written.
  public func write(_ body: (DunlinWriteTransaction) -> Void) {
    core.reporter.orReport("write", ()) {
      try core.blockingWrite(as: "write") { try core.run(body, in: $0) }
    }
  }

  /// Runs a `body` that cannot fail and returns nothing as one transaction over any collections, without blocking a
  /// thread.
  ///
  /// This form does not throw: a failure is logged and handed to the configuration's failure handler, and
  /// nothing is written. A `body` that throws gets the form that throws.
  public func write(_ body: sending @escaping (DunlinWriteTransaction) -> Void) async {
    let core = core
    do {
      try await core.awaitedWrite { try core.run(body, in: $0) }
    } catch {
      core.reporter.fail("write", error)
    }
  }
}

extension Core {
  /// Runs an application's `body` inside a transaction, which fails with what calls in it kept to themselves.
  fileprivate func run<R>(
    _ body: (DunlinWriteTransaction) throws -> R, in transaction: WriteTransaction
  ) throws -> R {
    let transaction = DunlinWriteTransaction(transaction, self)
    let result = try body(transaction)
    try transaction.finish()
    return result
  }
}

/// A write transaction, for use in its body alone.
public final class DunlinWriteTransaction {
  private let transaction: WriteTransaction
  private let core: Core
  private var failure: (any Error)?

  init(_ transaction: WriteTransaction, _ core: Core) {
    self.transaction = transaction
    self.core = core
  }

  /// The part of the transaction that concerns one collection.
  public func scoped(toCollectionNamed name: String) -> DunlinScopedWriteTransaction {
    DunlinScopedWriteTransaction(owner: self, operations: Operations(name, core, transaction))
  }

  /// The part of the transaction that concerns one collection.
  public subscript(name: String) -> DunlinScopedWriteTransaction { scoped(toCollectionNamed: name) }

  /// Keeps the failure of a call that does not throw: the transaction then fails as a whole.
  func fail(_ error: any Error) { failure = failure ?? error }

  func finish() throws { if let failure { throw failure } }
}
