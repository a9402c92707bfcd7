import DocStore

/// How the body of a transaction ends it, when it has no value to return.
public enum DunlinTransactionCompletionAction: Hashable, Sendable {
  /// The transaction's writes take effect.
  case commit
  /// Nothing is written.
  case rollback
}

/// A transaction that took effect.
public struct DunlinCommit<Value> {
  /// The value that its body returned.
  public let value: Value
  /// The commit's position in this store's log; `nil` when nothing was written.
  ///
  /// Later commits have greater numbers. A peer has the commit once `documents.synced_up_to_local_commit_id`
  /// in `system:data_sync_info` is at least this number.
  public let id: UInt64?
  /// Documents that the transaction wrote and that are too large for a peer that has nothing of them.
  ///
  /// Such a peer gets none of them. A peer that has an earlier state gets the changes.
  public let oversizeDocumentIDs: [DunlinDocumentID]

  init(_ value: Value, _ receipt: CommitReceipt) {
    self.value = value
    id = receipt.place
    oversizeDocumentIDs = receipt.oversize.map { DunlinDocumentID($0.id) }
  }
}

extension DunlinCommit: Sendable where Value: Sendable {}

extension DunlinCommit: Equatable where Value: Equatable {}
