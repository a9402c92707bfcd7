import DocStore

/// Removes expired entries of sync's tables: abandoned chunks, and notes on documents that left.
struct SyncCollector: SideCollector {
  func isDue(in transaction: borrowing ReadTransaction, at time: CollectionTime) throws -> Bool {
    guard try transaction.sideEntryCount(.staging) > 0 else { return false }
    if time.isBehind { return true }
    return try !transaction.oldStagedIDs(time.now).isEmpty
  }

  func collect(in transaction: WriteTransaction, at time: CollectionTime) throws {
    for id in try transaction.oldStagedIDs(time.now) { try transaction.unstage(id) }
    try transaction.collectLeavingNotes(before: time.horizon)
  }
}
