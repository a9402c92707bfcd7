import CRDTCore
import Dispatch
import DocStore
import Logging
import QueryEngine
import Synchronization
import Transports

/// The subscriptions of one database; the peer pulls their union.
final class SubscriptionRegistry: Sendable {
  private struct Entry {
    let query: SubscriptionQuery
    let onLeave: DunlinLeavePolicy
    weak var subscription: DunlinSubscription?
  }

  private struct State {
    var entries: [UInt64: Entry] = [:]
    var nextID: UInt64 = 1
    var listener: CommitListener?
    var isClosed = false

    /// Each query once, in the order of registration.
    var queries: [SubscriptionQuery] {
      var seen: Set<SubscriptionQuery> = []
      return entries.sorted { $0.key < $1.key }.map(\.value.query).filter { seen.insert($0).inserted }
    }

    /// The queries for which every subscription to them evicts.
    var evicting: Set<SubscriptionQuery> {
      Set(queries).subtracting(entries.values.filter { $0.onLeave == .keep }.map(\.query))
    }
  }

  private let store: Store
  private let reporter: Reporter
  private let apply: @Sendable ([SubscriptionQuery], Set<SubscriptionQuery>) -> Void
  /// Called when a subscription has ended.
  private let ended: @Sendable () -> Void
  private let state = Mutex(State())
  /// Held from a change until it is applied, so that sets of queries are applied in order.
  private let changing = Mutex<Void>(())
  private let queue = DispatchQueue(label: "dunlin.subscriptions")
  /// Called with each query that is registered.
  private let registered = Mutex<(@Sendable (SubscriptionQuery) -> Void)?>(nil)

  init(
    store: Store, reporter: Reporter,
    apply: @escaping @Sendable (_ queries: [SubscriptionQuery], _ evicting: Set<SubscriptionQuery>) -> Void,
    ended: @escaping @Sendable () -> Void = {}
  ) {
    self.ended = ended
    self.store = store
    self.reporter = reporter
    self.apply = apply
  }

  /// Makes the registry of a database whose network pulls the queries.
  convenience init(store: Store, reporter: Reporter, _ network: PeerNetwork) {
    self.init(store: store, reporter: reporter) {
      network.subscribe(to: $0, evicting: $1)
    } ended: {
      network.statusChanged()
    }
  }

  /// The subscriptions that are not cancelled, in the order of registration.
  var active: [DunlinSubscription] {
    state.withLock { $0.entries.sorted { $0.key < $1.key }.compactMap(\.value.subscription) }
  }

  /// The subscribed queries, each once, in the order of registration.
  var queries: [SubscriptionQuery] { state.withLock { $0.queries } }

  /// - Throws: `readOnlyStore` for a database that is only read; `limit` when the maximum number of
  ///   subscriptions that a peer accepts is reached; `closed`.
  func register(
    _ query: SubscriptionQuery, onLeave: DunlinLeavePolicy
  ) throws(DunlinError) -> DunlinSubscription {
    let id = state.withLock { state in
      defer { state.nextID += 1 }
      return state.nextID
    }
    let subscription = DunlinSubscription(
      queryText: query.statement, collectionName: query.collection, onLeave: onLeave
    ) { [weak self] wasLost in self?.end(id, wasLost: wasLost) }
    let failure = change { state -> DunlinError? in
      guard !state.isClosed else { return DunlinError(.closed, "the database is closed") }
      guard !store.isReadOnly else { return DunlinError.readOnlyStore("a subscription pulls documents") }
      let queries = state.queries
      guard queries.count < Limits.subscriptionsPerPeer || queries.contains(query) else {
        return DunlinError(.limit, "a peer has at most \(Limits.subscriptionsPerPeer) subscriptions")
      }
      state.entries[id] = Entry(query: query, onLeave: onLeave, subscription: subscription)
      if state.listener == nil {
        state.listener = store.onCommit { [weak self] in self?.noteEvictions(in: $0) }
      }
      return nil
    }
    if let failure {
      subscription.cancel()
      throw failure
    }
    registered.withLock { $0 }?(query)
    return subscription
  }

  /// Has `body` called with each query that is registered from now on.
  func onRegister(_ body: @escaping @Sendable (SubscriptionQuery) -> Void) {
    registered.withLock { $0 = body }
  }

  private func end(_ id: UInt64, wasLost: Bool) {
    let (entry, listener) = change { state -> (Entry?, CommitListener?) in
      let entry = state.entries.removeValue(forKey: id)
      guard state.entries.isEmpty else { return (entry, nil) }
      defer { state.listener = nil }
      return (entry, state.listener)
    }
    listener?.cancel()
    ended()
    guard wasLost, let entry else { return }
    reporter.logger.warning(
      "The subscription '\(entry.query.statement)' was let go of without cancel(); it is cancelled")
  }

  /// Removes all subscriptions; their handles are then cancelled.
  func close() {
    let (entries, listener) = change { state in
      state.isClosed = true
      let ends = (state.entries, state.listener)
      state.entries = [:]
      state.listener = nil
      return ends
    }
    listener?.cancel()
    for subscription in entries.values.compactMap(\.subscription) { subscription.cancel() }
  }

  private func change<R: Sendable>(_ body: (inout sending State) -> sending R) -> R {
    changing.withLock { _ in
      let (result, change) = state.withLock { state in
        let (before, evictedBefore) = (state.queries, state.evicting)
        let result = body(&state)
        let (after, evicting) = (state.queries, state.evicting)
        return (result, before == after && evictedBefore == evicting ? nil : (after, evicting))
      }
      if let change { apply(change.0, change.1) }
      return result
    }
  }

  // MARK: - Evictions

  /// Runs on the writer's thread, so it moves slow work to a queue.
  private func noteEvictions(in commit: Commit) {
    let evicted = commit.changes.filter { $0.kind == .evict }
    guard !evicted.isEmpty else { return }
    queue.async { [weak self] in self?.warn(of: evicted) }
  }

  private func warn(of evicted: [Change]) {
    for query in state.withLock({ $0.queries }) where evicted.contains(where: { $0.matches(query) }) {
      reporter.logger.warning(
        """
        Evicted documents of the collection '\(query.collection)' match the active subscription \
        '\(query.statement)': they come back. Cancel the subscription before evicting
        """)
    }
  }
}

extension Change {
  /// Whether the document matched before the change.
  fileprivate func matches(_ query: SubscriptionQuery) -> Bool {
    guard query.collection == collection.name, let before else { return false }
    var matcher = query.matcher
    matcher.resolve(collection.keys)
    let id = id
    return before.withView { $0.isAlive && matcher.matches(id.bytes.span.bytes, $0) }
  }
}
