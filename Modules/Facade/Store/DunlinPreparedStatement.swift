import CRDTCore
import QueryEngine

/// A DQL statement that is parsed once and can be executed any number of times.
///
/// It may be used from any task, in transactions too (``DunlinTransaction``), for as long as the database is
/// open. It keeps its plan, and makes a new one when indexes or collections are added or removed.
public struct DunlinPreparedStatement: Sendable {
  let prepared: PreparedStatement
  let engine: Engine

  init(_ text: String, _ engine: Engine) throws(QueryError) {
    prepared = try engine.prepare(text)
    self.engine = engine
  }

  /// The statement as it was written.
  public var query: String { prepared.text }

  /// Executes the statement; a statement that writes is durable when this returns.
  ///
  /// No thread waits meanwhile. Cancelling the task ends a statement that has not begun to write.
  ///
  /// - Parameter arguments: The values of its parameters.
  /// - Returns: The rows, the changed documents, and the commit.
  /// - Throws: The same as `execute(query:arguments:)` of the store, without `syntax`.
  @discardableResult
  public func execute(arguments: [String: Any?] = [:]) async throws -> DunlinQueryResult {
    try DunlinQueryResult(await engine.answering(prepared, Value.fields(arguments)))
  }

  /// Executes the statement without `await`; the caller's thread waits.
  ///
  /// - Throws: The same as the form that is awaited. In a task also `wouldBlock`, after one second's wait for
  ///   the end of an asynchronous transaction.
  @discardableResult
  public func execute(arguments: [String: Any?] = [:]) throws -> DunlinQueryResult {
    try DunlinQueryResult(engine.answer(prepared, Value.fields(arguments)))
  }
}

extension DunlinStore {
  /// Parses a DQL statement, so that it can be executed repeatedly.
  ///
  /// - Throws: `syntax` with the position, and the other codes of queries that cannot be understood.
  public func prepare(query: String) throws -> DunlinPreparedStatement {
    try translatingErrors { try DunlinPreparedStatement(query, local.engine) }
  }

  /// Parses a DQL statement: the same as `prepare(query:)`.
  ///
  /// - Throws: The same.
  @available(*, deprecated, renamed: "prepare(query:)", message: "the text of a query has a label")
  public func prepare(_ query: String) throws -> DunlinPreparedStatement { try prepare(query: query) }
}
