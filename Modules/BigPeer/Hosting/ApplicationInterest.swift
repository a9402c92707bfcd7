#if Server
  import DocStore
  import Facade
  import Logging
  import QueryEngine
  import SyncProtocol
  import Synchronization
  import Transports

  /// What an application pulls from its devices: what the configuration names, all collections that exist here, and those that
  /// devices subscribe to.
  final class ApplicationInterest: Sendable {
    private struct State {
      /// The subscriptions, by the collection or the statement that they are for.
      var subscriptions: [String: DunlinSyncSubscription] = [:]
      /// Collections up to this number are subscribed to.
      var collections: Set<UInt32> = []
      var listener: CommitListener?
      /// Follows what devices subscribe to.
      var following: Task<Void, Never>?
      /// Collections that are pulled since a device subscribes to them.
      var fromDevices = 0
      var isOver = false
    }

    /// Collections that are pulled because devices subscribe to them; a device could name any number.
    private static let deviceLimit = 200
    /// How often what devices subscribe to is looked at.
    private static let pace = Duration.seconds(1)

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
      for text in configuration.subscriptions {
        if text.contains(" ") { try subscribe(text, text) } else { try subscribe(collection: text) }
      }
      guard configuration.pullsKnownCollections else { return }
      // Before the first look, so that no collection comes in between.
      let listener = dunlin.store.database.onCommit { [weak self] commit in self?.record(commit) }
      state.withLock { $0.listener = listener }
      try subscribeToKnownCollections()
      let following = Task { [weak self, dunlin] in
        var seen: [UInt64: UInt64] = [:]
        for await _ in dunlin.sync.statusCalls {
          guard let self, !Task.isCancelled else { return }
          follow(&seen)
          try? await Task.sleep(for: Self.pace)
        }
      }
      state.withLock { $0.following = following }
    }

    /// Subscribes to what devices subscribe to whose interest was not looked at yet.
    ///
    /// - Parameter seen: The sessions that were looked at, with the number of their queries.
    private func follow(_ seen: inout [UInt64: UInt64]) {
      let standings = dunlin.sync.standings.filter { $0.isConnected && $0.delivery.isInterestKnown }
      var names: Set<String> = []
      var now: [UInt64: UInt64] = [:]
      for standing in standings {
        let mark = standing.delivery.interestMark
        now[standing.connection.id] = mark
        guard seen[standing.connection.id] != mark else { continue }
        names.formUnion(standing.delivery.queries.map(\.collection))
      }
      seen = now
      for name in names.sorted() {
        let mayAdd = state.withLock { state in
          guard state.subscriptions[name] == nil, state.fromDevices < Self.deviceLimit else { return false }
          state.fromDevices += 1
          return true
        }
        guard mayAdd else { continue }
        do {
          try subscribe(collection: name)
        } catch {
          logger.warning("A collection that a device subscribes to is not pulled: \(error)")
        }
      }
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
      for name in try dunlin.store.collectionNames() where !name.hasPrefix("__") {
        try subscribe(collection: name)
      }
    }

    /// Subscribes to a whole collection.
    private func subscribe(collection: String) throws {
      try subscribe(collection, "SELECT * FROM `\(collection.replacing("`", with: "``"))`")
    }

    /// Subscribes to a statement, under a name by which it is there once.
    private func subscribe(_ name: String, _ statement: String) throws {
      let isKnown = state.withLock { $0.isOver || $0.subscriptions[name] != nil }
      guard !isKnown else { return }
      let subscription = try dunlin.sync.registerSubscription(query: statement)
      let isLate = state.withLock { state in
        guard !state.isOver, state.subscriptions[name] == nil else { return true }
        state.subscriptions[name] = subscription
        return false
      }
      if isLate { subscription.cancel() }
    }

    /// Ends all subscriptions.
    func end() {
      let old = state.withLock { state in
        let old = state
        state = State(isOver: true)
        return old
      }
      old.listener?.cancel()
      old.following?.cancel()
      for subscription in old.subscriptions.values { subscription.cancel() }
    }
  }
#endif
