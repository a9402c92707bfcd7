package import QueryLanguage

/// The memory that statements of many clients share.
///
/// The statement calls it on the thread that runs it, which may be blocked.
package protocol StatementMemory: AnyObject, Sendable {
  /// Reserves memory that the statement keeps until its end.
  ///
  /// - Parameter bytes: How much more.
  /// - Throws: An error when all statements together have as much as they may.
  func reserve(_ bytes: Int) throws(QueryError)

  /// Waits until this statement may make a row that takes much memory; it does nothing where it may already.
  ///
  /// - Parameter poll: Throws when the statement has ended meanwhile.
  /// - Throws: What `poll` throws.
  func beginLargeRow(_ poll: () throws(QueryError) -> Void) throws(QueryError)
}
