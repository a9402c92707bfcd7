public import DocStore
import Synchronization

/// Reads the changes of one database, in the order of its log and at least once.
///
/// Only one task at a time may use it. It ends when it is released.
public final class FeedReader: Sendable {
  fileprivate enum Mode {
    /// Starts after a position that has not been checked yet.
    case starting(FeedPosition)
    case log(FeedLogReader)
    /// Reads commits in memory, after this one.
    case live(FeedLogReader.Progress)
  }

  fileprivate struct State {
    var mode: Mode
    var matcher: FeedMatcher
    /// The commit of which only some documents are done, with their number.
    var begun: (commit: FeedCommit.Key, documents: Int)?
  }

  /// The queries that select the documents.
  public let filter: FeedFilter
  private let hub: FeedHub
  private let id: UInt64
  /// The readers with the same filter.
  private let readerSet: UInt64
  private let state: Mutex<State>

  /// Starts after a position, or with the next commit.
  ///
  /// - Throws: `closed`, `limit`.
  init(_ filter: FeedFilter, after position: FeedPosition?, _ hub: FeedHub) throws {
    self.filter = filter
    self.hub = hub
    (id, readerSet) = try hub.add(filter)
    let mode: Mode
    do {
      mode = try position.map { .starting($0) } ?? .live(hub.store.read { FeedLogReader.Progress($0) })
    } catch {
      hub.remove(id)
      throw error
    }
    state = Mutex(State(mode: mode, matcher: FeedMatcher(filter)))
  }

  deinit { hub.remove(id) }

  /// Ends the reader; a task that waits for changes or asks for more gets `nil`.
  public func end() { hub.remove(id) }

  /// Waits for the next changes.
  ///
  /// - Parameter limit: The longest wait; after it the batch is empty, and has the position to continue from.
  /// - Returns: `nil` when the database is closed.
  /// - Throws: `CancellationError`; what reading the store throws.
  public func next(waiting limit: Duration? = nil) async throws -> FeedBatch? {
    let deadline = limit.map { ContinuousClock.now + $0 }
    while true {
      try Task.checkCancellation()
      switch try step(FeedPages<Never>.Making?.none) {
      case .batch(let batch): return batch
      case .page, .again, .full: continue
      case .closed: return nil
      case .wait:
        let position = position
        if let deadline, deadline <= .now { return FeedBatch(position: position) }
        await hub.wait(for: id, after: position.sequence, until: deadline)
      }
    }
  }

  /// Waits for the next changes as a page, which readers with the same filter share.
  ///
  /// - Parameters:
  ///   - limit: The longest wait; after it the page is that of an empty batch with the position.
  ///   - making: The pages, and how one is made of a batch.
  /// - Returns: `nil` when the database is closed.
  /// - Throws: `CancellationError`; what reading the store or making a page throws.
  package func next<Content>(
    waiting limit: Duration?, _ making: FeedPages<Content>.Making
  ) async throws -> FeedPage<Content>? {
    let deadline = limit.map { ContinuousClock.now + $0 }
    while true {
      try Task.checkCancellation()
      switch try await making.pages.run({ try self.step(making) }) {
      case .page(let page): return page
      case .batch, .again: continue
      case .closed: return nil
      case .full: try await Task.sleep(for: FeedLimits.fullTime)
      case .wait:
        let position = position
        if let deadline, deadline <= .now { return try making.page(of: FeedBatch(position: position)) }
        await hub.wait(for: id, after: position.sequence, until: deadline)
      }
    }
  }

  /// The position for a reader that starts now and has everything that this one has returned.
  public var position: FeedPosition {
    let epoch = hub.store.epoch
    return state.withLock { state in
      switch state.mode {
      case .starting(let position): position
      case .log(let reader): reader.progress.position(epoch)
      case .live(let progress): progress.position(epoch)
      }
    }
  }

  private enum Step<Content: Sendable> {
    case batch(FeedBatch)
    case page(FeedPage<Content>)
    /// There is no room for a page now.
    case full
    case again, wait, closed
  }

  /// Reads on.
  ///
  /// - Parameter making: How a page is made of a batch; without it the batch itself is returned.
  /// - Returns: What was read, or why nothing was.
  /// - Throws: What reading the store or making a page throws.
  private func step<Content>(_ making: FeedPages<Content>.Making?) throws -> Step<Content> {
    guard hub.isOpen(id) else { return .closed }
    let epoch = hub.store.epoch
    return try state.withLock { state in
      switch state.mode {
      case .starting(let position): return try start(position, epoch, &state, making)
      case .log(let reader): return try read(reader, &state, making)
      case .live(let progress): return try readCommit(after: progress, epoch, &state, making)
      }
    }
  }

  /// What a caller gets for a batch.
  private func step<Content>(
    for batch: FeedBatch, _ making: FeedPages<Content>.Making?
  ) throws -> Step<Content> {
    if batch.items.isEmpty { return .again }
    return try making.map { .page(try $0.page(of: batch)) } ?? .batch(batch)
  }

  private func start<Content>(
    _ position: FeedPosition, _ epoch: UInt64, _ state: inout State, _ making: FeedPages<Content>.Making?
  ) throws -> Step<Content> {
    let progress = FeedLogReader.Progress(sequence: position.sequence, check: position.check)
    var reader = FeedLogReader(progress, epoch: epoch)
    let gap = try hub.store.read { transaction in
      try FeedLogReader.gap(position, epoch: epoch, transaction).map { gap in
        reader.requery(gap, transaction).batch
      }
    }
    guard let gap else {
      state.mode = .log(reader)
      return .again
    }
    state.mode = .live(reader.progress)
    return try step(for: gap, making)
  }

  private func read<Content>(
    _ reader: FeedLogReader, _ state: inout State, _ making: FeedPages<Content>.Making?
  ) throws -> Step<Content> {
    if let making, !making.pages.hasRoom() { return .full }
    var reader = reader
    let byteLimit = making == nil ? FeedLimits.batchBytes : FeedLimits.pageBytes
    let outcome = try hub.store.read { try reader.read(&state.matcher, $0, byteLimit: byteLimit) }
    switch outcome {
    case .more: state.mode = .log(reader)
    case .end: state.mode = .live(reader.progress)
    }
    return try step(for: outcome.batch, making)
  }

  private func readCommit<Content>(
    after progress: FeedLogReader.Progress, _ epoch: UInt64, _ state: inout State,
    _ making: FeedPages<Content>.Making?
  ) throws -> Step<Content> {
    switch hub.next(for: id, after: progress.sequence) {
    case .closed: return .closed
    case .behind:
      state.mode = .log(FeedLogReader(progress, epoch: epoch))
      state.begun = nil
      return .again
    case .commit(let commit):
      return try read(commit, &state, making)
    case .nothing(let last):
      if let last, last.sequence > progress.sequence {
        state.mode = .live(FeedLogReader.Progress(sequence: last.sequence, check: last.check))
      }
      return .wait
    }
  }

  private func read<Content>(
    _ commit: FeedCommit, _ state: inout State, _ making: FeedPages<Content>.Making?
  ) throws -> Step<Content> {
    let start = state.begun.flatMap { $0.commit == commit.key ? $0.documents : nil } ?? 0
    let key = FeedPageKey(commit: commit.key, readerSet: readerSet, document: start)
    if let making, let known = making.pages.page(key) {
      state.advance(in: commit, to: known.nextDocument)
      return .page(known)
    }
    if let making, !making.pages.hasRoom() { return .full }
    let (batch, next) = try commit.read(
      &state.matcher, from: start, byteLimit: making == nil ? FeedLimits.batchBytes : FeedLimits.pageBytes)
    guard let making, !batch.items.isEmpty else {
      state.advance(in: commit, to: next)
      return batch.items.isEmpty ? .again : .batch(batch)
    }
    let page = try making.page(of: batch, key, nextDocument: next)
    state.advance(in: commit, to: next)
    return .page(page)
  }
}

extension FeedReader.State {
  /// Records that documents of a commit are done, or all of them (`nil`).
  fileprivate mutating func advance(in commit: FeedCommit, to document: Int?) {
    if let document {
      begun = (commit.key, document)
    } else {
      let position = commit.position
      mode = .live(FeedLogReader.Progress(sequence: position.sequence, check: position.check))
      begun = nil
    }
  }
}

extension FeedLogReader.Progress {
  /// The position of a snapshot.
  init(_ transaction: borrowing ReadTransaction) {
    self.init(sequence: transaction.sequence, check: UInt32(truncatingIfNeeded: transaction.commitID))
  }

  func position(_ epoch: UInt64) -> FeedPosition {
    FeedPosition(epoch: epoch, sequence: sequence, check: check)
  }
}

extension FeedPosition {
  /// The position of the last commit of a store.
  public static func now(_ store: Store) throws -> FeedPosition {
    let epoch = store.epoch
    return try store.read { FeedLogReader.Progress($0).position(epoch) }
  }

  /// The position before the first commit of a store.
  public static func beginning(of store: Store) -> FeedPosition {
    FeedPosition(epoch: store.epoch, sequence: 0, check: 0)
  }
}
