import CRDTCore
import QueryEngine

/// A DQL statement that is parsed once, to be executed any number of times with other arguments.
///
/// It may be used from any task, in transactions too (``DunlinTransaction``), for as long as the database is open. It
/// remembers its plan, and makes another one by itself when indexes or collections come and go.
public struct DunlinPreparedStatement: Sendable {
  let prepared: PreparedStatement
  let engine: Engine

  init(_ text: String, _ engine: Engine) throws(QueryError) {
    prepared = try engine.prepare(text)
    self.engine = engine
  }

  /// The statement as it was written.
  public var query: String { prepared.text }

  /// Executes the statement; one that writes is durable when this returns.
  ///
  /// No thread waits meanwhile. Cancelling the task ends a statement that has not begun to write.
  ///
  /// - Parameter arguments: The values of its parameters.
  /// - Returns: The rows, what was changed, and the commit.
  /// - Throws: As `execute(query:arguments:)` of the store, but for `syntax`.
  @discardableResult
  public func execute(arguments: [String: Any?] = [:]) async throws -> DunlinQueryResult {
    try DunlinQueryResult(await engine.answering(prepared, Value.fields(arguments)))
  }

  /// Executes the statement where nothing can be awaited; the caller waits.
  ///
  /// - Throws: As the form that is awaited; `wouldBlock` in a task, after a second's wait for an asynchronous
  ///   transaction to end.
  @discardableResult
  public func execute(arguments: [String: Any?] = [:]) throws -> DunlinQueryResult {
    try DunlinQueryResult(engine.answer(prepared, Value.fields(arguments)))
  }
}

extension DunlinStore {
  /// Parses a DQL statement, to be executed again and again.
  ///
  /// - Throws: `syntax` with the position and the other codes of queries that cannot be understood.
  public func prepare(_ query: String) throws -> DunlinPreparedStatement {
    try translatingErrors { try DunlinPreparedStatement(query, core.engine) }
  }
}
