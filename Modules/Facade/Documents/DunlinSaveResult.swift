import DocStore

/// What saving a document has written.
public struct DunlinSaveResult: Hashable, Sendable {
  /// The document: the one that was named, or a new one.
  public let id: DunlinDocumentID
  /// Whether there was no such document, so that all of it was written.
  public let isNew: Bool
  /// What was written at which path; nothing where the stored document was equal already.
  public let changes: [DunlinUpdateResult]
  /// The commit, by its place in this store's log; `nil` when nothing was written, and inside a transaction.
  public private(set) var commitID: UInt64?

  init(id: DunlinDocumentID, isNew: Bool, changes: [DunlinUpdateResult]) {
    self.id = id
    self.isNew = isNew
    self.changes = changes
  }

  func committed(by receipt: CommitReceipt) -> DunlinSaveResult {
    var result = self
    result.commitID = receipt.place
    return result
  }

  /// Whether anything was written.
  public var isEmpty: Bool { changes.isEmpty && !isNew }
}
