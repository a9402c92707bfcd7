import DocStore
import Synchronization

/// Tracks the staged segments of large transactions for all sessions of one store.
final class SegmentStage: Sendable {
  private struct State {
    /// Names whose segments are arriving.
    var used: Set<StagingID> = []
    /// Names that ran out of room: their transactions become visible segment by segment.
    var torn: Set<StagingID> = []
    /// Names that a session left before the last segment arrived, and that were not collected since.
    var left: [StagingID] = []
    var lastName: UInt64 = 0
  }

  private let state = Mutex(State())

  /// Returns a new name that neither this process nor the store has used.
  func makeName(_ random: UInt64, isKept: (StagingID) -> Bool) -> SegmentedName {
    let id = state.withLock { state in
      var id: StagingID
      repeat {
        state.lastName &+= 1
        id = StagedSegments.name(random &+ state.lastName)
      } while state.used.contains(id) || state.left.contains(id) || isKept(id)
      state.used.insert(id)
      return id
    }
    return SegmentedName(id, of: self)
  }

  /// Records that a transaction is complete.
  func finish(_ id: StagingID) { state.withLock { _ = $0.used.remove(id) } }

  fileprivate func leave(_ id: StagingID) {
    state.withLock { state in
      state.torn.remove(id)
      guard state.used.remove(id) != nil else { return }
      // The store drops older ones by itself.
      if state.left.count == SyncLimits.leftTransactions { state.left.removeFirst() }
      state.left.append(id)
    }
  }

  /// Removes and returns the names left unfinished since the previous call.
  func removeLeft() -> [StagingID] {
    state.withLock { state in
      defer { state.left = [] }
      return state.left
    }
  }

  func isUsed(_ id: StagingID) -> Bool { state.withLock { $0.used.contains(id) } }

  func isTorn(_ id: StagingID) -> Bool { state.withLock { $0.torn.contains(id) } }

  func noteTorn(_ id: StagingID) { state.withLock { _ = $0.torn.insert(id) } }
}

/// Names the staged segments of one large transaction.
///
/// The name stays in use while the session has it or a segment is being stored.
final class SegmentedName: Sendable {
  let id: StagingID
  private let stage: SegmentStage

  fileprivate init(_ id: StagingID, of stage: SegmentStage) {
    self.id = id
    self.stage = stage
  }

  deinit { stage.leave(id) }
}
