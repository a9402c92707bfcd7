import CRDTCore
public import Dispatch
import DocStore
import QueryEngine

extension DunlinStore {
  /// Executes one DQL statement; one that writes is durable when this returns.
  ///
  /// No thread waits meanwhile.
  ///
  /// - Parameters:
  ///   - query: The statement, for example `SELECT * FROM cars WHERE color = :c`.
  ///   - arguments: The values of its parameters.
  /// - Returns: The rows, what was changed, and the commit.
  /// - Throws: `syntax` with the position, `argument`, `conflict` and the other codes of queries;
  ///   `nestedWriteTransaction`, `full`, `io`, `poisoned`, `closed`.
  @discardableResult
  public func execute(query: String, arguments: [String: Any?] = [:]) async throws -> DunlinQueryResult {
    let values = try Value.fields(arguments)
    do {
      return try DunlinQueryResult(await core.engine.execute(query, arguments: values))
    } catch {
      throw DunlinError.translating(error)
    }
  }

  /// Executes one DQL statement where nothing can be awaited; the caller waits.
  ///
  /// - Throws: As the form that is awaited; `wouldBlock` in a task, after a second's wait for an asynchronous
  ///   transaction to end.
  @discardableResult
  public func execute(query: String, arguments: [String: Any?] = [:]) throws -> DunlinQueryResult {
    try translatingErrors(awaitedForm: "try await execute") {
      try DunlinQueryResult(core.engine.execute(query, arguments: Value.fields(arguments)))
    }
  }

  /// Runs `body` as one transaction whose statements are awaited one by one.
  ///
  /// Other writers wait as long as `body` takes: it should wait for nothing slow. When no statement comes for
  /// the length of the configured deadline, all is rolled back. When `body` throws, nothing is written; a
  /// statement that fails has written nothing, and a body that catches its error can go on.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws; `nestedWriteTransaction` at once inside another one; `deadline`,
  ///   `cancelled`, `full`, `io`, `closed`.
  @discardableResult
  public func transaction<R: Sendable>(_ body: (DunlinTransaction) async throws -> R) async throws -> R {
    do {
      return try await core.store.transaction { transaction in
        try await body(DunlinTransaction(transaction: transaction, engine: core.engine))
      }.0
    } catch {
      throw DunlinError.translating(error)
    }
  }

  /// Calls `handler` with the result of a SELECT now, and again whenever a local write or sync changes it.
  ///
  /// - Parameters:
  ///   - query: The statement.
  ///   - arguments: The values of its parameters.
  ///   - deliverOn: Where the handler is called; by default on a serial queue that the observers of a
  ///     database share, which is not the main queue.
  ///   - handler: Gets the whole result.
  /// - Returns: The observer; keep it, and cancel it before you let go of it.
  /// - Throws: `syntax`, `argument`; `unsupported` for other statements than SELECT; `closed`.
  public func registerObserver(
    query: String, arguments: [String: Any?] = [:], deliverOn: DispatchQueue? = nil,
    handler: @escaping @Sendable (_ result: DunlinQueryResult) -> Void
  ) throws -> DunlinStoreObserver {
    try registerObserver(query: query, arguments: arguments, deliverOn: deliverOn) { result, next in
      handler(result)
      next()
    }
  }

  /// As the other form, but waits with the next call until the handler has called `signalNext`.
  ///
  /// Changes that happen meanwhile are put together.
  public func registerObserver(
    query: String, arguments: [String: Any?] = [:], deliverOn: DispatchQueue? = nil,
    handlerWithSignalNext handler:
      @escaping @Sendable (_ result: DunlinQueryResult, _ signalNext: @escaping DunlinSignalNext) -> Void
  ) throws -> DunlinStoreObserver {
    let statement = try parsed(query)
    let observation = try core.observers.observe(statement, Value.fields(arguments), on: deliverOn) {
      delivery, next in
      handler(DunlinQueryResult(items: delivery.diff.items), next)
    }
    return DunlinLiveQuery(observation, what: query, core.reporter)
  }

  /// The changes of a SELECT's result, for `for await`: newest state, exact diffs.
  ///
  /// - Throws: `syntax`, `argument`; `unsupported` for other statements than SELECT.
  public func changes(of query: String, arguments: [String: Any?] = [:]) throws -> DunlinDiffs {
    let values = try Value.fields(arguments)
    let statement = try parsed(query)
    try translatingErrors {
      _ = try LiveQuery(statement, arguments: values)
      try LiveQuery.check(statement, arguments: values, in: core.store)
    }
    return DunlinDiffs(statement, values, core)
  }

  private func parsed(_ query: String) throws -> Statement {
    try translatingErrors { try DQL.parse(query) }
  }
}

/// A transaction whose statements are awaited, for use in its body alone.
public struct DunlinTransaction: Sendable {
  let transaction: AsyncWriteTransaction
  let engine: Engine

  /// Executes one DQL statement as a part of the transaction; it sees what the transaction has written.
  ///
  /// - Throws: The codes of queries; `deadline`, `closed`, `cancelled`.
  @discardableResult
  public func execute(query: String, arguments: [String: Any?] = [:]) async throws -> DunlinQueryResult {
    do {
      return try await execute(engine.prepare(query), Value.fields(arguments))
    } catch {
      throw DunlinError.translating(error)
    }
  }

  /// Executes a prepared statement as a part of the transaction; it sees what the transaction has written.
  ///
  /// - Throws: The codes of queries; `deadline`, `closed`, `cancelled`.
  @discardableResult
  public func execute(
    _ statement: DunlinPreparedStatement, arguments: [String: Any?] = [:]
  ) async throws -> DunlinQueryResult {
    do {
      return try await execute(statement.prepared, Value.fields(arguments))
    } catch {
      throw DunlinError.translating(error)
    }
  }

  /// Cancelling the task ends a statement that has not begun to write; the transaction can go on.
  private func execute(
    _ prepared: PreparedStatement, _ values: [TextKey: Value]
  ) async throws -> DunlinQueryResult {
    let context = engine.makeContext()
    return try await withTaskCancellationHandler {
      try await transaction.run { [engine] transaction in
        try DunlinQueryResult(
          engine.execute(prepared, arguments: values, in: transaction, context: context))
      }
    } onCancel: {
      context.cancel()
    }
  }
}
