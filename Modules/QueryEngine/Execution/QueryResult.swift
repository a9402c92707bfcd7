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

  init(rows: [Row] = [], mutatedDocumentIDs: [DocumentID] = [], commit: CommitReceipt? = nil) {
    self.rows = rows
    self.mutatedDocumentIDs = mutatedDocumentIDs
    self.commit = commit
  }
}
