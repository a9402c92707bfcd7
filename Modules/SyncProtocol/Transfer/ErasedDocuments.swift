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
  /// - Parameters:
  ///   - documents: The erased documents.
  ///   - known: The documents that are staged, as far as they are known: only other parts are read.
  /// - Returns: The names of which something was removed.
  /// - Throws: What reading and writing throw, but for damage of what is staged.
  /// - Complexity: O(*n*) in the staged keys, and in the bytes of parts of which the documents are not known.
  func unstage(contentOf documents: Set<HashedDocument>, _ known: StagedDocuments) throws -> Set<StagingID> {
    var removed: Set<StagingID> = []
    let ids = try stagedIDs()
    known.forget(except: ids)
    for id in ids.sorted() {
      if StagedSegments.isOne(id) {
        if let segments = try stagedSegments(of: id, naming: documents, known) {
          guard !segments.isEmpty else { continue }
          for segment in segments { try unstage(id, chunks: StagedSegments.chunks(of: segment)) }
        } else {
          try unstage(id)
        }
      } else {
        let staged = try known.documents(of: id) ?? readTransfer(id, known)
        guard staged?.isDisjoint(with: documents) != true else { continue }
        try unstage(id)
      }
      removed.insert(id)
    }
    return removed
  }

  /// The staged segments of a transaction that name one of some documents; `nil` if one is damaged.
  private func stagedSegments(
    of id: StagingID, naming documents: Set<HashedDocument>, _ known: StagedDocuments
  ) throws -> [UInt64]? {
    var found: [UInt64] = []
    for segment in Set(try stagedChunks(of: id).map(StagedSegments.segment)).sorted() {
      var staged = known.documents(of: id, segment: segment)
      if staged == nil {
        do {
          try StagedSegments.forEachSegment(of: id, from: segment, in: self) { number, _, transaction in
            if number == segment { staged = StagedDocuments.documents(in: transaction) }
            return false
          }
        } catch let error where error is CodecError || (error as? StoreError)?.code == .corrupt {
          return nil
        }
        known.didRead(staged, of: id, segment: segment)
      }
      if staged?.isDisjoint(with: documents) != true { found.append(segment) }
    }
    return found
  }

  /// Reads which documents the staged beginning of a transaction names; `nil` if that cannot be told.
  private func readTransfer(_ id: StagingID, _ known: StagedDocuments) throws -> Set<HashedDocument>? {
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
      isWhole = false
    }
    // A session may have ended before more than the site was staged.
    let documents = bytes.isEmpty ? [] : StagedDocuments.documents(in: bytes[...])
    known.didRead(isWhole ? documents : nil, of: id)
    return isWhole ? documents : nil
  }
}
