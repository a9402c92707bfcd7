public import CRDTCore
public import DocStore

/// Statements by their text, and prepared statements.
extension Engine {
  /// Parses a statement that is to be executed many times.
  ///
  /// - Throws: What `DQL.parse` throws.
  public func prepare(_ text: String) throws(QueryError) -> PreparedStatement {
    try statements.statement(text)
  }

  /// Parses and executes one DQL statement; its writes are durable when this returns.
  ///
  /// - Parameters:
  ///   - text: The statement.
  ///   - arguments: The values of its parameters.
  ///   - context: Its bounds of time and memory; `nil` for those of the system parameters.
  /// - Returns: Its rows, what it changed, and its commit.
  /// - Throws: `QueryError`; `StoreError`, for example `nestedWriteTransaction` for a statement that writes
  ///   inside a write transaction.
  public func execute(
    _ text: String, arguments: [TextKey: Value] = [:], context: StatementContext? = nil
  ) throws -> QueryResult {
    try execute(prepare(text), arguments: arguments, context: context)
  }

  /// Parses and executes one DQL statement without blocking the caller's actor.
  ///
  /// Cancelling the task ends a statement that has not begun to write.
  @concurrent
  public func execute(_ text: String, arguments: [TextKey: Value] = [:]) async throws -> QueryResult {
    try await execute(prepare(text), arguments: arguments)
  }

  /// Executes a prepared statement in a transaction of its own.
  public func execute(
    _ prepared: PreparedStatement, arguments: [TextKey: Value] = [:], context: StatementContext? = nil
  ) throws -> QueryResult {
    try logging(prepared, context) { context in
      guard let program = prepared.program else {
        return try execute(prepared.statement, arguments: arguments, context: context)
      }
      return try rows(of: program, arguments, context)
    }
  }

  /// Executes a prepared statement in a transaction of its own without blocking the caller's actor.
  ///
  /// Cancelling the task ends a statement that has not begun to write.
  @concurrent
  public func execute(
    _ prepared: PreparedStatement, arguments: [TextKey: Value] = [:]
  ) async throws -> QueryResult {
    try await execute(prepared, arguments: arguments, within: makeContext())
  }

  /// Executes a prepared statement within bounds that the caller sets.
  @concurrent
  package func execute(
    _ prepared: PreparedStatement, arguments: [TextKey: Value], within context: StatementContext
  ) async throws -> QueryResult {
    if let program = prepared.program {
      return try await withTaskCancellationHandler {
        try logging(prepared, context) { try rows(of: program, arguments, $0) }
      } onCancel: {
        context.cancel()
      }
    }
    let request = requests.begin(prepared)
    do {
      let result = try await execute(prepared.statement, arguments: arguments, context.numbered(request))
      requests.end(request, rowCount: result.rows.count, error: nil)
      return result
    } catch {
      requests.end(request, rowCount: 0, error: error)
      throw prepared.locating(error)
    }
  }

  /// Executes a prepared statement on a snapshot.
  ///
  /// - Throws: `unsupported` for a statement that writes documents.
  public func execute(
    _ prepared: PreparedStatement, arguments: [TextKey: Value] = [:],
    in transaction: borrowing ReadTransaction, context: StatementContext? = nil
  ) throws -> QueryResult {
    let request = requests.begin(prepared)
    do {
      let context = (context ?? makeContext()).numbered(request)
      let result: QueryResult
      if let program = prepared.program {
        result = QueryResult(rows: try rows(of: program, arguments, in: transaction, context))
          .hinted(by: context)
      } else {
        result = try execute(prepared.statement, arguments: arguments, in: transaction, context: context)
      }
      requests.end(request, rowCount: result.rows.count, error: nil)
      return result
    } catch {
      requests.end(request, rowCount: 0, error: error)
      throw prepared.locating(error)
    }
  }

  /// Executes a prepared statement inside a write transaction, which sees what it wrote and commits it later.
  ///
  /// A statement that fails has written nothing, and the transaction can go on.
  public func execute(
    _ prepared: PreparedStatement, arguments: [TextKey: Value] = [:], in transaction: WriteTransaction,
    context: StatementContext? = nil
  ) throws -> QueryResult {
    try logging(prepared, context) { context in
      try execute(prepared.statement, arguments: arguments, in: transaction, context: context)
    }
  }

  private func rows(
    of program: SelectProgram, _ arguments: [TextKey: Value], _ context: StatementContext
  ) throws -> QueryResult {
    QueryResult(rows: try reading { try rows(of: program, arguments, in: $0, context) }).hinted(by: context)
  }

  /// Runs `body`, which executes a statement, and records it in the request log.
  private func logging(
    _ prepared: PreparedStatement, _ context: StatementContext?,
    _ body: (StatementContext) throws -> QueryResult
  ) throws -> QueryResult {
    let request = requests.begin(prepared)
    do {
      let result = try body((context ?? makeContext()).numbered(request))
      requests.end(request, rowCount: result.rows.count, error: nil)
      return result
    } catch {
      requests.end(request, rowCount: 0, error: error)
      throw prepared.locating(error)
    }
  }
}
