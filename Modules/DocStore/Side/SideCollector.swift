/// What a module above does when the store forgets what has had its time.
package protocol SideCollector: Sendable {
  /// Whether there is something to do; asked first, so that no writer is bothered for nothing.
  func isDue(in transaction: borrowing ReadTransaction, at time: CollectionTime) throws -> Bool

  /// Forgets what has had its time; called as a part of what the store forgets, also where it was not due.
  func collect(in transaction: WriteTransaction, at time: CollectionTime) throws
}

/// What is old by now.
package struct CollectionTime: Hashable, Sendable {
  /// The time that the store has lived through, in milliseconds.
  package let now: UInt64
  /// Tombstones and entries of the log go that are from before this time; 0 where they stay for ever.
  package let horizon: UInt64
  /// Whether the time has to be stored soon, lest a part of it be lost: who has entries that bear a time is due.
  package let isBehind: Bool
}

extension Store {
  /// Has `collector` called whenever the store forgets what has had its time, until the registration ends.
  package func addCollector(_ collector: some SideCollector) -> CommitListener {
    housekeeping.collectors.add(collector)
  }
}
