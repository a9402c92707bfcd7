package import CRDTCore
package import DocStore

extension Engine {
  /// Calls `body` with the rows of a query, one by one, until it returns `false`.
  ///
  /// Where the plan allows it, each row is passed on when it is found, so that not all of them need memory at
  /// once.
  ///
  /// - Parameters:
  ///   - statement: SELECT, queries combined by set operators, or EXPLAIN.
  ///   - arguments: The values of its parameters.
  ///   - transaction: The snapshot to read.
  ///   - context: Its bounds of time and memory.
  ///   - body: Receives a row; returns whether it wants more.
  /// - Throws: As executing the statement; what `body` throws.
  package func forEachRow(
    of statement: Statement, arguments: [TextKey: Value], in transaction: borrowing ReadTransaction,
    context: StatementContext, _ body: (Row) throws -> Bool
  ) throws {
    if case .select(let select) = statement,
      let plan = try streamingPlan(SelectProgram(select), arguments, for: transaction, noting: nil)
    {
      return try plan.forEachRow(in: transaction, context, body)
    }
    let result = try execute(statement, arguments: arguments, in: transaction, context: context)
    for row in result.rows { guard try body(row) else { return } }
  }

  /// Calls `body` with the rows of a prepared query, one by one, until it returns `false`.
  ///
  /// The query reads a snapshot of its own. `body` may be slow. Where the plan finds its rows only all at
  /// once, they are gathered, and the snapshot has ended before the first call of `body`.
  ///
  /// - Parameters:
  ///   - prepared: SELECT, queries combined by set operators, or EXPLAIN.
  ///   - arguments: The values of its parameters.
  ///   - context: Its bounds of time and memory.
  ///   - body: Receives a row, and the deadline of the snapshot while there is one; returns whether it wants
  ///     more.
  /// - Throws: As executing the statement; `deadline` for a snapshot that is too old; what `body` throws.
  package func forEachRow(
    of prepared: PreparedStatement, arguments: [TextKey: Value], context: StatementContext,
    _ body: (Row, SnapshotDeadline?) throws -> Bool
  ) throws {
    let request = requests.begin(prepared)
    let context = context.numbered(request)
    var count = 0
    do {
      func take(_ row: Row, _ deadline: SnapshotDeadline?) throws -> Bool {
        count += 1
        return try body(row, deadline)
      }
      do {
        try stream(prepared, arguments, context, take)
      } catch let error as StoreError where error.isOfIndex && count == 0 {
        try stream(prepared, arguments, context, take)
      }
      requests.end(request, rowCount: count, error: nil)
    } catch {
      requests.end(request, rowCount: count, error: error)
      throw prepared.locating(error)
    }
  }

  /// Calls `body` with the row of a prepared query for one whole document by its id, if there is one.
  ///
  /// Such a query reads so little that it needs no thread of its own.
  ///
  /// - Parameters:
  ///   - prepared: Any statement.
  ///   - arguments: The values of its parameters.
  ///   - context: Its bounds of time and memory.
  ///   - body: Receives the row; it is called once at most.
  /// - Returns: `false`, with nothing done, for any other statement, and where the query must fail.
  /// - Throws: As executing the statement; what `body` throws.
  package func forOnlyRow(
    of prepared: PreparedStatement, arguments: [TextKey: Value], context: StatementContext,
    _ body: (Row) throws -> Void
  ) throws -> Bool {
    guard let program = prepared.program, program.asksForOneDocument else { return false }
    var request: UInt64?
    var count = 0
    do {
      let isDone = try store.read { transaction in
        // Who plans a query that cannot be planned reports it; that is not done twice.
        guard let plan = try? streamingPlan(program, arguments, for: transaction, noting: context),
          case .ids(let ids) = plan.access, ids.count <= 1
        else { return false }
        let number = requests.begin(prepared)
        request = number
        try plan.forEachRow(in: transaction, context.numbered(number)) { row in
          count += 1
          try body(row)
          return true
        }
        return true
      }
      if let request { requests.end(request, rowCount: count, error: nil) }
      return isDone
    } catch {
      guard let request else { return false }
      requests.end(request, rowCount: count, error: error)
      throw prepared.locating(error)
    }
  }

  private func stream(
    _ prepared: PreparedStatement, _ arguments: [TextKey: Value], _ context: StatementContext,
    _ body: (Row, SnapshotDeadline?) throws -> Bool
  ) throws {
    let gathered: [Row]? = try store.read { transaction in
      if let program = prepared.program,
        let plan = try streamingPlan(program, arguments, for: transaction, noting: context)
      {
        let deadline = transaction.deadline
        try plan.forEachRow(in: transaction, context) { try body($0, deadline) }
        return nil
      }
      if let program = prepared.program { return try rows(of: program, arguments, in: transaction, context) }
      return try execute(prepared.statement, arguments: arguments, in: transaction, context: context).rows
    }
    for row in gathered ?? [] { guard try body(row, nil) else { return } }
  }

  /// The plan of a query that finds its rows one by one; `nil` for others.
  ///
  /// Likely mistakes are recorded only where there is a context for that: queries of other peers must not
  /// fill the log.
  private func streamingPlan(
    _ program: SelectProgram, _ arguments: [TextKey: Value],
    for source: borrowing some RecordSource & ~Copyable, noting context: StatementContext?
  ) throws -> Plan? {
    guard !program.hasQueries else { return nil }
    let plan = try program.plan(arguments, settings.hints, for: source)
    if let context {
      note(plan.mistakes, context)
      note(plan.textComparisons, in: source, context)
    }
    guard case .documents(let found) = plan.form, found.findsRowsInTurn else { return nil }
    return found
  }
}
