public import CRDTCore

/// One run of a query that another peer asks for.
public protocol RemoteQueryRun: Sendable {
  /// Ends the run soon, from any thread.
  func cancel()

  /// Reads one snapshot, and calls `body` with the query's rows, one by one, until it returns `false`.
  ///
  /// - Parameters:
  ///   - statement: SELECT, queries combined by set operators, or EXPLAIN.
  ///   - arguments: The values of its parameters.
  ///   - body: Receives the document that the row represents, if there is one, and the columns by name.
  ///     It returns whether it wants more rows.
  /// - Throws: `QueryError`, the store's errors, and what `body` throws.
  func forEachRow(
    of statement: Statement, arguments: [TextKey: Value],
    _ body: (DocumentID?, [TextKey: Value]) throws -> Bool
  ) throws
}
