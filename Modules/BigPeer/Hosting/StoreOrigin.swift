#if Server
  import DocStore
  import Synchronization

  /// Whether an application's store is the one that this server has served, or a restored copy of it.
  ///
  /// A copy delivers nothing to webhooks, and accepts no API key that came with it, until an administrator
  /// confirms that it takes the place of the original. A side table names the site under which the store was
  /// served last. A store that is opened as a copy has another site.
  package final class StoreOrigin: Sendable {
    private static let table = SideTable("bigpeer.origin")
    private static let siteKey = Array("site".utf8)
    /// The stored value if a copy was found by a server that had not yet recorded any site.
    private static let unknown = Array("unknown".utf8)

    private let store: Store
    private let restored: Atomic<Bool>
    private let listener = Mutex<CommitListener?>(nil)

    /// Examines a store, and records its site if it is served for the first time.
    ///
    /// - Throws: `StoreError`.
    init(_ store: Store) throws {
      self.store = store
      let noted = try store.read { try $0.sideValue(Self.table, key: Self.siteKey) }
      let own = Self.name(store)
      let change = store.identityChange
      var isRestored = false
      if let noted {
        // Another key, or a clone that was detected while it ran, also gives it another site: that alone
        // makes it no copy.
        let isRenamed =
          [.key, .cloned].contains(change?.reason)
          && change.map { noted == Array($0.previousSite.description.utf8) } == true
        isRestored = noted != own && !isRenamed
      } else {
        // A store from before this table has no recorded site. A copy of it is recognised only at its first
        // start.
        isRestored = change.map { ![.key, .cloned].contains($0.reason) } ?? false
      }
      restored = Atomic(isRestored)
      let due = isRestored ? noted ?? Self.unknown : own
      if noted != due { try note(due) }
      // The store gets a new site while it runs if its clock is corrected, or if a peer has detected a copy.
      let registration = store.onSiteChange { [weak self] _ in
        Task { [weak self] in try? await self?.noteSite() }
      }
      listener.withLock { $0 = registration }
    }

    /// Records the current site of the store, unless the store is a restored copy.
    ///
    /// - Throws: `StoreError`.
    func noteSite() async throws {
      guard !isRestored else { return }
      try await store.write { [store] in
        let own = Self.name(store)
        guard try $0.sideValue(Self.table, key: Self.siteKey) != own else { return }
        try $0.setSideValue(own, Self.table, key: Self.siteKey)
      }
    }

    private static func name(_ store: Store) -> [UInt8] { Array(store.site.description.utf8) }

    private func note(_ name: [UInt8]) throws {
      try store.write { try $0.setSideValue(name, Self.table, key: Self.siteKey) }
    }

    /// Whether it is a restored copy that has not been confirmed.
    package var isRestored: Bool { restored.load(ordering: .acquiring) }

    /// The current site of the store: a key that is made in a copy works there at once.
    var site: String { store.site.description }

    /// Whether a key may be used: a key that came with a copy may not.
    func accepts(_ key: APIKey) -> Bool { !isRestored || key.site == site }

    /// Makes a copy take the place of the original; that is durable when this returns.
    ///
    /// - Returns: `false` if the store was no copy.
    /// - Throws: `StoreError`; then it stays a copy.
    func resume() async throws -> Bool {
      guard isRestored else { return false }
      try await store.write { [store] in
        try $0.setSideValue(Self.name(store), Self.table, key: Self.siteKey)
      }
      return restored.exchange(false, ordering: .acquiringAndReleasing)
    }

    /// Marks the store in a directory as the original; the store must not be open.
    ///
    /// - Throws: `StoreError`.
    static func claim(_ path: String) throws {
      let store = try Store.open(at: path)
      defer { store.close() }
      try store.write { try $0.setSideValue(name(store), table, key: siteKey) }
    }

    /// The text of problems and log lines.
    static let sentence =
      "restored: the store is a copy that was put back, and webhooks and the API keys that came with it are paused until bigpeer resume"
  }
#endif
