/// A point in the life of a store's files where a crash or a failure may strike; tests strike there.
package enum StoreStep: String, CaseIterable, Codable, Sendable {
  // Creation.
  case creationFilled, creationMarked, creationRenamed
  // A new site after a copy.
  case siteMarked, siteCommitted
  // The first commit of a session.
  case nonceCommitted, nonceMarked
  // Backup.
  case backupCopied, backupSynced, backupRenamed
  // Compaction.
  case compactionCopied, compactionOpened, compactionMarked, compactionRenamed, compactionSynced
  // A larger map.
  case mapEmptied
  // Forgetting what had its time.
  case sliceCollected
}

extension StoreOptions {
  /// Tells a test that a step is reached; it may throw in the step's place.
  func reach(_ step: StoreStep) throws(StoreError) { try stepFault?(step) }
}
