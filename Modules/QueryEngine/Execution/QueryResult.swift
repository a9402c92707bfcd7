public import CRDTCore
public import DocStore

/// The result of a statement.
public struct QueryResult: Sendable {
  public let rows: [Row]
  /// The documents that the statement wrote or evicted, in that order.
  public let mutatedDocumentIDs: [DocumentID]
  /// The commit of a statement that ran in a transaction of its own.
  ///
  /// It is `nil` for reads, and inside a transaction, which commits later.
  public internal(set) var commit: CommitReceipt?
  /// Likely mistakes in the statement, such as a field that no document has.
  ///
  /// Each hint is one sentence; there are at most 16.
  public internal(set) var hints: [String] = []

  init(rows: [Row] = [], mutatedDocumentIDs: [DocumentID] = [], commit: CommitReceipt? = nil) {
    self.rows = rows
    self.mutatedDocumentIDs = mutatedDocumentIDs
    self.commit = commit
  }

  /// The result with the hints of its statement.
  func hinted(by context: StatementContext) -> QueryResult {
    var result = self
    result.hints = context.hints
    return result
  }
}
