import CRDTCore
import DocStore
import Synchronization

extension Set<HashedDocument> {
  /// Whether the beginning of a transaction, or of a segment, names one of these documents.
  ///
  /// - Returns: Also `true` for bytes of which that cannot be said.
  /// - Complexity: O(*n*) in the documents that the bytes name.
  func areNamed(in transaction: ArraySlice<UInt8>) -> Bool {
    var isNamed = false
    let isKnown = ColumnarTransaction.forEachHead(transaction) { collection, id in
      isNamed = contains(HashedDocument(collection: collection, id: id))
      return !isNamed
    }
    return isNamed || !isKnown
  }
}

/// The documents that the store has erased lately, for transfers that were running meanwhile.
final class ErasedDocuments: Sendable {
  private struct State {
    var count: UInt64 = 0
    /// The last ones, in order.
    var recent: [HashedDocument] = []
  }

  private let state = Mutex(State())

  /// How many documents were erased so far.
  var count: UInt64 { state.withLock { $0.count } }

  /// Adds documents that are being erased.
  func add(_ documents: Set<HashedDocument>) {
    state.withLock { state in
      state.count += UInt64(documents.count)
      state.recent += documents.sorted()
      if state.recent.count > SyncLimits.rememberedErasures {
        state.recent.removeFirst(state.recent.count - SyncLimits.rememberedErasures)
      }
    }
  }

  /// Whether the beginning of a transaction names a document that was erased since the count was so high.
  ///
  /// - Returns: Also `true` if more documents were erased since than are remembered.
  func areNamed(in transaction: ArraySlice<UInt8>, since count: UInt64) -> Bool {
    let documents: Set<HashedDocument>? = state.withLock { state in
      let number = state.count - min(count, state.count)
      return number > UInt64(state.recent.count) ? nil : Set(state.recent.suffix(Int(number)))
    }
    guard let documents else { return true }
    return !documents.isEmpty && documents.areNamed(in: transaction)
  }
}

extension WriteTransaction {
  /// Removes staged parts that contain documents which this transaction erases.
  ///
  /// Of a transaction in segments, it removes the segments that contain them. If the transaction is still
  /// arriving, one is then missing when the last segment arrives, and all of it is requested again. Of other
  /// transfers, and of what cannot be read, it removes all.
  ///
  /// - Parameter documents: The erased documents.
  /// - Returns: The names of which something was removed.
  /// - Throws: What reading and writing throw, but for damage of what is staged.
  /// - Complexity: O(*n*) in the staged bytes.
  func unstage(contentOf documents: Set<HashedDocument>) throws -> Set<StagingID> {
    var removed: Set<StagingID> = []
    for id in try stagedIDs().sorted() {
      if StagedSegments.isOne(id) {
        if let segments = try stagedSegments(of: id, naming: documents) {
          guard !segments.isEmpty else { continue }
          for segment in segments { try unstage(id, chunks: StagedSegments.chunks(of: segment)) }
        } else {
          try unstage(id)
        }
      } else {
        guard try isStagedTransfer(id, naming: documents) else { continue }
        try unstage(id)
      }
      removed.insert(id)
    }
    return removed
  }

  /// The staged segments of a transaction that name one of some documents; `nil` if one is damaged.
  private func stagedSegments(of id: StagingID, naming documents: Set<HashedDocument>) throws -> [UInt64]? {
    var found: [UInt64] = []
    do {
      try StagedSegments.forEachSegment(of: id, in: self) { segment, _, transaction in
        if documents.areNamed(in: transaction) { found.append(segment) }
        return true
      }
    } catch let error where error is CodecError || (error as? StoreError)?.code == .corrupt {
      return nil
    }
    return found
  }

  /// Whether the staged beginning of a transaction names one of some documents, or cannot be read.
  private func isStagedTransfer(_ id: StagingID, naming documents: Set<HashedDocument>) throws -> Bool {
    var bytes: [UInt8] = []
    var next: UInt32 = 0
    var isWhole = true
    do {
      try forEachStaged(of: id) { number, chunk in
        // The first chunk is the sender's site.
        if number > 0 { bytes += chunk }
        isWhole = number == next && bytes.count <= SyncLimits.transactionBytes
        next += 1
        return isWhole
      }
    } catch let error as StoreError where error.code == .corrupt {
      return true
    }
    // A session may have ended before more than the site was staged.
    return !isWhole || (!bytes.isEmpty && documents.areNamed(in: bytes[...]))
  }
}
