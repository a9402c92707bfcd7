import CRDTCore
import Dispatch
import DocStore
import QueryEngine
import Synchronization

/// Brings commits to the observations of one database, off the writer's thread.
///
/// The writer only hands commits over. When they come faster than observations take them, they are dropped and
/// the queries are run again: memory stays bounded, and what an observer gets is exact all the same.
final class ObserverHub: Sendable {
  private struct State {
    var listener: CommitListener?
    var observations: [UInt64: Observation] = [:]
    var idsByCollection: [String: Set<UInt64>] = [:]
    var nextID: UInt64 = 1
    var backlog: [Commit] = []
    var backlogChanges = 0
    var isOverflowing = false
    var isScheduled = false
    var isClosed = false
  }

  /// Documents changed by commits that wait; beyond this the queries are run again instead.
  private static let backlogLimit = 50_000

  private let store: Store
  private let reporter: Reporter
  private let state = Mutex(State())
  /// Brings the observations up to date.
  private let queue = DispatchQueue(label: "dunlin.observers")
  /// Where handlers are called that have no queue of their own.
  private let callbackQueue = DispatchQueue(label: "dunlin.callbacks")

  init(store: Store, reporter: Reporter) {
    self.store = store
    self.reporter = reporter
  }

  /// Observes a query and calls `handler` with its result as of now and each change, one call at a time.
  ///
  /// - Throws: What is wrong with the query; `closed`.
  func observe(
    _ select: Select, _ arguments: [String: Value], on queue: DispatchQueue?,
    _ handler: @escaping Observation.Handler
  ) throws -> Observation {
    let live = try translatingErrors { try LiveQuery(select, arguments: arguments) }
    let observation = Observation(live, sink: .handler(handler, queue ?? callbackQueue), reporter: reporter)
    try add(observation, to: select.collection)
    return observation
  }

  /// Observes a query, from its result as of now on, for somebody who asks for each change.
  ///
  /// - Throws: What is wrong with the query; `closed`.
  func observe(_ select: Select, _ arguments: [String: Value]) throws -> Observation {
    let live = try translatingErrors { try LiveQuery(select, arguments: arguments) }
    let observation = Observation(live, sink: .iterator, reporter: reporter)
    try add(observation, to: select.collection)
    return observation
  }

  private func add(_ observation: Observation, to collection: String) throws {
    let isClosed = state.withLock { state in
      guard !state.isClosed else { return true }
      let id = state.nextID
      state.nextID += 1
      state.observations[id] = observation
      state.idsByCollection[collection, default: []].insert(id)
      if state.listener == nil { state.listener = store.onCommit { [weak self] in self?.take($0) } }
      observation.onCancel { [weak self] in self?.remove(id, collection) }
      return false
    }
    guard !isClosed else { throw DunlinError(.closed, "the database is closed") }
    do {
      try observation.start(store)
    } catch {
      observation.cancel()
      throw DunlinError.translating(error)
    }
  }

  private func remove(_ id: UInt64, _ collection: String) {
    let listener = state.withLock { state -> CommitListener? in
      state.observations[id] = nil
      state.idsByCollection[collection]?.remove(id)
      if state.idsByCollection[collection]?.isEmpty == true { state.idsByCollection[collection] = nil }
      guard state.observations.isEmpty else { return nil }
      // Without a listener the store need not keep what commits looked like before.
      defer { state.listener = nil }
      return state.listener
    }
    withExtendedLifetime(listener) {}
  }

  /// Ends all observations.
  func close() {
    let (observations, listener) = state.withLock { state in
      state.isClosed = true
      state.backlog = []
      let observations = Array(state.observations.values)
      let listener = state.listener
      state.listener = nil
      return (observations, listener)
    }
    listener?.cancel()
    for observation in observations { observation.cancel() }
  }

  /// Takes a commit over from the writer.
  private func take(_ commit: Commit) {
    let mustSchedule = state.withLock { state in
      guard !state.isClosed else { return false }
      state.backlog.append(commit)
      state.backlogChanges += commit.changes.count
      if state.backlogChanges > Self.backlogLimit, state.backlog.count > 1 {
        state.backlog = []
        state.backlogChanges = 0
        state.isOverflowing = true
      }
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if mustSchedule { queue.async { [weak self] in self?.work() } }
  }

  /// Brings the observations up to date with all that waits.
  private func work() {
    while let (commits, isOverflowing) = next() {
      if isOverflowing {
        for observation in state.withLock({ Array($0.observations.values) }) { observation.restart(store) }
      }
      for commit in commits {
        let collections = Set(commit.changes.map(\.collection.name))
        let observations = state.withLock { state in
          collections.flatMap { state.idsByCollection[$0] ?? [] }.compactMap { state.observations[$0] }
        }
        for observation in observations { observation.apply(commit) }
      }
    }
  }

  private func next() -> (commits: [Commit], isOverflowing: Bool)? {
    state.withLock { state in
      guard !state.backlog.isEmpty || state.isOverflowing else {
        state.isScheduled = false
        return nil
      }
      defer {
        state.backlog = []
        state.backlogChanges = 0
        state.isOverflowing = false
      }
      return (state.backlog, state.isOverflowing)
    }
  }
}
