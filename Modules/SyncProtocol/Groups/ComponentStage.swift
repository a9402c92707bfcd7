import DocStore
import Synchronization

/// What the sessions of one store have put aside of large groups that come in parts.
final class ComponentStage: Sendable {
  private struct State {
    /// Names under which parts come in.
    var used: Set<StagingID> = []
    /// Those for which there was no room: they become visible part by part.
    var torn: Set<StagingID> = []
    /// Those that a session has left before the last part came, and nobody has looked at since.
    var left: [StagingID] = []
    var lastName: UInt64 = 0
  }

  private let state = Mutex(State())

  /// A new name, which this process has not given before, nor found in the store.
  func makeName(_ random: UInt64, isKept: (StagingID) -> Bool) -> ComponentName {
    let id = state.withLock { state in
      var id: StagingID
      repeat {
        state.lastName &+= 1
        id = StagedComponent.name(random &+ state.lastName)
      } while state.used.contains(id) || state.left.contains(id) || isKept(id)
      state.used.insert(id)
      return id
    }
    return ComponentName(id, of: self)
  }

  /// Takes note of a group that is here whole.
  func finish(_ id: StagingID) { state.withLock { _ = $0.used.remove(id) } }

  fileprivate func leave(_ id: StagingID) {
    state.withLock { state in
      state.torn.remove(id)
      guard state.used.remove(id) != nil else { return }
      // Older ones the store forgets by itself.
      if state.left.count == SyncLimits.leftGroups { state.left.removeFirst() }
      state.left.append(id)
    }
  }

  /// What was left since the call before.
  func takeLeft() -> [StagingID] {
    state.withLock { state in
      defer { state.left = [] }
      return state.left
    }
  }

  func isUsed(_ id: StagingID) -> Bool { state.withLock { $0.used.contains(id) } }

  func isTorn(_ id: StagingID) -> Bool { state.withLock { $0.torn.contains(id) } }

  func noteTorn(_ id: StagingID) { state.withLock { _ = $0.torn.insert(id) } }
}

/// Names the parts of one large group in the store, for as long as the session is there or one of them is being stored.
final class ComponentName: Sendable {
  let id: StagingID
  private let stage: ComponentStage

  fileprivate init(_ id: StagingID, of stage: ComponentStage) {
    self.id = id
    self.stage = stage
  }

  deinit { stage.leave(id) }
}
