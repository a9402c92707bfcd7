/// The limits for what readers of changes may hold, and for what one gets at once.
enum FeedLimits {
  /// The greatest number of readers of one database.
  static let readers = 4_096
  /// Changed documents of commits that are in memory for all readers together.
  ///
  /// A reader that has not read a commit by the time it is dropped continues from the log.
  static let queuedChanges = 4_096
  /// Bytes of the records of these commits, before and after the change.
  static let queuedBytes = 8 << 20
  /// The greatest number of events in one batch.
  static let batchEvents = 256
  /// The approximate number of bytes of their records.
  static let batchBytes = 1 << 20
  /// The same for a page of bytes: see ``FeedPages``.
  static let pageBytes = 128 << 10
  /// Bytes of pages that are kept for other readers with the same filter.
  static let keptPageBytes = 2 << 20
  /// How long a page is kept, if no reader holds it.
  static let keptPageTime = Duration.seconds(1)
  /// How long a reader may take nothing of its page when the room of all pages is used up.
  static let stallTime = Duration.seconds(1)
  /// How long a reader waits until it tries again, when the room of all pages is used up.
  static let fullTime = Duration.milliseconds(100)
  /// Entries of the log, and documents in them, that are read from one snapshot.
  static let logEntries = 4_096
  static let logMembers = 50_000
  /// The readers, and not the writer, examine a commit that changes more documents than this.
  static let promptChanges = 16
  /// More waiting readers than this are not woken on the writer's thread.
  static let promptWakes = 8
}
