/// How much a reader of changes may hold, and get at once.
enum FeedLimits {
  /// Readers of one database.
  static let readers = 4_096
  /// Changed documents of commits that wait for a reader; one that is further behind goes on from the log.
  static let queuedChanges = 4_096
  /// Bytes of their records, before and after.
  static let queuedBytes = 8 << 20
  /// Events that come together.
  static let batchEvents = 256
  /// Bytes of their records, about.
  static let batchBytes = 1 << 20
  /// Entries of the log, and documents in them, that one snapshot is read for.
  static let logEntries = 4_096
  static let logMembers = 50_000
  /// A commit that changes more is looked at by its readers, and not by the writer.
  static let promptChanges = 16
}
