/// The limits for what a reader of changes may hold, and for what it gets at once.
enum FeedLimits {
  /// The greatest number of readers of one database.
  static let readers = 4_096
  /// Changed documents of commits that are queued for a reader; beyond this it continues from the log.
  static let queuedChanges = 4_096
  /// Bytes of the queued records, before and after the change.
  static let queuedBytes = 8 << 20
  /// The greatest number of events in one batch.
  static let batchEvents = 256
  /// The approximate number of bytes of their records.
  static let batchBytes = 1 << 20
  /// Entries of the log, and documents in them, that are read from one snapshot.
  static let logEntries = 4_096
  static let logMembers = 50_000
  /// The readers, and not the writer, examine a commit that changes more documents than this.
  static let promptChanges = 16
}
