#if Server
  import DocStore
  import Synchronization

  /// Whether an application's store is the one that this server has served, or a copy of it that was restored.
  ///
  /// A copy keeps quiet: it delivers nothing to webhooks, and takes no API key that came with it, until whoever runs the server
  /// says that it takes the place of the original. A side table names the site for which the store was served last. A store that
  /// is opened as a copy has another site.
  package final class StoreOrigin: Sendable {
    private static let table = SideTable("bigpeer.origin")
    private static let siteKey = Array("site".utf8)
    /// What stands there where a copy was found by a server that had not noted any site yet.
    private static let unknown = Array("unknown".utf8)

    private let store: Store
    private let restored: Atomic<Bool>
    private let listener = Mutex<CommitListener?>(nil)

    /// Looks at a store, and notes its site where it is served for the first time.
    ///
    /// - Throws: `StoreError`.
    init(_ store: Store) throws {
      self.store = store
      let noted = try store.read { try $0.sideValue(Self.table, key: Self.siteKey) }
      let own = Self.name(store)
      let change = store.identityChange
      var isRestored = false
      if let noted {
        // Another key or a clone that was met while it ran gave it another site: it is no copy because of that.
        let isRenamed =
          [.key, .cloned].contains(change?.reason)
          && change.map { noted == Array($0.previousSite.description.utf8) } == true
        isRestored = noted != own && !isRenamed
      } else {
        // Nobody has noted a site in a store of before this table. A copy is known to be one at its first start alone.
        isRestored = change.map { ![.key, .cloned].contains($0.reason) } ?? false
      }
      restored = Atomic(isRestored)
      let due = isRestored ? noted ?? Self.unknown : own
      if noted != due { try note(due) }
      // The store takes a new site while it runs where its clock is put right, or a peer has met a copy.
      let registration = store.onSiteChange { [weak self] _ in
        Task { [weak self] in try? await self?.noteSite() }
      }
      listener.withLock { $0 = registration }
    }

    /// Notes the site that the store has now, unless it is a copy that keeps quiet.
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

    /// Whether it is a copy that keeps quiet.
    package var isRestored: Bool { restored.load(ordering: .acquiring) }

    /// What names the store as it is now: a key that is made in a copy works there at once.
    var site: String { store.site.description }

    /// Whether a key may be used: one that came with a copy may not.
    func accepts(_ key: APIKey) -> Bool { !isRestored || key.site == site }

    /// Has a copy take the place of the original; that is durable when this returns.
    ///
    /// - Returns: `false` where it was none.
    /// - Throws: `StoreError`; then it goes on as a copy.
    func resume() async throws -> Bool {
      guard isRestored else { return false }
      try await store.write { [store] in
        try $0.setSideValue(Self.name(store), Self.table, key: Self.siteKey)
      }
      return restored.exchange(false, ordering: .acquiringAndReleasing)
    }

    /// Has the store in a directory, which is not open, count as the original.
    ///
    /// - Throws: `StoreError`.
    static func claim(_ path: String) throws {
      let store = try Store.open(at: path)
      defer { store.close() }
      try store.write { try $0.setSideValue(name(store), table, key: siteKey) }
    }

    /// How a problem and a log line say it.
    static let sentence =
      "restored: the store is a copy that was put back, and webhooks and the API keys that came with it are paused until bigpeer resume"
  }
#endif
