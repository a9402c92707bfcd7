import CRDTCore

/// Parameters of the model product that do not exist here, with their substitutes.
enum AbsentParameter {
  static let substitutes: [TextKey: String] = [
    // Tombstones are compacted automatically, a few with each write, and not at set hours or in batches.
    "days_between_reaping": BuiltInParameter.tombstoneLifetimeHours.rawValue,
    "tombstone_reap_batch_size": BuiltInParameter.tombstoneLifetimeHours.rawValue,
    // The statements of a transaction are logged one by one.
    "transaction_duration_before_logging_ms": BuiltInParameter.slowRequestSeconds.rawValue,
    "dql_restrict_subscription": BuiltInParameter.restrictSubscriptions.rawValue,
  ]
}
