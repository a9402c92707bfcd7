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
    /// What the store need not keep any more.
    var garbage: [StagingID] = []
  }

  private let state = Mutex(State())

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
      state.transfers.append(transfer)
      while state.transfers.count > SyncLimits.stagedTransfers
        || state.transfers.count > 1
          && state.transfers.reduce(0, { $0 + $1.bytes.count }) > SyncLimits.groupBytes
      {
        if let kept = state.transfers.removeFirst().kept { state.garbage.append(kept) }
      }
    }
  }

  /// What is kept; old ones are forgotten.
  func transfers(at now: Duration) -> [StagedTransfer] {
    state.withLock { state in
      let isOld = { (transfer: StagedTransfer) in now - transfer.since > SyncLimits.stagedAge }
      state.garbage += state.transfers.filter(isOld).compactMap(\.kept)
      state.transfers.removeAll(where: isOld)
      return state.transfers
    }
  }

  /// Forgets one that has served.
  func remove(_ number: UInt64) {
    state.withLock { state in
      state.garbage += state.transfers.filter { $0.number == number }.compactMap(\.kept)
      state.transfers.removeAll { $0.number == number }
    }
  }

  /// Has the store forget what nobody needs.
  func discard(_ id: StagingID) { state.withLock { $0.garbage.append(id) } }

  /// What the store may forget, for whoever writes next.
  func takeGarbage() -> [StagingID] {
    state.withLock { state in
      defer { state.garbage = [] }
      return state.garbage
    }
  }

  /// Learns once what an earlier process has put aside.
  func load(from store: Store, at now: Duration) throws(SyncError) {
    let isFirst = state.withLock { state in
      defer { state.isLoaded = true }
      return !state.isLoaded
    }
    guard isFirst else { return }
    do {
      try store.read { transaction in
        for id in try transaction.stagedIDs() where StagedPiece.isTransfer(id) {
          guard let transfer = try? StagedPiece.transfer(id, in: transaction, at: now) else {
            discard(id)
            continue
          }
          keep(transfer)
        }
      }
    } catch {
      throw SyncError(store: error)
    }
  }
}
