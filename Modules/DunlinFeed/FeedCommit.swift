import CRDTCore
import DocStore
import Synchronization

/// A commit in memory, which all readers that it concerns share.
final class FeedCommit: Sendable {
  /// What tells the commit apart from those of all stores.
  struct Key: Hashable, Sendable {
    let sequence: UInt64
    let id: UInt64
  }

  let key: Key
  /// The position before the commit.
  let before: FeedPosition
  /// The sets of readers that the commit may concern.
  let readerSets: Set<UInt64>
  let changeCount: Int
  /// The bytes of the records, before and after the changes.
  let byteCount: Int
  private let changes: [Change]
  /// The documents, once a reader has asked for them.
  private let documents = Mutex<[Document]?>(nil)

  fileprivate struct Document: Sendable {
    let first: Change
    /// The same as `first` if the commit changed the document once.
    var last: Change
  }

  /// Makes a commit for readers.
  ///
  /// - Parameters:
  ///   - commit: The commit of the store.
  ///   - before: The position before it.
  ///   - readerSets: The sets of readers that it may concern.
  init(_ commit: Commit, after before: FeedPosition, for readerSets: Set<UInt64>) {
    key = Key(sequence: commit.sequence, id: commit.id)
    self.before = before
    self.readerSets = readerSets
    changes = commit.changes
    changeCount = commit.changes.count
    byteCount = commit.changes.reduce(0) { $0 + $1.recordBytes }
  }

  var sequence: UInt64 { key.sequence }

  /// The position after the commit.
  var position: FeedPosition {
    FeedPosition(epoch: before.epoch, sequence: key.sequence, check: UInt32(truncatingIfNeeded: key.id))
  }

  /// Makes events of the next documents.
  ///
  /// - Parameters:
  ///   - matcher: Selects the documents that the reader wants.
  ///   - start: The number of documents that have been examined.
  ///   - byteLimit: The approximate number of bytes of the records.
  /// - Returns: The events, and the number of documents that have been examined then. The number is `nil` if
  ///   the commit is finished, and the last event has the position after it.
  /// - Throws: What decoding a record throws.
  func read(
    _ matcher: inout FeedMatcher, from start: Int, byteLimit: Int
  ) throws -> (batch: FeedBatch, next: Int?) {
    let documents = documents.withLock { known in
      let documents = known ?? Self.documents(of: changes)
      known = documents
      return documents
    }
    var batch = FeedBatch(position: before)
    var (next, bytes) = (start, 0)
    while next < documents.count, batch.items.count < FeedLimits.batchEvents, bytes < byteLimit {
      let document = documents[next]
      next += 1
      guard let part = matcher.part(of: document.last.collection) else { continue }
      bytes += document.byteCount
      guard let change = try document.change(part, position) else { continue }
      batch.items.append(FeedItem(event: .change(change), position: before))
    }
    guard next >= documents.count else { return (batch, next) }
    batch.position = position
    if !batch.items.isEmpty { batch.items[batch.items.count - 1].position = position }
    return (batch, nil)
  }

  private static func documents(of changes: [Change]) -> [Document] {
    // Only a commit with several transactions can change a document twice.
    guard let groups = changes.last?.group, groups > 0 else {
      return changes.map { Document(first: $0, last: $0) }
    }
    var documents: [Document] = []
    var places: [DocumentKey: Int] = [:]
    for change in changes {
      if let place = places[change.key] {
        documents[place].last = change
      } else {
        places[change.key] = documents.count
        documents.append(Document(first: change, last: change))
      }
    }
    return documents
  }
}

extension FeedCommit.Document {
  fileprivate var byteCount: Int { (first.before?.bytes.count ?? 0) + (last.after?.bytes.count ?? 0) }

  /// The change of the document for a reader that wants `part`; `nil` if it does not concern the reader.
  fileprivate func change(_ part: FeedMatcher.Part, _ position: FeedPosition) throws -> FeedChange? {
    let old = try first.before.flatMap { try $0.withView { try part.fields(first.id, $0) } }
    let new = try last.after.flatMap { try $0.withView { try part.fields(last.id, $0) } }
    // For an evicted document without a known state: it was damaged, and it may have matched.
    let isLost = last.kind == .evict && first.before == nil && first.kind == .evict
    guard old != nil || new != nil || isLost, old != new || isLost else { return nil }
    // An erasure must not hand out once more what it erases.
    let isErased = try last.after?.withView { try $0.isErased(sites: last.sites) } ?? false
    return FeedChange(
      method: new == nil ? .remove : old == nil ? .upsert : .update, collection: part.name, id: first.id,
      oldValue: isErased || isLost && old == nil ? .unknown : old.map { .fields($0) } ?? .none,
      newValue: new.map { .fields($0) } ?? .none, transaction: position, isResumed: false)
  }
}

extension Change {
  fileprivate var recordBytes: Int { (before?.bytes.count ?? 0) + (after?.bytes.count ?? 0) }
}
