import Failpoints

/// Deliberate mistakes of the store, which the simulator or the comparison of queries must find.
package enum StoreDefect: UInt8, Failpoint {
  /// A damaged record is sent as it stands.
  case damagedRecordSent = 16
  /// A change is applied to whatever stands there, and whatever it comes to.
  case successorNotChecked
  /// With the record of a deletion that is evicted its certificate goes, too.
  case evictedDeletionForgotten
  /// Commits are told before they are durable.
  case toldBeforeDurable
  /// Of the fields that are written to a document that is there, the last one is not.
  case fieldNotWritten
  /// Spans that meet in a cut key are all scanned.
  case longKeysVisitedTwice
  /// Births of the store's own writers are taken for its own, also those that another store has drawn.
  case birthsNotCompared
}
