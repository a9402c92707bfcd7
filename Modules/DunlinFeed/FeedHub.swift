import CRDTCore
import Dispatch
public import DocStore
import QueryEngine
import Synchronization

/// Passes commits to the readers of one database's changes, and bounds what is queued for each.
///
/// The writer only looks into an index, however many readers there are. A reader that does not keep up loses
/// the queued commits, and reads the log instead.
public final class FeedHub: Sendable {
  /// The queue of one reader.
  fileprivate struct Mailbox {
    let collections: Set<TextKey>
    var commits: [Commit] = []
    var changeCount = 0
    var byteCount = 0
    /// Whether commits were dropped.
    var isBehind = false
    var waiter: CheckedContinuation<Void, Never>?
    var deadline: ContinuousClock.Instant?

    mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
      defer { (waiter, deadline) = (nil, nil) }
      return waiter
    }

    mutating func forget() { (commits, changeCount, byteCount) = ([], 0, 0) }
  }

  fileprivate struct State {
    var listener: CommitListener?
    var mailboxes: [UInt64: Mailbox] = [:]
    var byCollection: [TextKey: Set<UInt64>] = [:]
    var index = ObserverIndex()
    /// The last commit that was passed to all mailboxes.
    var last: (sequence: UInt64, check: UInt32)?
    var nextID: UInt64 = 1
    var isTicking = false
    var isClosed = false
  }

  /// What a reader finds in its mailbox.
  enum Mail {
    case commit(Commit)
    /// Commits were dropped; from now on the mailbox is filled again.
    case behind
    /// Nothing; all commits up to `last` have been passed on.
    case nothing(last: (sequence: UInt64, check: UInt32)?)
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

  /// Creates a mailbox, which receives commits from now on.
  ///
  /// - Throws: `closed`, `limit`.
  func add(_ filter: FeedFilter) throws -> UInt64 {
    try state.withLock { state in
      guard !state.isClosed else { throw FeedError(.closed, "the database is closed") }
      guard state.mailboxes.count < FeedLimits.readers else {
        throw FeedError(.limit, "more than \(FeedLimits.readers) readers of changes")
      }
      let id = state.nextID
      state.nextID += 1
      let names = Set(filter.queries.map { TextKey($0.collection) })
      state.mailboxes[id] = Mailbox(collections: names)
      for name in names { state.byCollection[name, default: []].insert(id) }
      for query in filter.queries {
        state.index.insert(id, collection: query.collection, predicate: query.predicate)
      }
      if state.listener == nil { state.listener = store.onCommit { [weak self] in self?.take($0) } }
      return id
    }
  }

  func remove(_ id: UInt64) {
    let (waiter, listener) = state.withLock { state in
      let mailbox = state.mailboxes.removeValue(forKey: id)
      for name in mailbox?.collections ?? [] {
        state.byCollection[name]?.remove(id)
        if state.byCollection[name]?.isEmpty == true { state.byCollection[name] = nil }
      }
      state.index.remove(id)
      guard state.mailboxes.isEmpty else { return (mailbox?.waiter, CommitListener?.none) }
      // Without a listener the store need not keep the former state of changed documents.
      defer { (state.listener, state.last) = (nil, nil) }
      return (mailbox?.waiter, state.listener)
    }
    waiter?.resume()
    withExtendedLifetime(listener) {}
  }

  /// Ends all readers.
  public func close() {
    let (waiters, listener) = state.withLock { state in
      state.isClosed = true
      let waiters = state.mailboxes.keys.compactMap { state.mailboxes[$0]?.takeWaiter() }
      for id in state.mailboxes.keys { state.mailboxes[id]?.forget() }
      defer { state.listener = nil }
      return (waiters, state.listener)
    }
    listener?.cancel()
    for waiter in waiters { waiter.resume() }
  }

  /// Whether a mailbox exists and may receive more.
  func isOpen(_ id: UInt64) -> Bool { state.withLock { !$0.isClosed && $0.mailboxes[id] != nil } }

  /// The number of readers that have not ended.
  public var readerCount: Int { state.withLock { $0.mailboxes.count } }

  // MARK: - Commits

  /// Receives a commit, on the writer's thread.
  private func take(_ commit: Commit) {
    let waiters = state.withLock { state in
      guard !state.isClosed, !state.mailboxes.isEmpty else { return [CheckedContinuation<Void, Never>]() }
      var waiters: [CheckedContinuation<Void, Never>] = []
      let concerned = state.concerned(by: commit)
      if !concerned.isEmpty {
        let byteCount = commit.changes.reduce(0) { $0 + $1.recordBytes }
        for id in concerned {
          if let waiter = state.mailboxes[id]?.take(commit, byteCount) { waiters.append(waiter) }
        }
      }
      state.last = (commit.sequence, UInt32(truncatingIfNeeded: commit.id))
      return waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Takes the next item out of a mailbox.
  func next(for id: UInt64) -> Mail {
    state.withLock { state in
      guard !state.isClosed, state.mailboxes[id] != nil else { return .closed }
      return state.mailboxes[id]?.next(last: state.last) ?? .closed
    }
  }

  // MARK: - Waiting

  /// Waits until a mailbox may have something, the deadline passes, or the task is cancelled.
  func wait(for id: UInt64, until deadline: ContinuousClock.Instant?) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let goesOn = state.withLock { state in
          guard !state.isClosed, !Task.isCancelled, state.mailboxes[id]?.isEmpty == true else { return true }
          state.mailboxes[id]?.waiter = continuation
          state.mailboxes[id]?.deadline = deadline
          if deadline != nil { scheduleTick(&state) }
          return false
        }
        if goesOn { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.mailboxes[id]?.takeWaiter() }?.resume()
    }
  }

  private func scheduleTick(_ state: inout State) {
    guard !state.isTicking else { return }
    state.isTicking = true
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.tick) { [weak self] in self?.endWaits() }
  }

  private func endWaits() {
    let waiters = state.withLock { state in
      state.isTicking = false
      let now = ContinuousClock.now
      var waiters: [CheckedContinuation<Void, Never>] = []
      var isWaitedFor = false
      for (id, mailbox) in state.mailboxes {
        guard let deadline = mailbox.deadline else { continue }
        if deadline > now {
          isWaitedFor = true
        } else if let waiter = state.mailboxes[id]?.takeWaiter() {
          waiters.append(waiter)
        }
      }
      if isWaitedFor { scheduleTick(&state) }
      return waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}

extension FeedHub.State {
  /// The readers that a commit may concern.
  fileprivate mutating func concerned(by commit: Commit) -> [UInt64] {
    if commit.changes.count <= FeedLimits.promptChanges { return index.affected(by: commit) }
    var (found, latest): (Set<UInt64>, UInt32?) = ([], nil)
    for change in commit.changes where change.key.collection != latest {
      latest = change.key.collection
      found.formUnion(byCollection[TextKey(change.collection.name)] ?? [])
    }
    return Array(found)
  }
}

extension FeedHub.Mailbox {
  fileprivate var isEmpty: Bool { commits.isEmpty && !isBehind }

  /// - Returns: The reader that waits for the mailbox, if any.
  fileprivate mutating func take(_ commit: Commit, _ byteCount: Int) -> CheckedContinuation<Void, Never>? {
    guard !isBehind else { return nil }
    changeCount += commit.changes.count
    self.byteCount += byteCount
    if changeCount > FeedLimits.queuedChanges || self.byteCount > FeedLimits.queuedBytes {
      forget()
      isBehind = true
    } else {
      commits.append(commit)
    }
    return takeWaiter()
  }

  fileprivate mutating func next(last: (sequence: UInt64, check: UInt32)?) -> FeedHub.Mail {
    if isBehind {
      isBehind = false
      return .behind
    }
    guard !commits.isEmpty else { return .nothing(last: last) }
    let commit = commits.removeFirst()
    changeCount -= commit.changes.count
    byteCount -= commit.changes.reduce(0) { $0 + $1.recordBytes }
    return .commit(commit)
  }
}

extension Change {
  fileprivate var recordBytes: Int { (before?.bytes.count ?? 0) + (after?.bytes.count ?? 0) }
}
