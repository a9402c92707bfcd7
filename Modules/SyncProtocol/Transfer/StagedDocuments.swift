import DocStore
import Synchronization

/// The documents that staged segments and transfers name, so that an erasure need not read them.
///
/// It is only written while the store's writer runs. What it does not know is read. What it knows of a part
/// has at least the documents of that part.
final class StagedDocuments: Sendable {
  private struct State {
    var segments: [StagingID: [UInt64: Set<HashedDocument>]] = [:]
    /// Transactions of which nothing was staged when this process began to stage them.
    var begun: Set<StagingID> = []
    /// The names, in the order in which they came.
    var order: [StagingID] = []
    var count = 0
    var reads = 0

    mutating func remove(_ id: StagingID) {
      begun.remove(id)
      guard let removed = segments.removeValue(forKey: id) else { return }
      count -= removed.values.reduce(0) { $0 + $1.count }
      order.removeAll { $0 == id }
    }

    mutating func set(_ documents: Set<HashedDocument>?, _ id: StagingID, _ segment: UInt64) {
      count -= segments[id]?[segment]?.count ?? 0
      guard let documents, documents.count <= SyncLimits.knownStagedDocuments else {
        segments[id]?[segment] = nil
        return
      }
      if segments[id] == nil { order.append(id) }
      segments[id, default: [:]][segment] = documents
      count += documents.count
      while count > SyncLimits.knownStagedDocuments || order.count > SyncLimits.knownStagedTransactions,
        let first = order.first
      {
        remove(first)
      }
    }
  }

  private let state = Mutex(State())

  /// How often an erasure has read a staged part.
  var reads: Int { state.withLock { $0.reads } }

  /// The documents of a part; `nil` if they are not known.
  func documents(of id: StagingID, segment: UInt64 = 0) -> Set<HashedDocument>? {
    state.withLock { $0.segments[id]?[segment] }
  }

  /// Records that segments of a transaction are about to be staged, of which nothing is staged.
  func begin(_ id: StagingID) {
    state.withLock { state in
      // Others are then read.
      if state.begun.count >= SyncLimits.knownStagedTransactions { state.begun = [] }
      state.begun.insert(id)
    }
  }

  /// Records the documents of a segment that is being staged.
  ///
  /// A former segment with its number may stay, if the store's transaction is not committed. So it is known
  /// only together with that one.
  func note(_ transaction: ArraySlice<UInt8>, of id: StagingID, segment: UInt64) {
    let documents = Self.documents(in: transaction)
    state.withLock { state in
      let former = state.segments[id]?[segment] ?? (state.begun.contains(id) ? [] : nil)
      if let documents, let former { return state.set(documents.union(former), id, segment) }
      state.begun.remove(id)
      state.set(nil, id, segment)
    }
  }

  /// Records what an erasure has read of a part; `nil` if it cannot be told.
  func didRead(_ documents: Set<HashedDocument>?, of id: StagingID, segment: UInt64 = 0) {
    state.withLock { state in
      state.reads += 1
      state.set(documents, id, segment)
    }
  }

  /// Forgets the documents of what is published, or of a transfer of which another chunk is being staged.
  func forget(_ id: StagingID) { state.withLock { $0.remove(id) } }

  /// Forgets what is staged no more.
  func forget(except ids: Set<StagingID>) {
    state.withLock { state in
      for id in state.order where !ids.contains(id) { state.remove(id) }
      state.begun.formIntersection(ids)
    }
  }

  /// The documents that the beginning of a transaction, or of a segment, names; `nil` if that cannot be told.
  static func documents(in transaction: ArraySlice<UInt8>) -> Set<HashedDocument>? {
    var documents: Set<HashedDocument> = []
    let isKnown = ColumnarTransaction.forEachHead(transaction) { collection, id in
      documents.insert(HashedDocument(collection: collection, id: id))
      return true
    }
    return isKnown ? documents : nil
  }
}
