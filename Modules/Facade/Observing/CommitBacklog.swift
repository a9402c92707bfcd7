import DocStore
import QueryEngine

/// The commits that observers have yet to be told of, bounded.
struct CommitBacklog {
  /// A commit, and the queries that it concerns where somebody has asked already.
  struct Entry {
    let commit: Commit
    let concerned: [ObserverIndex.ID]?
  }

  /// What is taken out at once.
  struct Batch {
    let entries: [Entry]
    /// Whether commits were dropped before: every query has to be run again.
    let isOverflowing: Bool
    /// The last commit that was handed over when this was taken.
    fileprivate let last: UInt64
  }

  /// Documents changed by commits that wait; beyond this the queries are run again instead.
  private static let limit = 50_000

  private var entries: [Entry] = []
  private var changeCount = 0
  private var isOverflowing = false
  /// Whether somebody is about to take what waits, or at it.
  private var isScheduled = false
  private var last: UInt64 = 0
  /// The last commit that all queries have been brought up to date with.
  private(set) var applied: UInt64 = 0

  /// Takes a commit in.
  ///
  /// - Returns: Whether somebody has to be sent to take what waits.
  mutating func append(_ commit: Commit, concerned: [ObserverIndex.ID]?) -> Bool {
    last = commit.sequence
    if concerned?.isEmpty == true {
      if !isScheduled { applied = last }
      return false
    }
    entries.append(Entry(commit: commit, concerned: concerned))
    changeCount += commit.changes.count
    if changeCount > Self.limit, entries.count > 1 {
      forget()
      isOverflowing = true
    }
    defer { isScheduled = true }
    return !isScheduled
  }

  /// Takes all out that waits; `nil` when that is nothing, and nobody is at it any more.
  mutating func next() -> Batch? {
    guard !entries.isEmpty || isOverflowing else {
      isScheduled = false
      applied = last
      return nil
    }
    defer {
      forget()
      isOverflowing = false
    }
    return Batch(entries: entries, isOverflowing: isOverflowing, last: last)
  }

  /// Notes that all queries have been brought up to date with a batch.
  mutating func finish(_ batch: Batch) { applied = batch.last }

  mutating func forget() {
    entries = []
    changeCount = 0
  }
}
