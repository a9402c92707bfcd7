import DocStore

/// What the saving of a document has written.
public struct DunlinSaveResult: Hashable, Sendable {
  /// The id of the document: the given one, or a new one.
  public let id: DunlinDocumentID
  /// Whether the document did not exist, so that all of it was written.
  public let isNew: Bool
  /// The writes with their paths; empty if the stored document was equal already.
  public let changes: [DunlinUpdateResult]
  /// The number of the commit, which is its position in this store's log.
  ///
  /// It is `nil` if nothing was written, and inside a transaction.
  public private(set) var commitID: UInt64?
  /// Possible mistakes, such as a type that is `Identifiable` and whose documents have no `_id`.
  public let hints: [String]

  init(id: DunlinDocumentID, isNew: Bool, changes: [DunlinUpdateResult], hints: [String] = []) {
    self.id = id
    self.isNew = isNew
    self.changes = changes
    self.hints = hints
  }

  func committed(by receipt: CommitReceipt) -> DunlinSaveResult {
    var result = self
    result.commitID = receipt.place
    return result
  }

  /// Whether anything was written.
  public var isEmpty: Bool { changes.isEmpty && !isNew }
}
