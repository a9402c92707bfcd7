import CRDTCore
public import Dispatch
import DocStore
import QueryEngine

extension DunlinStore {
  /// Executes one DQL statement; a statement that writes is durable when this returns.
  ///
  /// No thread waits meanwhile.
  ///
  /// - Parameters:
  ///   - query: The statement, for example `SELECT * FROM cars WHERE color = :c`.
  ///   - arguments: The values of its parameters.
  /// - Returns: The rows, the changed documents, and the commit.
  /// - Throws: `syntax` with the position, `argument`, `conflict` and the other codes of queries;
  ///   `nestedWriteTransaction`, `full`, `io`, `poisoned`, `closed`.
  @discardableResult
  public func execute(query: String, arguments: [String: Any?] = [:]) async throws -> DunlinQueryResult {
    try DunlinQueryResult(await local.engine.answering(query, Value.fields(arguments)))
  }

  /// Executes one DQL statement without `await`; the caller's thread waits.
  ///
  /// - Throws: The same as the form that is awaited. In a task also `wouldBlock`, after one second's wait for
  ///   the end of an asynchronous transaction.
  @discardableResult
  public func execute(query: String, arguments: [String: Any?] = [:]) throws -> DunlinQueryResult {
    try DunlinQueryResult(local.engine.answer(query, Value.fields(arguments)))
  }

  /// Calls `handler` with the result of a SELECT now, and again whenever a local write or sync changes it.
  ///
  /// - Parameters:
  ///   - query: The statement.
  ///   - arguments: The values of its parameters.
  ///   - deliverOn: The queue on which the handler is called. The default is a serial queue that all
  ///     observers of a database share; it is not the main queue.
  ///   - handler: Gets the whole result.
  /// - Returns: The observer. Keep it, and cancel it before you release it.
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

  /// Does the same as the other form, but delays the next call until the handler calls `signalNext`.
  ///
  /// Changes that happen meanwhile are combined.
  public func registerObserver(
    query: String, arguments: [String: Any?] = [:], deliverOn: DispatchQueue? = nil,
    handlerWithSignalNext handler:
      @escaping @Sendable (_ result: DunlinQueryResult, _ signalNext: @escaping DunlinSignalNext) -> Void
  ) throws -> DunlinStoreObserver {
    try observe(query, Value.fields(arguments), on: deliverOn, handler)
  }

  func observe(
    _ query: String, _ arguments: [TextKey: Value], on queue: DispatchQueue?,
    _ handler: @escaping @Sendable (DunlinQueryResult, @escaping DunlinSignalNext) -> Void
  ) throws -> DunlinStoreObserver {
    let observation = try local.observers.observe(parsed(query), arguments, on: queue) { delivery, next in
      handler(DunlinQueryResult(items: delivery.diff.items), next)
    }
    return DunlinLiveQuery(observation, what: query, local.reporter)
  }

  /// The changes of a SELECT's result, for `for await`: the newest state, with exact diffs.
  ///
  /// - Throws: `syntax`, `argument`; `unsupported` for other statements than SELECT.
  public func changes(of query: String, arguments: [String: Any?] = [:]) throws -> DunlinDiffs {
    try diffs(of: query, Value.fields(arguments))
  }

  func diffs(of query: String, _ arguments: [TextKey: Value]) throws -> DunlinDiffs {
    try local.diffs(of: parsed(query), arguments)
  }

  private func parsed(_ query: String) throws -> Statement {
    try translatingErrors { try DQL.parse(query) }
  }
}

extension LocalDatabase {
  /// The changes of a query's result.
  ///
  /// - Throws: What is wrong with the query or its arguments.
  func diffs(of statement: Statement, _ arguments: [TextKey: Value]) throws -> DunlinDiffs {
    try translatingErrors {
      _ = try LiveQuery(statement, arguments: arguments)
      try LiveQuery.check(statement, arguments: arguments, in: store)
    }
    return DunlinDiffs(statement, arguments, self)
  }
}
