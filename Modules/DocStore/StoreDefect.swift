import Failpoints

/// Deliberate defects of the store, which the simulator or the comparison of queries must find.
package enum StoreDefect: UInt8, Failpoint {
  /// A damaged record is sent as it is stored.
  case damagedRecordSent = 16
  /// An operation delta is applied to any state, and its result is not checked.
  case successorNotChecked
  /// Evicting a tombstone leaves no compacted tombstone.
  case evictedDeletionForgotten
  /// Listeners are called with commits before these are durable.
  case toldBeforeDurable
  /// A write to an existing document leaves out the last of its fields.
  case fieldNotWritten
  /// Ranges of an index that meet in a truncated key are all scanned.
  case longKeysVisitedTwice
  /// All births of this site's writers count as this store's own, even those that another store has drawn.
  case birthsNotCompared
}
