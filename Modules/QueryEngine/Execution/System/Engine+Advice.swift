import CRDTCore
import DocStore

/// ADVISE and ADVISE AND PROVISION.
extension Engine {
  func advise(
    _ statement: Statement, _ arguments: [TextKey: Value], in source: borrowing some RecordSource & ~Copyable
  ) throws -> QueryResult {
    QueryResult(rows: [Row(try advice(statement, arguments, in: source).row)])
  }

  private func advice(
    _ statement: Statement, _ arguments: [TextKey: Value], in source: borrowing some RecordSource & ~Copyable
  ) throws -> Advice {
    let catalogue = try QueryCatalogue(statement.collections, in: source)
    return try Advice(statement, arguments: arguments, catalogue: catalogue)
  }

  /// Creates the suggested indexes, one after the other; if one fails, the earlier ones stay.
  func provision(
    _ statement: Statement, _ arguments: [TextKey: Value], _ context: StatementContext
  ) throws -> QueryResult {
    let advice = try store.read { try self.advice(statement, arguments, in: $0) }
    for index in advice.suggestions { _ = try execute(index, context) }
    return QueryResult(rows: [Row(advice.row)])
  }

  /// Executes it as the blocking form does.
  @concurrent
  func provision(
    _ statement: Statement, _ arguments: [TextKey: Value], _ context: StatementContext
  ) async throws -> QueryResult {
    let advice = try store.read { try self.advice(statement, arguments, in: $0) }
    for index in advice.suggestions { _ = try await execute(index, context) }
    return QueryResult(rows: [Row(advice.row)])
  }
}
