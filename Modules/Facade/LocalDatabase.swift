import DocStore
import QueryEngine

/// The local part of an open database: its documents, and what executes, reads and observes them.
final class LocalDatabase: Sendable {
  let store: Store
  let engine: Engine
  let reporter: Reporter
  let observers: ObserverHub
  let rowReaders: RowReaders
  /// What the peer pulls from others.
  let subscriptions: SubscriptionRegistry
  /// The types whose documents probably lack an id, as the log has said.
  let unnamedTypes = UnnamedTypes()
  /// How long an asynchronous transaction may be idle.
  let transactionDeadline: Duration

  init(
    engine: Engine, reporter: Reporter, subscriptions: SubscriptionRegistry, transactionDeadline: Duration
  ) {
    store = engine.store
    self.engine = engine
    self.reporter = reporter
    self.subscriptions = subscriptions
    self.transactionDeadline = transactionDeadline
    rowReaders = RowReaders(engine: engine)
    observers = ObserverHub(engine: engine, reporter: reporter)
  }
}
