import CRDTCore
import DocStore

/// A commit that is in memory, as a reader of changes goes through it.
struct FeedCommit {
  let sequence: UInt64
  let check: UInt32
  private let documents: [Document]
  /// Documents that have been looked at.
  private var next = 0

  fileprivate struct Document {
    let first: Change
    /// The same change, where the commit changed the document once.
    var last: Change
  }

  init(_ commit: Commit) {
    sequence = commit.sequence
    check = UInt32(truncatingIfNeeded: commit.id)
    var documents: [Document] = []
    // Only a transaction of several groups can change a document twice.
    guard let groups = commit.changes.last?.group, groups > 0 else {
      self.documents = commit.changes.map { Document(first: $0, last: $0) }
      return
    }
    var places: [DocumentKey: Int] = [:]
    for change in commit.changes {
      if let place = places[change.key] {
        documents[place].last = change
      } else {
        places[change.key] = documents.count
        documents.append(Document(first: change, last: change))
      }
    }
    self.documents = documents
  }

  /// Makes events of the next documents.
  ///
  /// - Parameters:
  ///   - matcher: What the reader wants.
  ///   - before: Where to go on from while the commit is not done.
  ///   - position: Where to go on from once it is.
  /// - Returns: Events, the last one of which leads on behind the commit if that is done; `nil` when it was done before.
  /// - Throws: What decoding a record throws.
  mutating func read(
    _ matcher: inout FeedMatcher, before: FeedPosition, position: FeedPosition
  ) throws -> FeedBatch? {
    guard next < documents.count else { return nil }
    var batch = FeedBatch(position: before)
    var byteCount = 0
    while next < documents.count, batch.items.count < FeedLimits.batchEvents,
      byteCount < FeedLimits.batchBytes
    {
      let document = documents[next]
      next += 1
      guard let part = matcher.part(of: document.last.collection) else { continue }
      byteCount += document.byteCount
      guard let change = try document.change(part, position) else { continue }
      batch.items.append(FeedItem(event: .change(change), position: before))
    }
    if next == documents.count {
      batch.position = position
      if !batch.items.isEmpty { batch.items[batch.items.count - 1].position = position }
    }
    return batch
  }
}

extension FeedCommit.Document {
  fileprivate var byteCount: Int { (first.before?.byteCount ?? 0) + (last.after?.byteCount ?? 0) }

  /// What became of the document, for a reader who wants `part`; `nil` when that is nothing.
  fileprivate func change(_ part: FeedMatcher.Part, _ position: FeedPosition) throws -> FeedChange? {
    let old = try first.before.flatMap { try $0.withView { try part.fields(first.id, $0) } }
    let new = try last.after.flatMap { try $0.withView { try part.fields(last.id, $0) } }
    // An evicted document of which nothing is known was damaged: it may have matched.
    let isLost = last.kind == .evict && first.before == nil && first.kind == .evict
    guard old != nil || new != nil || isLost, old != new || isLost else { return nil }
    return FeedChange(
      method: new == nil ? .remove : old == nil ? .upsert : .update, collection: part.name, id: first.id,
      oldValue: old.map { .fields($0) } ?? (isLost ? .unknown : .none),
      newValue: new.map { .fields($0) } ?? .none, transaction: position, isResumed: false)
  }
}

extension Record {
  fileprivate var byteCount: Int { bytes.count }
}
