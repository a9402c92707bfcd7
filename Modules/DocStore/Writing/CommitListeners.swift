/// A registration for commits; it ends when it is cancelled or let go of.
public final class CommitListener: Sendable {
  private let id: UInt64
  private let listeners: CommitListeners

  init(id: UInt64, listeners: CommitListeners) {
    self.id = id
    self.listeners = listeners
  }

  deinit { cancel() }

  /// Ends the registration; a call that is under way on the writer thread still ends by itself.
  public func cancel() { listeners.remove(id) }
}

/// Who is told of commits.
final class CommitListeners: Sendable {
  typealias Body = @Sendable (Commit) -> Void

  private struct State {
    var nextID: UInt64 = 1
    var bodies: [(id: UInt64, body: Body)] = []
  }

  private let state = Monitor(State())

  var isEmpty: Bool { state.withLock { $0.bodies.isEmpty } }

  func add(_ body: @escaping Body) -> CommitListener {
    let id = state.withLock { state in
      let id = state.nextID
      state.nextID += 1
      state.bodies.append((id, body))
      return id
    }
    return CommitListener(id: id, listeners: self)
  }

  func remove(_ id: UInt64) { state.withLock { $0.bodies.removeAll { $0.id == id } } }

  /// Calls every listener, in the order of registration, without holding the lock.
  func call(_ commits: [Commit]) {
    guard !commits.isEmpty else { return }
    let bodies = state.withLock { $0.bodies }
    for commit in commits {
      for listener in bodies { listener.body(commit) }
    }
  }
}
