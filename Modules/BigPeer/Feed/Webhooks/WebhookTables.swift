#if Server
  import DocStore
  import Facade

  /// The side tables that store webhooks and their progress.
  enum WebhookTables {
    static let webhooks = SideTable("feed.webhooks")
    static let positions = SideTable("feed.positions")

    static func key(_ id: String) -> [UInt8] { Array(id.utf8) }

    /// All stored webhooks, with their progress; damaged entries are left out.
    ///
    /// - Parameters:
    ///   - store: The store with the tables.
    ///   - report: Gets a line about each entry that is left out.
    /// - Returns: The webhooks; the progress is `nil` if the position is lost.
    /// - Throws: What reading the store throws.
    static func all(
      _ store: Store, report: @escaping (String) -> Void
    ) throws -> [(webhook: Webhook, progress: WebhookProgress?)] {
      try translatingErrors {
        try store.read { transaction in
          let progress = try entries(positions, "The position", transaction, report)
          return try entries(webhooks, "The registration", transaction, report).sorted { $0.key < $1.key }
            .compactMap { id, value in
              Webhook(value).map { ($0, progress[id].flatMap { WebhookProgress($0) }) }
            }
        }
      }
    }

    private static func entries(
      _ table: SideTable, _ what: String, _ transaction: borrowing ReadTransaction,
      _ report: @escaping (String) -> Void
    ) throws -> [String: [UInt8]] {
      var found: [String: [UInt8]] = [:]
      func damaged(_ key: [UInt8]) {
        report("\(what) of the webhook \(String(decoding: key, as: UTF8.self)) is damaged")
      }
      try transaction.forEachSideEntry(table, damaged: damaged) { key, value in
        found[String(decoding: key, as: UTF8.self)] = value
        return true
      }
      return found
    }

    static func add(
      _ webhook: Webhook, _ progress: WebhookProgress, to store: Store,
      alongside: @escaping @Sendable (WriteTransaction) throws -> Void
    ) async throws {
      _ = try await store.write { transaction in
        try alongside(transaction)
        try transaction.setSideValue(webhook.encoded, webhooks, key: key(webhook.id))
        try transaction.setSideValue(progress.encoded, positions, key: key(webhook.id))
      }
    }

    /// Stores a webhook that has changed, unless it was removed.
    static func replace(_ webhook: Webhook, in store: Store) async throws {
      _ = try await store.write { transaction in
        guard try transaction.sideValue(webhooks, key: key(webhook.id)) != nil else { return }
        try transaction.setSideValue(webhook.encoded, webhooks, key: key(webhook.id))
      }
    }

    static func remove(_ id: String, from store: Store) async throws {
      _ = try await store.write { transaction in
        try transaction.setSideValue(nil, webhooks, key: key(id))
        try transaction.setSideValue(nil, positions, key: key(id))
      }
    }

    /// Stores the progress that a webhook has when the transaction runs, unless the webhook was removed.
    static func put(
      of id: String, to store: Store, _ progress: @escaping @Sendable () -> WebhookProgress
    ) async throws {
      _ = try await store.write { transaction in
        guard try transaction.sideValue(webhooks, key: key(id)) != nil else { return }
        try transaction.setSideValue(progress().encoded, positions, key: key(id))
      }
    }
  }
#endif
