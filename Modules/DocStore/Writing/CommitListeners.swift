/// A registration for the store's events; it ends when it is cancelled or released.
public final class CommitListener: Sendable {
  private let end: @Sendable () -> Void

  init(_ end: @escaping @Sendable () -> Void) { self.end = end }

  deinit { cancel() }

  /// Ends the registration; a call that is already running on the writer's thread is not interrupted.
  public func cancel() { end() }
}

/// The listeners for commits.
typealias CommitListeners = StoreListeners<Commit>

/// The listeners for one kind of event.
final class StoreListeners<Event: Sendable>: Sendable {
  typealias Body = @Sendable (Event) -> Void

  private struct State {
    var nextID: UInt64 = 1
    var bodies: [(id: UInt64, body: Body)] = []
    /// How many of the listeners are called before the others.
    var aheadCount = 0
  }

  private let state = Monitor(State())

  var isEmpty: Bool { state.withLock { $0.bodies.isEmpty } }

  /// Adds a listener; one that is added `ahead` is called before those that are not.
  func add(ahead: Bool = false, _ body: @escaping Body) -> CommitListener {
    let id = state.withLock { state in
      let id = state.nextID
      state.nextID += 1
      state.bodies.insert((id, body), at: ahead ? state.aheadCount : state.bodies.count)
      if ahead { state.aheadCount += 1 }
      return id
    }
    return CommitListener { self.remove(id) }
  }

  private func remove(_ id: UInt64) {
    state.withLock { state in
      guard let place = state.bodies.firstIndex(where: { $0.id == id }) else { return }
      state.bodies.remove(at: place)
      if place < state.aheadCount { state.aheadCount -= 1 }
    }
  }

  /// Calls every listener without holding the lock: first those ahead, then in the order of registration.
  func call(_ events: [Event]) {
    guard !events.isEmpty else { return }
    let bodies = state.withLock { $0.bodies }
    for event in events {
      for listener in bodies { listener.body(event) }
    }
  }
}
