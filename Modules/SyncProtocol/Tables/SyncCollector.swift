import DocStore

/// Removes expired entries of sync's tables: abandoned chunks, and notes on documents that left.
struct SyncCollector: SideCollector {
  func isDue(in snapshot: borrowing ReadTransaction, at time: CollectionTime) throws -> Bool {
    guard try snapshot.sideEntryCount(.staging) > 0 else { return false }
    if time.isBehind { return true }
    return try !snapshot.oldStagedIDs(time.now).isEmpty
  }

  func collect(in write: WriteTransaction, at time: CollectionTime) throws {
    for id in try write.oldStagedIDs(time.now) { try write.unstage(id) }
    try write.collectLeavingNotes(before: time.horizon)
  }
}
