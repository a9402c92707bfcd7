import DocStore
import QueryEngine

/// The commits that observers have not processed yet, bounded.
struct CommitBacklog {
  /// A commit, and the queries that it concerns if the index was asked already.
  struct Entry {
    let commit: Commit
    let concerned: [ObserverIndex.ID]?
  }

  /// Commits that are taken out together.
  struct Batch {
    let entries: [Entry]
    /// Whether commits were dropped before, so that every query has to be run again.
    let isOverflowing: Bool
    /// The last commit that had been appended when this batch was taken.
    fileprivate let last: UInt64
  }

  /// The greatest number of changed documents in queued commits; above it the queries are run again.
  private static let limit = 50_000

  private var entries: [Entry] = []
  private var changeCount = 0
  private var isOverflowing = false
  /// Whether a thread is about to take the queued commits, or is processing them.
  private var isScheduled = false
  private var last: UInt64 = 0
  /// The last commit with which all queries are up to date.
  private(set) var applied: UInt64 = 0

  /// Appends a commit.
  ///
  /// - Returns: Whether the caller has to start a thread that takes the commits.
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

  /// Takes out all queued commits; `nil` if there are none, and then no thread is working.
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

  /// Records that all queries are up to date with a batch.
  mutating func finish(_ batch: Batch) { applied = batch.last }

  mutating func forget() {
    entries = []
    changeCount = 0
  }
}
