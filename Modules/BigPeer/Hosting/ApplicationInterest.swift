#if Server
  import CRDTCore
  import DocStore
  import Facade
  import Logging
  import QueryEngine
  import SyncProtocol
  import Synchronization
  import Transports

  /// What an application pulls from its devices.
  ///
  /// It pulls what the configuration names, all collections that exist here, and those that devices subscribe
  /// to now. The number of subscriptions of a peer is limited, so collections beyond the limit are not
  /// pulled. Their number is reported.
  final class ApplicationInterest: Sendable {
    /// The collections that a device subscribed to at the last check.
    private struct Wish {
      let mark: UInt64
      let names: [String]
    }

    private struct State {
      /// The subscriptions, by their collection or statement.
      var subscriptions: [String: DunlinSyncSubscription] = [:]
      /// Collections that are pulled only because devices subscribe to them.
      var fromDevices: Set<String> = []
      /// Collections that should be pulled and are not.
      var missing: Set<String> = []
      /// The numbers of the collections that are subscribed to.
      var collections: Set<UInt32> = []
      var listener: CommitListener?
      /// The task that follows the subscriptions of devices.
      var following: Task<Void, Never>?
      var hasToldLimit = false
      var isOver = false
    }

    /// The maximum number of collections that are pulled because devices subscribe to them.
    private static let deviceLimit = 200
    /// The maximum number of such collections of one device.
    private static let limitByDevice = 32
    /// How often the subscriptions of devices are checked.
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

    /// The number of collections that should be pulled from devices and are not.
    var missingCount: Int { state.withLock { $0.missing.count } }

    /// Subscribes, and continues to do so for each new collection.
    ///
    /// - Throws: The codes of subscriptions that the configuration names; `StoreError`.
    func begin() throws {
      for text in configuration.subscriptions { try subscribe(text, Self.statement(text)) }
      guard configuration.pullsKnownCollections else { return }
      // Before the first check, so that no collection is missed in between.
      let listener = dunlin.parts.store.onCommit { [weak self] commit in self?.record(commit) }
      state.withLock { $0.listener = listener }
      try subscribeToKnownCollections()
      let following = Task { [weak self, dunlin] in
        var wishes: [UInt64: Wish] = [:]
        for await _ in dunlin.parts.network.statusCalls() {
          guard let self, !Task.isCancelled else { return }
          follow(&wishes)
          try? await Task.sleep(for: Self.pace)
        }
      }
      state.withLock { $0.following = following }
    }

    // MARK: - Devices

    /// Subscribes to what connected devices subscribe to, and ends subscriptions that no device needs now.
    ///
    /// - Parameter wishes: The subscriptions of devices at the last check, by session.
    private func follow(_ wishes: inout [UInt64: Wish]) {
      var now: [UInt64: Wish] = [:]
      for standing in dunlin.parts.network.standings
      where standing.isConnected && standing.delivery.isInterestKnown {
        let (id, mark) = (standing.connection.id, standing.delivery.interestMark)
        if let known = wishes[id], known.mark == mark {
          now[id] = known
        } else {
          now[id] = Wish(mark: mark, names: names(of: standing))
        }
      }
      wishes = now
      let wanted = Set(now.values.flatMap(\.names))
      do {
        // A collection that exists by now is pulled for that reason.
        let existing = Set(try dunlin.store.collectionNames())
        drop { !wanted.contains($0) && !existing.contains($0) }
        state.withLock { $0.fromDevices.subtract(existing) }
      } catch {
        logger.warning("What is pulled for devices cannot be looked at: \(error)")
      }
      for name in wanted.sorted() {
        let isFull = state.withLock { $0.fromDevices.count >= Self.deviceLimit }
        pull(name, isFull: isFull) { $0.fromDevices.insert(name) }
      }
    }

    private func names(of standing: PeerSyncState) -> [String] {
      let names = Set(standing.delivery.queries.map(\.collection)).sorted()
      if names.count > Self.limitByDevice {
        logger.warning(
          "A device subscribes to \(names.count) collections, of which \(Self.limitByDevice) are pulled for it",
          metadata: ["device": "\(standing.peer.site)"])
      }
      return Array(names.prefix(Self.limitByDevice))
    }

    /// Ends subscriptions that existed only for devices.
    ///
    /// It also forgets missing collections that no device requests.
    private func drop(where isOver: (String) -> Bool) {
      let ended = state.withLock { state in
        state.missing = state.missing.filter { !isOver($0) }
        let names = state.fromDevices.filter(isOver)
        state.fromDevices.subtract(names)
        return names.compactMap { state.subscriptions.removeValue(forKey: $0) }
      }
      for subscription in ended { subscription.cancel() }
    }

    // MARK: - Collections that exist

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
      for name in try dunlin.store.collectionNames() where !name.hasPrefix("__") { pull(name) }
    }

    // MARK: - Subscriptions

    /// Subscribes to a whole collection if there is room; the lack of room is logged once.
    private func pull(
      _ name: String, isFull: Bool = false, _ done: (inout State) -> Void = { _ in }
    ) {
      let (mayTry, isFirst) = state.withLock { state -> (Bool, Bool) in
        guard !state.isOver, state.subscriptions[name] == nil else { return (false, false) }
        guard isFull || state.subscriptions.count >= Limits.subscriptionsPerPeer else { return (true, false) }
        state.missing.insert(name)
        defer { state.hasToldLimit = true }
        return (false, !state.hasToldLimit)
      }
      if isFirst {
        logger.error(
          """
          Not all collections are pulled from devices: a peer has at most \(Limits.subscriptionsPerPeer) subscriptions, \
          \(Self.deviceLimit) of them for what only devices name
          """)
      }
      guard mayTry else { return }
      do {
        try subscribe(name, "SELECT * FROM `\(name.replacing("`", with: "``"))`")
        state.withLock { state in
          state.missing.remove(name)
          done(&state)
        }
      } catch {
        guard state.withLock({ $0.missing.insert(name).inserted }) else { return }
        logger.warning("A collection is not pulled from devices: \(error)")
      }
    }

    /// The statement of a setting, which is either a statement or the name of a collection.
    static func statement(_ setting: String) -> String {
      setting.contains(" ") ? setting : "SELECT * FROM `\(setting.replacing("`", with: "``"))`"
    }

    /// Subscribes to a statement, under a name that is used only once.
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
