import CRDTCore
import DocStore

/// A commit in memory, through which a reader of changes progresses.
struct FeedCommit {
  let sequence: UInt64
  let check: UInt32
  private let documents: [Document]
  /// The number of documents that have been examined.
  private var next = 0

  fileprivate struct Document {
    let first: Change
    /// The same as `first` if the commit changed the document once.
    var last: Change
  }

  init(_ commit: Commit) {
    sequence = commit.sequence
    check = UInt32(truncatingIfNeeded: commit.id)
    var documents: [Document] = []
    // Only a commit with several transactions can change a document twice.
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
  ///   - matcher: Selects the documents that the reader wants.
  ///   - before: The position of the events while the commit is not finished.
  ///   - position: The position once the commit is finished.
  /// - Returns: The events; if the commit is finished, the last one has the position after it. `nil` when the
  ///   commit was finished before the call.
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

extension Record {
  fileprivate var byteCount: Int { bytes.count }
}
