import CRDTCore
import Dispatch
public import DocStore
import QueryEngine
import Synchronization

/// Passes commits to the readers of one database's changes.
///
/// The latest commits are in memory once for all readers, within one bound. The writer only looks into an
/// index of the readers' filters. A reader has its position and no queue. If commits behind it were dropped,
/// it reads the log instead.
public final class FeedHub: Sendable {
  /// The readers that have the same filter.
  fileprivate struct ReaderSet {
    let filter: FeedFilter
    let collections: Set<TextKey>
    var readers: Set<UInt64> = []
    /// The last commit that may concern them.
    var newest: UInt64 = 0
    /// The last such commit that is no longer in memory.
    var newestDropped: UInt64 = 0
  }

  fileprivate struct Reader {
    let readerSet: UInt64
    /// All commits up to this one are done.
    var sequence: UInt64 = 0
    var waiter: CheckedContinuation<Void, Never>?
    var deadline: ContinuousClock.Instant?

    mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
      defer { (waiter, deadline) = (nil, nil) }
      return waiter
    }
  }

  fileprivate struct State {
    var listener: CommitListener?
    var readers: [UInt64: Reader] = [:]
    var readerSets: [UInt64: ReaderSet] = [:]
    var byFilter: [[SubscriptionQuery]: UInt64] = [:]
    var byCollection: [TextKey: Set<UInt64>] = [:]
    /// Finds the sets of readers that a commit may concern.
    var index = ObserverIndex()
    /// The latest commits that concern readers, ascending.
    var recent: [FeedCommit] = []
    var changeCount = 0
    var byteCount = 0
    /// The position after the last commit, whether or not it concerns readers.
    var last: FeedPosition?
    var nextID: UInt64 = 1
    var isTicking = false
    var isClosed = false
  }

  /// What a reader finds behind its position.
  enum Mail {
    case commit(FeedCommit)
    /// Commits were dropped.
    case behind
    /// Nothing; no commit up to `last` concerns the reader.
    case nothing(last: FeedPosition?)
    case closed
  }

  /// The precision of time-outs.
  private static let tick = DispatchTimeInterval.milliseconds(200)

  let store: Store
  private let state = Mutex(State())

  /// Makes the hub of a store; close it before the store.
  public init(store: Store) { self.store = store }

  /// Starts to read changes after a position, or from the next commit on.
  ///
  /// - Throws: `closed`, `limit`, `io`.
  public func read(_ filter: FeedFilter, after position: FeedPosition? = nil) throws -> FeedReader {
    try FeedReader(filter, after: position, self)
  }

  // MARK: - Readers come and go

  /// Registers a reader, for which commits are kept from now on.
  ///
  /// - Returns: The id of the reader, and that of the readers with the same filter.
  /// - Throws: `closed`, `limit`; what reading the store throws.
  func add(_ filter: FeedFilter) throws -> (id: UInt64, readerSet: UInt64) {
    let now = try FeedPosition.now(store)
    return try state.withLock { state in
      guard !state.isClosed else { throw FeedError(.closed, "the database is closed") }
      guard state.readers.count < FeedLimits.readers else {
        throw FeedError(.limit, "more than \(FeedLimits.readers) readers of changes")
      }
      let readerSet = state.readerSet(of: filter)
      let id = state.takeID()
      state.readers[id] = Reader(readerSet: readerSet)
      state.readerSets[readerSet]?.readers.insert(id)
      if state.listener == nil {
        state.last = now
        state.listener = store.onCommit { [weak self] in self?.take($0) }
      }
      return (id, readerSet)
    }
  }

  func remove(_ id: UInt64) {
    let (waiter, listener, dropped) = state.withLock { state in
      let reader = state.readers.removeValue(forKey: id)
      if let reader { state.remove(id, from: reader.readerSet) }
      guard state.readers.isEmpty else { return (reader?.waiter, CommitListener?.none, [FeedCommit]()) }
      // Without a listener the store need not keep the former state of changed documents.
      defer { (state.listener, state.last) = (nil, nil) }
      return (reader?.waiter, state.listener, state.takeRecent())
    }
    waiter?.resume()
    withExtendedLifetime((listener, dropped)) {}
  }

  /// Ends all readers.
  public func close() {
    let (waiters, listener, dropped) = state.withLock { state in
      state.isClosed = true
      let waiters = state.readers.keys.compactMap { state.readers[$0]?.takeWaiter() }
      defer { state.listener = nil }
      return (waiters, state.listener, state.takeRecent())
    }
    listener?.cancel()
    for waiter in waiters { waiter.resume() }
    withExtendedLifetime(dropped) {}
  }

  /// Whether a reader is registered and may receive more.
  func isOpen(_ id: UInt64) -> Bool { state.withLock { !$0.isClosed && $0.readers[id] != nil } }

  /// The number of readers that have not ended.
  public var readerCount: Int { state.withLock { $0.readers.count } }

  // MARK: - Commits

  /// Receives a commit, on the writer's thread.
  private func take(_ commit: Commit) {
    let (waiters, dropped) = state.withLock { state in
      guard !state.isClosed, !state.readers.isEmpty, let before = state.last else {
        return ([CheckedContinuation<Void, Never>](), [FeedCommit]())
      }
      state.last = FeedPosition(
        epoch: before.epoch, sequence: commit.sequence, check: UInt32(truncatingIfNeeded: commit.id))
      let concerned = state.concerned(by: commit)
      guard !concerned.isEmpty else { return ([], []) }
      let dropped = state.add(FeedCommit(commit, after: before, for: concerned))
      if !state.recent.isEmpty { scheduleTick(&state) }
      return (state.takeWaiters(of: concerned), dropped)
    }
    withExtendedLifetime(dropped) {}
    guard waiters.count > FeedLimits.promptWakes else { return waiters.forEach { $0.resume() } }
    DispatchQueue.global().async { waiters.forEach { $0.resume() } }
  }

  /// Finds what is behind a reader's position.
  ///
  /// - Parameters:
  ///   - id: The reader.
  ///   - sequence: All commits up to this one are done.
  /// - Returns: The next commit that may concern the reader, or why there is none.
  func next(for id: UInt64, after sequence: UInt64) -> Mail {
    state.withLock { state in
      guard !state.isClosed, let reader = state.readers[id],
        let readerSet = state.readerSets[reader.readerSet]
      else { return .closed }
      state.readers[id]?.sequence = sequence
      guard readerSet.newest > sequence else { return .nothing(last: state.last) }
      guard readerSet.newestDropped <= sequence else { return .behind }
      let commit = state.recent[state.firstIndex(after: sequence)...]
        .first { $0.readerSets.contains(reader.readerSet) }
      return commit.map { .commit($0) } ?? .behind
    }
  }

  // MARK: - Waiting

  /// Waits until a commit after `sequence` may concern a reader, the deadline passes, or the task ends.
  func wait(for id: UInt64, after sequence: UInt64, until deadline: ContinuousClock.Instant?) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let goesOn = state.withLock { state in
          guard !state.isClosed, !Task.isCancelled, let reader = state.readers[id],
            let newest = state.readerSets[reader.readerSet]?.newest, newest <= sequence
          else { return true }
          state.readers[id]?.waiter = continuation
          state.readers[id]?.deadline = deadline
          if deadline != nil { scheduleTick(&state) }
          return false
        }
        if goesOn { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.readers[id]?.takeWaiter() }?.resume()
    }
  }

  private func scheduleTick(_ state: inout State) {
    guard !state.isTicking else { return }
    state.isTicking = true
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.tick) { [weak self] in self?.endWaits() }
  }

  /// Ends waits whose time is over, and drops commits that all readers have.
  private func endWaits() {
    let (waiters, dropped) = state.withLock { state in
      state.isTicking = false
      let now = ContinuousClock.now
      var waiters: [CheckedContinuation<Void, Never>] = []
      var isWaitedFor = false
      for (id, reader) in state.readers {
        guard let deadline = reader.deadline else { continue }
        if deadline > now {
          isWaitedFor = true
        } else if let waiter = state.readers[id]?.takeWaiter() {
          waiters.append(waiter)
        }
      }
      let dropped = state.dropRead()
      if isWaitedFor || !state.recent.isEmpty { scheduleTick(&state) }
      return (waiters, dropped)
    }
    for waiter in waiters { waiter.resume() }
    withExtendedLifetime(dropped) {}
  }
}

extension FeedHub.State {
  fileprivate mutating func takeID() -> UInt64 {
    defer { nextID += 1 }
    return nextID
  }

  /// The set of the readers with a filter; it is made if it is not there.
  fileprivate mutating func readerSet(of filter: FeedFilter) -> UInt64 {
    if let known = byFilter[filter.queries] { return known }
    let id = takeID()
    let names = Set(filter.queries.map { TextKey($0.collection) })
    byFilter[filter.queries] = id
    readerSets[id] = FeedHub.ReaderSet(filter: filter, collections: names)
    for name in names { byCollection[name, default: []].insert(id) }
    for query in filter.queries {
      index.insert(id, collection: query.collection, predicate: query.predicate)
    }
    return id
  }

  /// Removes a reader from its set, and the set with its last reader.
  fileprivate mutating func remove(_ reader: UInt64, from id: UInt64) {
    readerSets[id]?.readers.remove(reader)
    guard let readerSet = readerSets[id], readerSet.readers.isEmpty else { return }
    readerSets[id] = nil
    byFilter[readerSet.filter.queries] = nil
    for name in readerSet.collections {
      byCollection[name]?.remove(id)
      if byCollection[name]?.isEmpty == true { byCollection[name] = nil }
    }
    index.remove(id)
  }

  /// The sets of readers that a commit may concern.
  fileprivate mutating func concerned(by commit: Commit) -> Set<UInt64> {
    if commit.changes.count <= FeedLimits.promptChanges { return Set(index.affected(by: commit)) }
    var (found, latest): (Set<UInt64>, UInt32?) = ([], nil)
    for change in commit.changes where change.key.collection != latest {
      latest = change.key.collection
      found.formUnion(byCollection[TextKey(change.collection.name)] ?? [])
    }
    return found
  }

  /// Keeps a commit for its readers, unless it is too large by itself.
  ///
  /// - Returns: The commits that were dropped, to be released outside of the lock.
  fileprivate mutating func add(_ commit: FeedCommit) -> [FeedCommit] {
    for id in commit.readerSets { readerSets[id]?.newest = commit.sequence }
    guard commit.changeCount <= FeedLimits.queuedChanges, commit.byteCount <= FeedLimits.queuedBytes else {
      recordDrop(of: commit)
      return []
    }
    recent.append(commit)
    changeCount += commit.changeCount
    byteCount += commit.byteCount
    var (count, changes, bytes) = (0, changeCount, byteCount)
    while changes > FeedLimits.queuedChanges || bytes > FeedLimits.queuedBytes {
      changes -= recent[count].changeCount
      bytes -= recent[count].byteCount
      count += 1
    }
    return drop(count)
  }

  /// Drops the commits that no reader still has to read.
  ///
  /// - Returns: The commits, to be released outside of the lock.
  /// - Complexity: O(*n*) for *n* readers.
  fileprivate mutating func dropRead() -> [FeedCommit] {
    guard !recent.isEmpty else { return [] }
    var least = UInt64.max
    for reader in readers.values where readerSets[reader.readerSet]?.newest ?? 0 > reader.sequence {
      least = min(least, reader.sequence)
    }
    return drop(least == .max ? recent.count : firstIndex(after: least))
  }

  private mutating func drop(_ count: Int) -> [FeedCommit] {
    guard count > 0 else { return [] }
    let dropped = Array(recent[..<count])
    recent.removeFirst(count)
    for commit in dropped {
      changeCount -= commit.changeCount
      byteCount -= commit.byteCount
      recordDrop(of: commit)
    }
    return dropped
  }

  private mutating func recordDrop(of commit: FeedCommit) {
    for id in commit.readerSets {
      let known = readerSets[id]?.newestDropped ?? 0
      readerSets[id]?.newestDropped = max(known, commit.sequence)
    }
  }

  /// Takes all commits out of memory, when nobody reads any more.
  fileprivate mutating func takeRecent() -> [FeedCommit] {
    defer { (recent, changeCount, byteCount) = ([], 0, 0) }
    return recent
  }

  /// The index of the first commit in memory after a sequence.
  ///
  /// - Complexity: O(log *n*) for *n* commits.
  fileprivate func firstIndex(after sequence: UInt64) -> Int {
    var (low, high) = (0, recent.count)
    while low < high {
      let middle = (low + high) / 2
      if recent[middle].sequence <= sequence { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The waiting readers of some sets.
  fileprivate mutating func takeWaiters(of sets: Set<UInt64>) -> [CheckedContinuation<Void, Never>] {
    var waiters: [CheckedContinuation<Void, Never>] = []
    for id in sets {
      for reader in readerSets[id]?.readers ?? [] {
        if let waiter = readers[reader]?.takeWaiter() { waiters.append(waiter) }
      }
    }
    return waiters
  }
}
