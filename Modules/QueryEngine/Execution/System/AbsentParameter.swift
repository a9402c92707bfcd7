import CRDTCore

/// Parameters of the model product that have no part here, with the ones that do what they are set for.
enum AbsentParameter {
  static let substitutes: [TextKey: String] = [
    // What was removed is forgotten by itself, a little with each write, and not at hours or in batches.
    "days_between_reaping": BuiltInParameter.tombstoneLifetimeHours.rawValue,
    "tombstone_reap_batch_size": BuiltInParameter.tombstoneLifetimeHours.rawValue,
    // The statements of a transaction are logged one by one.
    "transaction_duration_before_logging_ms": BuiltInParameter.slowRequestSeconds.rawValue,
    "dql_restrict_subscription": BuiltInParameter.restrictSubscriptions.rawValue,
  ]
}
