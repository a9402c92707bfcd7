/// A step in the work on a store's files at which tests inject a crash or a failure.
package enum StoreStep: String, CaseIterable, Codable, Sendable {
  // Creation.
  case creationFilled, creationMarked, creationRenamed
  // A new site after a copy.
  case siteMarked, siteCommitted
  // The first commit of a session.
  case nonceCommitted, nonceMarked
  // Backup.
  case backupCopied, backupSynced, backupRenamed
  // A point of a series of backups.
  case pointWritten, pointSynced, pointRenamed
  // Compaction.
  case compactionCopied, compactionOpened, compactionMarked, compactionRenamed, compactionSynced
  // A larger map.
  case mapEmptied
  // Removal of what has expired.
  case sliceCollected
}

extension StoreOptions {
  /// Informs a test that a step is reached; the test's handler may throw instead of the step.
  func reach(_ step: StoreStep) throws(StoreError) { try stepFault?(step) }
}
