import CRDTCore
import Dispatch
import DocStore
import QueryEngine
import Synchronization

/// Brings commits to the observations of one database, off the writer's thread.
///
/// Of all queries only those are asked that an index of their predicates finds; a commit that concerns none
/// costs the writer a look into that index, however many there are. When commits come faster than they are taken, they are dropped and the queries are run
/// again: memory stays bounded, and what an observer gets is exact all the same.
final class ObserverHub: Sendable {
  /// A query that is observed.
  private struct Query {
    let shared: SharedLiveQuery
    let identity: LiveQuery.Identity
    let isPolled: Bool
    var observations: Set<UInt64> = []
  }

  private struct State {
    var listener: CommitListener?
    var observations: [UInt64: (observation: QueryObservation, query: UInt64)] = [:]
    var queries: [UInt64: Query] = [:]
    /// The query that observers of an equal one join.
    var queryByIdentity: [LiveQuery.Identity: UInt64] = [:]
    var nextID: UInt64 = 1
    var backlog = CommitBacklog()
    /// Whether the next look at what changes without commits is scheduled.
    var isPolling = false
    var isClosed = false
    /// Takes an observation away from the query that it shows.
    ///
    /// - Returns: The query, if nobody observes it any more: it is forgotten, too.
    mutating func forget(_ id: UInt64) -> UInt64? {
      guard let query = observations.removeValue(forKey: id)?.query else { return nil }
      queries[query]?.observations.remove(id)
      guard let entry = queries[query], entry.observations.isEmpty else { return nil }
      queries[query] = nil
      if queryByIdentity[entry.identity] == query { queryByIdentity[entry.identity] = nil }
      return query
    }
  }

  /// Commits that change no more documents are looked at by the writer itself: that costs less than to wake
  /// another thread for a commit that concerns nobody.
  private static let promptChanges = 16

  /// How long what changes without commits may go unseen.
  private static let pollInterval = DispatchTimeInterval.milliseconds(500)

  private let engine: Engine
  private let reporter: Reporter
  private let state = Mutex(State())
  /// Finds the queries that a commit concerns; apart from the state, which is never locked inside of it.
  private let index = Mutex(ObserverIndex())
  /// Threads that bring the observations up to date, one at a time, and then call handlers.
  private let queue: DispatchQueue
  /// Where handlers are called that have no queue of their own.
  private let lane: CallbackLane

  init(engine: Engine, reporter: Reporter) {
    self.engine = engine
    self.reporter = reporter
    queue = DispatchQueue(label: "dunlin.observers", attributes: .concurrent)
    lane = CallbackLane(threads: queue)
  }

  /// Observes a query and calls `handler` with its result as of now and each change, one call at a time.
  ///
  /// - Throws: What is wrong with the query; `closed`.
  func observe(
    _ statement: Statement, _ arguments: [TextKey: Value], on queue: DispatchQueue?,
    _ handler: @escaping QueryObservation.Handler
  ) throws -> QueryObservation {
    try observe(
      statement, arguments,
      .handler(handler) { [lane] call in
        if let queue { queue.async(execute: call) } else { lane.submit(call) }
      })
  }

  /// Observes a query, from its result as of now on, for somebody who asks for each change.
  ///
  /// - Throws: What is wrong with the query; `closed`.
  func observe(_ statement: Statement, _ arguments: [TextKey: Value]) throws -> QueryObservation {
    try observe(statement, arguments, .iterator)
  }

  private func observe(
    _ statement: Statement, _ arguments: [TextKey: Value], _ sink: QueryObservation.Sink
  ) throws -> QueryObservation {
    let live = try translatingErrors { try LiveQuery(statement, arguments: arguments) }
    let observation = QueryObservation(sink: sink, reporter: reporter)
    do {
      try add(observation, live)
    } catch {
      observation.cancel()
      throw DunlinError.translating(error)
    }
    return observation
  }

  // MARK: - Observers come and go

  private func add(_ observation: QueryObservation, _ live: LiveQuery) throws {
    let id = state.withLock { state in
      defer { state.nextID += 1 }
      return state.nextID
    }
    observation.onCancel { [weak self] in self?.remove(id) }
    if let shared = enter(id, observation, { $0.queryByIdentity[live.identity] }) {
      let sequence = try engine.store.read { $0.sequence }
      if shared.join(id, observation, from: sequence, applied: state.withLock { $0.backlog.applied }) {
        return
      }
    }
    // No query like it is there, or it has yet to catch up with what the caller may have written.
    guard let shared = enter(id, observation, { register(live, &$0) }) else {
      throw DunlinError(.closed, "the database is closed")
    }
    try shared.start(id, observation, engine)
  }

  /// Lets an observation show a query, and no other any more.
  ///
  /// - Returns: `nil` when there is no such query, or the database is closed.
  private func enter(
    _ id: UInt64, _ observation: QueryObservation, _ choose: (inout State) -> UInt64?
  ) -> SharedLiveQuery? {
    let (shared, abandoned) = state.withLock { state -> (SharedLiveQuery?, UInt64?) in
      guard !state.isClosed, let query = choose(&state) else { return (nil, nil) }
      let abandoned = state.forget(id)
      state.observations[id] = (observation, query)
      state.queries[query]?.observations.insert(id)
      if state.listener == nil {
        // What a session has to say of a commit can wait for what is on the screen.
        state.listener = engine.store.onCommitFirst { [weak self] in self?.take($0) }
      }
      return (state.queries[query]?.shared, abandoned)
    }
    if let abandoned { index.withLock { $0.remove(abandoned) } }
    return shared
  }

  private func register(_ live: LiveQuery, _ state: inout State) -> UInt64 {
    let id = state.nextID
    state.nextID += 1
    state.queries[id] = Query(shared: SharedLiveQuery(live), identity: live.identity, isPolled: live.isPolled)
    state.queryByIdentity[live.identity] = id
    if live.isPolled { schedulePoll(&state) }
    index.withLock { index in
      for dependency in live.dependencies {
        index.insert(id, collection: dependency.collection, predicate: dependency.filter)
      }
    }
    return id
  }

  private func remove(_ id: UInt64) {
    let (shared, abandoned, listener) = state.withLock {
      state -> (SharedLiveQuery?, UInt64?, CommitListener?) in
      let query = state.observations[id]?.query
      let shared = query.flatMap { state.queries[$0]?.shared }
      let abandoned = state.forget(id)
      guard state.observations.isEmpty else { return (shared, abandoned, nil) }
      // Without a listener the store need not keep what commits looked like before.
      defer { state.listener = nil }
      return (shared, abandoned, state.listener)
    }
    shared?.leave(id)
    if let abandoned { index.withLock { $0.remove(abandoned) } }
    withExtendedLifetime(listener) {}
  }

  /// Ends all observations.
  func close() {
    let (observations, listener) = state.withLock { state in
      state.isClosed = true
      state.backlog.forget()
      let observations = state.observations.values.map(\.observation)
      let listener = state.listener
      state.listener = nil
      return (observations, listener)
    }
    listener?.cancel()
    for observation in observations { observation.cancel() }
  }

  // MARK: - Commits

  /// Takes a commit over from the writer, if it concerns anybody.
  ///
  /// A query that is registered only after the index was asked reads a snapshot that has the commit.
  private func take(_ commit: Commit) {
    let concerned =
      commit.changes.count <= Self.promptChanges ? index.withLock { $0.affected(by: commit) } : nil
    let mustSchedule = state.withLock { state in
      !state.isClosed && state.backlog.append(commit, concerned: concerned)
    }
    if mustSchedule { queue.async { [weak self] in self?.work() } }
  }

  /// Brings the observations up to date with all that waits.
  ///
  /// One thread at a time is at it, since no other is sent before the backlog is empty. It goes on to call the
  /// handlers that it has found something for, while the next commits may have another thread.
  private func work() {
    lane.enter()
    defer { lane.leave() }
    var isFirst = true
    while let batch = state.withLock({ $0.backlog.next() }) {
      // Handlers need not wait until commits stop coming.
      if !isFirst { lane.spill() }
      isFirst = false
      if batch.isOverflowing {
        for query in state.withLock({ Array($0.queries.values) }) { query.shared.restart(engine) }
      }
      for entry in batch.entries {
        let concerned = entry.concerned ?? index.withLock { $0.affected(by: entry.commit) }
        let queries = state.withLock { state in concerned.compactMap { state.queries[$0]?.shared } }
        for query in queries { query.apply(entry.commit) }
      }
      state.withLock { $0.backlog.finish(batch) }
    }
  }

  // MARK: - What changes without commits

  private func schedulePoll(_ state: inout State) {
    guard !state.isPolling else { return }
    state.isPolling = true
    queue.asyncAfter(deadline: .now() + Self.pollInterval) { [weak self] in self?.poll() }
  }

  private func poll() {
    let queries = state.withLock { state in
      state.isPolling = false
      let queries = state.isClosed ? [] : state.queries.values.filter(\.isPolled).map(\.shared)
      if !queries.isEmpty { schedulePoll(&state) }
      return queries
    }
    for query in queries { query.refresh() }
  }
}
