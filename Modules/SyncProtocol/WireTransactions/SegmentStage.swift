import DocStore
import Synchronization

/// The segments of a large transaction that a session has left before the last one arrived.
struct LeftSegments: Sendable {
  let id: StagingID
  /// How many documents the store had erased when the first segment arrived.
  let erasedCount: UInt64
}

/// Tracks the staged segments of large transactions for all sessions of one store.
final class SegmentStage: Sendable {
  private struct State {
    /// Names whose segments are arriving.
    var used: Set<StagingID> = []
    /// Names that ran out of room: their transactions become visible segment by segment.
    var torn: Set<StagingID> = []
    /// Names that a session left before the last segment arrived, and that were not collected since.
    var left: [LeftSegments] = []
    var lastName: UInt64 = 0
  }

  private let state = Mutex(State())

  /// Returns a new name that neither this process nor the store has used.
  ///
  /// - Parameters:
  ///   - random: A random number.
  ///   - erasedCount: How many documents the store has erased.
  ///   - isKept: Whether the store has used a name.
  /// - Returns: The name.
  func makeName(
    _ random: UInt64, erasedCount: UInt64 = 0, isKept: (StagingID) -> Bool
  ) -> SegmentedName {
    let id = state.withLock { state in
      var id: StagingID
      repeat {
        state.lastName &+= 1
        id = StagedSegments.name(random &+ state.lastName)
      } while state.used.contains(id) || state.left.contains { $0.id == id } || isKept(id)
      state.used.insert(id)
      return id
    }
    return SegmentedName(id, erasedCount, of: self)
  }

  /// Records that a transaction is complete.
  func finish(_ id: StagingID) { state.withLock { _ = $0.used.remove(id) } }

  fileprivate func leave(_ id: StagingID, _ erasedCount: UInt64) {
    state.withLock { state in
      state.torn.remove(id)
      guard state.used.remove(id) != nil else { return }
      // The store drops older ones by itself.
      if state.left.count == SyncLimits.leftTransactions { state.left.removeFirst() }
      state.left.append(LeftSegments(id: id, erasedCount: erasedCount))
    }
  }

  /// Adds a name again to those that a session has left, after some of its segments were removed.
  func leaveAgain(_ id: StagingID, _ erasedCount: UInt64) {
    state.withLock { $0.left.append(LeftSegments(id: id, erasedCount: erasedCount)) }
  }

  /// Removes and returns the names left unfinished since the previous call.
  func removeLeft() -> [LeftSegments] {
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
  private let erasedCount: UInt64
  private let stage: SegmentStage

  fileprivate init(_ id: StagingID, _ erasedCount: UInt64, of stage: SegmentStage) {
    self.id = id
    self.erasedCount = erasedCount
    self.stage = stage
  }

  deinit { stage.leave(id, erasedCount) }
}
