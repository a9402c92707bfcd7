public import CRDTCore
public import DocStore

/// What a statement answers.
public struct QueryResult: Sendable {
  public let rows: [Row]
  /// The documents that the statement wrote or evicted, in the order in which it did.
  public let mutatedDocumentIDs: [DocumentID]
  /// The commit of a statement that ran in a transaction of its own; `nil` for reads, and inside a
  /// transaction, which commits later.
  public internal(set) var commit: CommitReceipt?
  /// What the author of the statement may have got wrong, such as a field that no document has; a sentence each, 16 at most.
  public internal(set) var hints: [String] = []

  init(rows: [Row] = [], mutatedDocumentIDs: [DocumentID] = [], commit: CommitReceipt? = nil) {
    self.rows = rows
    self.mutatedDocumentIDs = mutatedDocumentIDs
    self.commit = commit
  }

  /// The result with the hints that its statement was given.
  func hinted(by context: StatementContext) -> QueryResult {
    var result = self
    result.hints = context.hints
    return result
  }
}
