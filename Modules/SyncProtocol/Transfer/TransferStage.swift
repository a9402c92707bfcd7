import CRDTCore
import DocStore
import Synchronization

/// Beginnings of large groups that a peer keeps for when it meets someone who has the rest.
///
/// One for all sessions of a store, bounded, and nothing of it is visible. What came slowly is also put aside in the store,
/// piece by piece, and found there by the next process.
package final class TransferStage: Sendable {
  private struct State {
    var transfers: [StagedTransfer] = []
    var lastNumber: UInt64 = 0
    var lastName: UInt64 = 0
    var isLoaded = false
  }

  private let state = Mutex(State())
  /// What the store need not keep any more.
  let garbage = StagingGarbage()

  init() {}

  package var isEmpty: Bool { state.withLock { $0.transfers.isEmpty } }

  /// A new name for what the store puts aside.
  func makeName(_ random: UInt64) -> StagingID {
    state.withLock { state in
      repeat {
        state.lastName &+= 1
      } while state.transfers.contains {
        $0.kept == StagedPiece.name(random &+ state.lastName)
      }
      return StagedPiece.name(random &+ state.lastName)
    }
  }

  /// Keeps one; the oldest ones go where it gets too much.
  func keep(_ transfer: StagedTransfer) {
    state.withLock { state in
      state.lastNumber += 1
      var transfer = transfer
      transfer.number = state.lastNumber
      // What a peer leaves again and again takes the place of its own, before that of others'.
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
    }
  }

  /// Has the store forget what it keeps of transfers; of parts, when nobody refers to them.
  private func discard(_ transfers: [StagedTransfer]) {
    for id in transfers.compactMap(\.kept) { garbage.add(id) }
  }

  /// What is kept; old ones are forgotten.
  func transfers(at now: Duration) -> [StagedTransfer] {
    state.withLock { state in
      let isOld = { (transfer: StagedTransfer) in now - transfer.since > SyncLimits.stagedAge }
      discard(state.transfers.filter(isOld))
      state.transfers.removeAll(where: isOld)
      return state.transfers
    }
  }

  /// Forgets one that has served.
  func remove(_ number: UInt64) {
    state.withLock { state in
      discard(state.transfers.filter { $0.number == number })
      state.transfers.removeAll { $0.number == number }
    }
  }

  /// Takes note of parts that the store has forgotten for want of room.
  func forget(_ ids: Set<StagingID>) {
    state.withLock { state in
      state.transfers.removeAll { $0.parts.map { ids.contains($0.id) } ?? false }
    }
  }

  func keepsParts(_ id: StagingID) -> Bool { parts.contains(id) }

  private var parts: Set<StagingID> { state.withLock { Set($0.transfers.compactMap(\.parts?.id)) } }

  /// Learns what an earlier process has put aside, once, and what parts sessions have left since the call before, and
  /// passes over parts that the store has forgotten.
  ///
  /// Less than `least` bytes of a group are not kept.
  func load(
    from store: Store, _ components: ComponentStage, least: Int, at now: Duration
  ) throws(SyncError) {
    let isFirst = state.withLock { state in
      defer { state.isLoaded = true }
      return !state.isLoaded
    }
    var left = components.takeLeft()
    let known = parts
    guard isFirst || !left.isEmpty || !known.isEmpty else { return }
    do {
      try store.read { transaction in
        let kept = try transaction.stagedIDs()
        forget(known.subtracting(kept))
        for id in isFirst ? kept.sorted() : [] {
          if StagedComponent.isOne(id) {
            if !components.isUsed(id), !left.contains(id) { left.insert(id, at: 0) }
          } else if let transfer = try? StagedPiece.transfer(id, in: transaction, at: now),
            transfer.outline.byteCount >= least
          {
            keep(transfer)
          } else {
            garbage.add(id)
          }
        }
        for id in left {
          let found = try StagedParts.staged(
            id, in: transaction, roomBytes: store.workingBytes, garbage, at: now)
          if let found, found.outline.byteCount >= least { keep(found) }
        }
      }
    } catch {
      throw SyncError(store: error)
    }
  }
}
