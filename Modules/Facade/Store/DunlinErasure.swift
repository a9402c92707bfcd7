import DocStore

/// What an erasure found at this peer, and the commit that carries it to others.
public struct DunlinErasure: Hashable, Sendable {
  /// The number of documents of which this peer held something: living documents, or removed ones.
  public let foundCount: Int
  /// The documents of which this peer held nothing; they are erased at the peers that hold them.
  public let unknownIDs: [DunlinDocumentID]
  /// The commit's position in this store's log; `nil` when no documents were named.
  ///
  /// Wait for a peer to have it with `waitUntilArrived(commitID:at:timeout:)`.
  public let commitID: UInt64?

  init(_ found: [DunlinDocumentID: Bool], _ receipt: CommitReceipt) {
    foundCount = found.values.count { $0 }
    unknownIDs = found.filter { !$0.value }.keys.sorted { "\($0)" < "\($1)" }
    commitID = receipt.place
  }

  /// What no erasure can reach, in one sentence.
  public static let limits = """
    Erased content may remain in backups, in exported files, on devices that do not connect again, and in free pages of \
    a store until they are reused or the store is compacted.
    """
}
