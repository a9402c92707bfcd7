import CRDTCore
import Dispatch
import DocStore
import QueryEngine
import Synchronization

/// Passes commits to the observations of one database, off the writer's thread.
///
/// An index of the queries' predicates finds the queries that a commit may concern. A commit that concerns
/// none costs the writer one look into that index, however many queries there are. When commits come faster
/// than they are processed, the hub drops them and runs the queries again. So memory stays bounded, and
/// observers still get exact results.
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
    /// Whether the next poll of results that change without commits is scheduled.
    var isPolling = false
    var isClosed = false
    /// Removes an observation from its query.
    ///
    /// - Returns: The query, if it has no other observation: it is then removed too.
    mutating func forget(_ id: UInt64) -> UInt64? {
      guard let query = observations.removeValue(forKey: id)?.query else { return nil }
      queries[query]?.observations.remove(id)
      guard let entry = queries[query], entry.observations.isEmpty else { return nil }
      queries[query] = nil
      if queryByIdentity[entry.identity] == query { queryByIdentity[entry.identity] = nil }
      return query
    }
  }

  /// The writer itself checks commits that change at most this many documents.
  ///
  /// For a commit that concerns no query, that costs less than waking another thread.
  private static let promptChanges = 16

  /// How often results that change without commits are polled.
  private static let pollInterval = DispatchTimeInterval.milliseconds(500)

  private let engine: Engine
  private let reporter: Reporter
  private let state = Mutex(State())
  /// Finds the queries that a commit concerns; the state is never locked while this is locked.
  private let index = Mutex(ObserverIndex())
  /// Threads that bring the observations up to date, one at a time, and then call handlers.
  private let queue: DispatchQueue
  /// Calls the handlers that have no queue of their own.
  private let lane: CallbackLane

  init(engine: Engine, reporter: Reporter) {
    self.engine = engine
    self.reporter = reporter
    queue = DispatchQueue(label: "dunlin.observers", attributes: .concurrent)
    lane = CallbackLane(threads: queue)
  }

  /// Observes a query, and calls `handler` with its present result and each change, one call at a time.
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

  /// Observes a query from its present result on, for a caller that asks for each change.
  ///
  /// - Throws: What is wrong with the query; `closed`.
  func observe(_ statement: Statement, _ arguments: [TextKey: Value]) throws -> QueryObservation {
    try observe(statement, arguments, .iterator)
  }

  private func observe(
    _ statement: Statement, _ arguments: [TextKey: Value], _ sink: QueryObservation.Sink
  ) throws -> QueryObservation {
    let live = try translatingErrors { try LiveQuery(statement, arguments: arguments) }
    let observation = QueryObservation(sink: sink, reporter: reporter, .statement(statement))
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
    // No equal query exists, or it does not yet include what the caller may have written.
    guard let shared = enter(id, observation, { register(live, &$0) }) else {
      throw DunlinError(.closed, "the database is closed")
    }
    try shared.start(id, observation, engine)
  }

  /// Connects an observation to a query, in place of an earlier one.
  ///
  /// - Returns: The query; `nil` if there is no such query, or the database is closed.
  private func enter(
    _ id: UInt64, _ observation: QueryObservation, _ choose: (inout State) -> UInt64?
  ) -> SharedLiveQuery? {
    let (shared, abandoned) = state.withLock { state -> (SharedLiveQuery?, UInt64?) in
      guard !state.isClosed, let query = choose(&state) else { return (nil, nil) }
      let abandoned = state.forget(id)
      state.observations[id] = (observation, query)
      state.queries[query]?.observations.insert(id)
      if state.listener == nil {
        // Observers come before sync sessions, since users see what observers show.
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
      // Without a listener the store need not keep the former state of changed documents.
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

  /// Takes a commit over from the writer, if it concerns any query.
  ///
  /// A query that is registered after the index was asked reads a snapshot that includes the commit.
  private func take(_ commit: Commit) {
    let concerned =
      commit.changes.count <= Self.promptChanges ? index.withLock { $0.affected(by: commit) } : nil
    let mustSchedule = state.withLock { state in
      !state.isClosed && state.backlog.append(commit, concerned: concerned)
    }
    if mustSchedule { queue.async { [weak self] in self?.work() } }
  }

  /// Brings the observations up to date with all queued commits.
  ///
  /// One thread at a time does this, since no other is started before the backlog is empty. The thread then
  /// calls the handlers for which it found changes, while another thread may process the next commits.
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
