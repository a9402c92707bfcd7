import CRDTCore
import DocStore
import Synchronization

/// The beginnings of large transactions that a peer keeps until it is connected to a peer that has the rest.
///
/// All sessions of a store share one stage. Its size is bounded, and nothing in it is visible. What arrived
/// slowly is also staged in the store, piece by piece, where the next process finds it.
package final class TransferStage: Sendable {
  private struct State {
    var transfers: [StagedTransfer] = []
    var lastNumber: UInt64 = 0
    var lastName: UInt64 = 0
    var isLoaded = false
  }

  private let state = Mutex(State())
  private let total = StagedBytes.Total()
  /// Staged data that the store no longer needs to keep.
  let garbage = StagingGarbage()

  init() {}

  /// Bytes of beginnings in memory, with those that were dropped and that sessions may still use.
  var memoryBytes: Int { total.count }

  package var isEmpty: Bool { state.withLock { $0.transfers.isEmpty } }

  /// Returns a new name for what is staged in the store.
  func makeName(_ random: UInt64) -> StagingID {
    state.withLock { state in
      repeat {
        state.lastName &+= 1
      } while state.transfers.contains {
        $0.kept == StagedChunk.name(random &+ state.lastName)
      }
      return StagedChunk.name(random &+ state.lastName)
    }
  }

  /// Keeps a transfer; the oldest ones are dropped when there are too many.
  ///
  /// A session may use what it has reported to its peer, also after it was dropped. While such bytes leave no
  /// room, nothing is kept: otherwise each of many sessions could hold other transfers in memory.
  func keep(_ transfer: StagedTransfer) {
    state.withLock { state in
      state.lastNumber += 1
      var transfer = transfer
      transfer.number = state.lastNumber
      // A peer that leaves transfers again and again replaces its own ones before those of other peers.
      let own = state.transfers.filter { $0.outline.site == transfer.outline.site }
      if own.count >= SyncLimits.stagedTransfersOfPeer, let oldest = own.first {
        discard([oldest])
        state.transfers.removeAll { $0.number == oldest.number }
      }
      state.transfers.append(transfer)
      while state.transfers.count > SyncLimits.stagedTransfers
        || state.transfers.count > 1
          && state.transfers.reduce(0, { $0 + $1.memoryBytes }) > SyncLimits.stagedMemoryBytes
      {
        discard([state.transfers.removeFirst()])
      }
      guard case .beginning(let staged) = transfer.content else { return }
      let kept = state.transfers.dropLast().reduce(0) { sum, kept in
        kept.isSegments ? sum : sum + kept.memoryBytes
      }
      guard total.count <= kept || total.count + staged.bytes.count <= SyncLimits.stagedMemoryBytes else {
        discard([state.transfers.removeLast()])
        return
      }
      staged.count(in: total)
    }
  }

  /// Makes the store forget what it has staged of transfers.
  ///
  /// Segments are forgotten once nothing refers to them.
  private func discard(_ transfers: [StagedTransfer]) {
    for id in transfers.compactMap(\.kept) { garbage.add(id) }
  }

  /// Returns the transfers that are kept, after old ones were dropped.
  func transfers(at now: Duration) -> [StagedTransfer] {
    state.withLock { state in
      let isOld = { (transfer: StagedTransfer) in now - transfer.since > SyncLimits.stagedAge }
      discard(state.transfers.filter(isOld))
      state.transfers.removeAll(where: isOld)
      return state.transfers
    }
  }

  /// Drops a transfer that was used.
  func remove(_ number: UInt64) {
    state.withLock { state in
      discard(state.transfers.filter { $0.number == number })
      state.transfers.removeAll { $0.number == number }
    }
  }

  /// Drops the segments that the store has forgotten for lack of room.
  func forget(_ ids: Set<StagingID>) {
    state.withLock { state in
      state.transfers.removeAll { $0.segments.map { ids.contains($0.id) } ?? false }
    }
  }

  /// Drops the transfers that name a document that is being erased.
  ///
  /// - Parameters:
  ///   - documents: The erased documents.
  ///   - removed: The names of which the store has removed something.
  /// - Returns: The names of segmented transactions, of which the other segments can still be used.
  func forget(naming documents: Set<HashedDocument>, removed: Set<StagingID>) -> [StagingID] {
    state.withLock { state in
      let isNamed = { (transfer: StagedTransfer) in
        switch transfer.content {
        case .beginning(let staged): documents.areNamed(in: staged.bytes[...])
        case .segments(let segments): removed.contains(segments.id)
        }
      }
      let dropped = state.transfers.filter(isNamed)
      discard(dropped)
      state.transfers.removeAll(where: isNamed)
      let segments = dropped.compactMap(\.segments)
      for segments in segments { segments.passOn() }
      return segments.map(\.id)
    }
  }

  func keepsSegments(_ id: StagingID) -> Bool { segmented.contains(id) }

  private var segmented: Set<StagingID> { state.withLock { Set($0.transfers.compactMap(\.segments?.id)) } }

  /// Loads what an earlier process has staged, and the segments that sessions have left since the last call.
  ///
  /// The first call alone loads what an earlier process has staged.
  ///
  /// Segments that the store has forgotten are dropped, and so are beginnings and segments of fewer than
  /// `least` bytes in all, and segments of documents that were erased while they arrived.
  func load(
    from store: Store, _ segments: SegmentStage, _ erased: ErasedDocuments, least: Int, at now: Duration
  ) throws(SyncError) {
    let isFirst = state.withLock { state in
      defer { state.isLoaded = true }
      return !state.isLoaded
    }
    var left = segments.removeLeft()
    let known = segmented
    guard isFirst || !left.isEmpty || !known.isEmpty else { return }
    do {
      try store.read { snapshot in
        let kept = try snapshot.stagedIDs()
        forget(known.subtracting(kept))
        for id in isFirst ? kept.sorted() : [] {
          if StagedSegments.isOne(id) {
            // Erasures have removed from these what they had to.
            if !segments.isUsed(id), !left.contains(where: { $0.id == id }) {
              left.insert(LeftSegments(id: id, erasedCount: erased.count), at: 0)
            }
          } else if let transfer = try? StagedChunk.transfer(id, in: snapshot, at: now),
            transfer.outline.byteCount >= least
          {
            keep(transfer)
          } else {
            garbage.add(id)
          }
        }
        for transaction in left {
          let found = try ReusableSegments.staged(
            transaction, in: snapshot, roomBytes: store.workingBytes, garbage, erased, at: now)
          if let found, found.outline.byteCount >= least { keep(found) }
        }
      }
    } catch {
      throw SyncError(store: error)
    }
  }
}
