package import CRDTCore
package import DocStore

extension Engine {
  /// Calls `body` with the rows of a query, one by one until it returns `false`: where the plan allows it as they are
  /// found, so that not all of them need memory at once.
  ///
  /// - Parameters:
  ///   - statement: SELECT, queries put together, or EXPLAIN.
  ///   - arguments: The values of its parameters.
  ///   - transaction: What is read.
  ///   - context: How long it may go on.
  ///   - body: Takes a row, and says whether it wants more.
  /// - Throws: As executing the statement; what `body` throws.
  package func forEachRow(
    of statement: Statement, arguments: [TextKey: Value], in transaction: borrowing ReadTransaction,
    context: StatementContext, _ body: (Row) throws -> Bool
  ) throws {
    if case .select(let select) = statement {
      let program = SelectProgram(select)
      if !program.hasQueries,
        case .documents(let plan) = try program.plan(arguments, settings.hints, for: transaction).form,
        plan.findsRowsInTurn
      {
        return try plan.forEachRow(in: transaction, context, body)
      }
    }
    let result = try execute(statement, arguments: arguments, in: transaction, context: context)
    for row in result.rows { guard try body(row) else { return } }
  }
}

extension Statement {
  /// Whether it is a query, or asks how one would run: whatever it is, nothing changes.
  package var isQuery: Bool {
    switch self {
    case .select, .compound: true
    case .explain(let explained): explained.isQuery
    case .insert, .update, .delete, .evict, .createIndex, .dropIndex, .alterSystem, .show, .profile, .advise:
      false
    }
  }

  /// The collections that a query reads, in inner queries too.
  package var collectionsRead: Set<TextKey> {
    if case .explain(let explained) = self { return explained.collectionsRead }
    return Set(selects.flatMap { [$0.source.$collection] + $0.joins.map(\.source.$collection) })
  }
}
