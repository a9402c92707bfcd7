import DocStore
import Synchronization

/// What the sessions of one store have put aside of large groups.
final class ComponentStage: Sendable {
  private struct State {
    /// Which session a name is of.
    var names: [StagingID: UInt64] = [:]
    /// Those for which there was no room: they become visible part by part.
    var torn: Set<StagingID> = []
  }

  private let state = Mutex(State())

  /// A new name, in use for as long as the session.
  func makeName(for session: UInt64, _ random: UInt64) -> StagingID {
    state.withLock { state in
      var low = random
      while state.names[StagedComponent.name(low)] != nil { low &+= 1 }
      state.names = state.names.filter { $0.value != session }
      state.names[StagedComponent.name(low)] = session
      return StagedComponent.name(low)
    }
  }

  func leave(_ session: UInt64) {
    state.withLock { state in
      state.names = state.names.filter { $0.value != session }
      state.torn = state.torn.filter { state.names[$0] != nil }
    }
  }

  func isUsed(_ id: StagingID) -> Bool { state.withLock { $0.names[id] != nil } }

  func isTorn(_ id: StagingID) -> Bool { state.withLock { $0.torn.contains(id) } }

  func noteTorn(_ id: StagingID) { state.withLock { _ = $0.torn.insert(id) } }
}
