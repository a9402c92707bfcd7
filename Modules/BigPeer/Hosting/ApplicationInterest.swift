#if Server
  import DocStore
  import Facade
  import Logging
  import Synchronization

  /// What an application pulls from its devices: what the configuration names, and all collections that exist here.
  final class ApplicationInterest: Sendable {
    private struct State {
      /// The subscriptions, by the collection or the statement that they are for.
      var subscriptions: [String: DunlinSyncSubscription] = [:]
      /// Collections up to this number are subscribed to.
      var collections: Set<UInt32> = []
      var listener: CommitListener?
      var isOver = false
    }

    private let dunlin: Dunlin
    private let configuration: BigPeerConfiguration.Application
    private let logger: Logger
    private let state = Mutex(State())

    init(_ dunlin: Dunlin, _ configuration: BigPeerConfiguration.Application, _ logger: Logger) {
      self.dunlin = dunlin
      self.configuration = configuration
      self.logger = logger
    }

    /// Subscribes, and goes on with each collection that is made.
    ///
    /// - Throws: The codes of subscriptions.
    func begin() throws {
      for text in configuration.subscriptions { try subscribe(text) }
      guard configuration.pullsKnownCollections else { return }
      // Before the first look, so that no collection comes in between.
      let listener = dunlin.store.database.onCommit { [weak self] commit in self?.record(commit) }
      state.withLock { $0.listener = listener }
      try subscribeToKnownCollections()
    }

    private func record(_ commit: Commit) {
      let isNew = state.withLock { state in
        var isNew = false
        for change in commit.changes where state.collections.insert(change.key.collection).inserted {
          isNew = true
        }
        return isNew && !state.isOver
      }
      guard isNew else { return }
      // Not on the thread that commits, which must not wait.
      Task { [weak self] in
        do {
          try self?.subscribeToKnownCollections()
        } catch {
          self?.logger.error("A new collection is not pulled from devices: \(error)")
        }
      }
    }

    private func subscribeToKnownCollections() throws {
      for name in try dunlin.store.collectionNames() where !name.hasPrefix("__") { try subscribe(name) }
    }

    /// Subscribes to a collection, or to the result of a statement.
    func subscribe(_ text: String) throws {
      let isKnown = state.withLock { $0.isOver || $0.subscriptions[text] != nil }
      guard !isKnown else { return }
      let isStatement = text.contains(" ")
      let statement = isStatement ? text : "SELECT * FROM `\(text.replacing("`", with: "``"))`"
      let subscription = try dunlin.sync.registerSubscription(query: statement)
      let isLate = state.withLock { state in
        guard !state.isOver, state.subscriptions[text] == nil else { return true }
        state.subscriptions[text] = subscription
        return false
      }
      if isLate { subscription.cancel() }
    }

    /// Ends all subscriptions.
    func end() {
      let (subscriptions, listener) = state.withLock { state in
        state.isOver = true
        let all = Array(state.subscriptions.values)
        state.subscriptions = [:]
        let listener = state.listener
        state.listener = nil
        return (all, listener)
      }
      listener?.cancel()
      for subscription in subscriptions { subscription.cancel() }
    }
  }
#endif
