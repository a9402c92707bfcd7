/// Removes the old entries of a module's side tables when the store removes old tombstones and log entries.
package protocol SideCollector: Sendable {
  /// Returns whether there are entries to remove.
  ///
  /// The store asks this first, so that it opens no write transaction in vain.
  func isDue(in transaction: borrowing ReadTransaction, at time: CollectionTime) throws -> Bool

  /// Removes old entries.
  ///
  /// The store calls it in each of its own collections, even if ``isDue(in:at:)`` returned `false`.
  func collect(in transaction: WriteTransaction, at time: CollectionTime) throws
}

/// The times by which a collector decides what is old.
package struct CollectionTime: Hashable, Sendable {
  /// The store's own time in milliseconds: it follows the wall clock, but never jumps far (``LivedTime``).
  package let now: UInt64
  /// The store removes tombstones and log entries from before this time; 0 if it keeps them for ever.
  package let horizon: UInt64
  /// Whether the store must save ``now`` soon, or a crash loses a part of it.
  ///
  /// A collector that has timed entries is due then.
  package let isBehind: Bool
}

extension Store {
  /// Calls `collector` whenever the store removes old entries, until the registration ends.
  package func addCollector(_ collector: some SideCollector) -> CommitListener {
    housekeeping.collectors.add(collector)
  }
}
