import CRDTCore
import DocStore

/// Reads the changes after a position from the store's log, in parts, each from the newest snapshot.
///
/// A document that changed several times appears once, with its last change.
struct FeedLogReader {
  /// How far the log has been read.
  struct Progress {
    /// All commits up to this one are done.
    var sequence: UInt64
    var check: UInt32
    /// The finished part of the next commit.
    fileprivate var rest: Rest?
    /// The greatest sequence of which an entry was read.
    fileprivate var met: UInt64

    init(sequence: UInt64, check: UInt32) {
      (self.sequence, self.check, met) = (sequence, check, sequence)
    }
  }

  /// The finished part of a commit's entries.
  ///
  /// It is everything up to a member, or a number of evicted documents.
  fileprivate struct Rest {
    let sequence: UInt64
    let kind: LogKind
    var member: (collection: UInt32, number: UInt64)?
    var evicted = 0
  }

  /// The result of one read of the log.
  enum Outcome {
    /// More of the log remains.
    case more(FeedBatch)
    /// Everything up to the snapshot's last commit was read.
    case end(FeedBatch)

    var batch: FeedBatch {
      switch self {
      case .more(let batch), .end(let batch): batch
      }
    }
  }

  private(set) var progress: Progress
  private let epoch: UInt64

  init(_ progress: Progress, epoch: UInt64) {
    self.progress = progress
    self.epoch = epoch
  }

  /// Checks whether a position belongs to this log, and whether the log still reaches back to it.
  ///
  /// - Returns: The reason if it does not; `nil` if it does.
  static func gap(
    _ position: FeedPosition, epoch: UInt64, _ transaction: borrowing ReadTransaction
  ) throws -> FeedGap? {
    guard position.epoch == epoch, position.sequence <= transaction.sequence else { return .otherLog }
    guard position.sequence >= transaction.logStart else { return .truncated }
    // The log no longer has the id of the commit where it starts.
    if position.sequence == transaction.logStart, position.sequence < transaction.sequence { return nil }
    return try transaction.commitCheck(at: position.sequence) == position.check ? nil : .otherLog
  }

  private func position(_ sequence: UInt64, _ check: UInt32) -> FeedPosition {
    FeedPosition(epoch: epoch, sequence: sequence, check: check)
  }

  private var here: FeedPosition { position(progress.sequence, progress.check) }

  /// Reads the next part.
  ///
  /// - Parameters:
  ///   - matcher: Selects the documents that the reader wants.
  ///   - transaction: The snapshot.
  ///   - byteLimit: The approximate number of bytes of the records.
  /// - Returns: The events, and whether more of the log remains.
  /// - Throws: What reading a record throws, except for damage, which becomes an event.
  mutating func read(
    _ matcher: inout FeedMatcher, _ transaction: borrowing ReadTransaction, byteLimit: Int
  ) throws -> Outcome {
    guard progress.sequence >= transaction.logStart else { return requery(.truncated, transaction) }
    var page = Page(matcher: matcher, byteLimit: byteLimit)
    defer { matcher = page.matcher }
    do {
      var (entries, isFull) = (0, false)
      try transaction.changes(after: progress.sequence) { entry in
        if entry.sequence > progress.met { finishCommit(&page) }
        entries += 1
        guard page.hasRoom, entries <= FeedLimits.logEntries else {
          isFull = true
          return false
        }
        let isDone = try read(entry, &page, transaction)
        progress.met = entry.sequence
        page.check = entry.commitCheck
        isFull = !isDone
        return isDone
      }
      if isFull { return .more(FeedBatch(items: page.items, position: here)) }
    } catch let error as StoreError where error.code == .corrupt && DamagedLog(error) != nil {
      var outcome = requery(.damaged, transaction)
      outcome = .end(FeedBatch(items: page.items + outcome.batch.items, position: outcome.batch.position))
      return outcome
    }
    finishCommit(&page)
    (progress.sequence, progress.check) = (
      transaction.sequence, UInt32(truncatingIfNeeded: transaction.commitID)
    )
    progress.rest = nil
    return .end(FeedBatch(items: page.items, position: here))
  }

  /// Makes the reader start again, from the current commit.
  mutating func requery(_ gap: FeedGap, _ transaction: borrowing ReadTransaction) -> Outcome {
    progress = Progress(
      sequence: transaction.sequence, check: UInt32(truncatingIfNeeded: transaction.commitID))
    return .end(
      FeedBatch(items: [FeedItem(event: .requeryRequired(gap, here), position: here)], position: here))
  }

  /// Records that all entries of the most recently read commit are done.
  private mutating func finishCommit(_ page: inout Page) {
    guard progress.met > progress.sequence else { return }
    (progress.sequence, progress.check, progress.rest) = (progress.met, page.check, nil)
    if page.isLastOfCommit { page.items[page.items.count - 1].position = here }
    page.isLastOfCommit = false
  }

  /// The events that have been found.
  private struct Page {
    var matcher: FeedMatcher
    let byteLimit: Int
    var items: [FeedItem] = []
    var byteCount = 0
    var members = 0
    /// A part of the id of the most recently read commit.
    var check: UInt32 = 0
    /// Whether the last event belongs to the most recently read commit.
    var isLastOfCommit = false

    var hasRoom: Bool {
      items.count < FeedLimits.batchEvents && byteCount < byteLimit
        && members < FeedLimits.logMembers
    }

    mutating func add(_ event: FeedEvent, _ position: FeedPosition, byteCount: Int = 0) {
      items.append(FeedItem(event: event, position: position))
      self.byteCount += byteCount
      isLastOfCommit = true
    }
  }

  // MARK: - Entries

  /// - Returns: Whether all of the entry is done.
  private mutating func read(
    _ entry: borrowing LogEntry, _ page: inout Page, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    var rest = Rest(sequence: entry.sequence, kind: entry.kind)
    if let done = progress.rest, done.sequence == entry.sequence {
      if done.kind.rawValue > entry.kind.rawValue { return true }
      if done.kind == entry.kind { rest = done }
    }
    let isDone =
      try entry.kind == .evicted
      ? readEvicted(entry, &rest, &page, transaction) : readMembers(entry, &rest, &page, transaction)
    progress.rest = rest
    return isDone
  }

  private func readMembers(
    _ entry: borrowing LogEntry, _ rest: inout Rest, _ page: inout Page,
    _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    let (before, change) = (here, position(entry.sequence, entry.commitCheck))
    var collections: [UInt32: Collection] = [:]
    for run in entry.runs where collections[run.collection] == nil {
      guard let collection = try transaction.collection(number: run.collection),
        page.matcher.part(of: collection) != nil
      else { continue }
      collections[run.collection] = collection
    }
    guard !collections.isEmpty else { return true }
    let done = rest.member
    var (isDone, last) = (true, rest.member)
    var damaged: [DamagedRecord] = []
    try entry.forEachMember(
      where: { collection, number in
        guard collections[collection] != nil else { return false }
        guard let done else { return true }
        return (collection, number.rawValue) > (done.collection, done.number)
      }, damaged: { damaged.append($0) }
    ) { collection, number, id, _, record in
      guard page.hasRoom else {
        isDone = false
        return false
      }
      page.members += 1
      last = (collection, number.rawValue)
      guard let known = collections[collection], let part = page.matcher.part(of: known) else { return true }
      let id = try DocumentID(validating: id)
      let fields = try part.fields(id, record)
      guard fields != nil || part.admits(id) else { return true }
      let event = FeedChange(
        method: fields == nil ? .remove : .upsert, collection: part.name, id: id, oldValue: .unknown,
        newValue: fields.map { .fields($0) } ?? .none, transaction: change, isResumed: true)
      page.add(.change(event), before, byteCount: record.byteCount)
      return true
    }
    rest.member = last
    for record in damaged {
      page.add(.damaged(collection: record.collection, id: record.id, change), before)
    }
    return isDone
  }

  /// Reads the evicted documents of an entry.
  ///
  /// A document that has come back since is in a later entry, or in another entry of the same commit. A
  /// document with a tombstone may be in no entry.
  private func readEvicted(
    _ entry: borrowing LogEntry, _ rest: inout Rest, _ page: inout Page,
    _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    let (before, change) = (here, position(entry.sequence, entry.commitCheck))
    for key in entry.evicted.dropFirst(rest.evicted) {
      guard page.hasRoom else { return false }
      rest.evicted += 1
      page.members += 1
      guard let collection = try transaction.collection(number: key.collection),
        let part = page.matcher.part(of: collection), part.admits(key.id)
      else { continue }
      do {
        let isAlive = try transaction.withRecord(collection, key.id) { record, _ in record.isAlive }
        if isAlive == true { continue }
      } catch let error as StoreError where error.code == .corrupt {
        page.add(.damaged(collection: part.name, id: key.id, change), before)
        continue
      }
      let event = FeedChange(
        method: .remove, collection: part.name, id: key.id, oldValue: .unknown, newValue: .none,
        transaction: change, isResumed: true)
      page.add(.change(event), before)
    }
    if !entry.isEvictionComplete {
      let now = position(transaction.sequence, UInt32(truncatingIfNeeded: transaction.commitID))
      page.add(.requeryRequired(.evictions, now), before)
    }
    return true
  }
}
