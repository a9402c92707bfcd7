#if Server
  import DocStore
  import Facade

  /// Where webhooks and how far they have got are kept.
  enum WebhookTables {
    static let webhooks = SideTable("feed.webhooks")
    static let positions = SideTable("feed.positions")

    static func key(_ id: String) -> [UInt8] { Array(id.utf8) }

    /// All that are stored, with how far they have got.
    static func all(_ store: DunlinStore) throws -> [(webhook: Webhook, progress: WebhookProgress?)] {
      try store.read { transaction in
        var found: [Webhook] = []
        try transaction.forEachSideEntry(webhooks) { _, value in
          if let webhook = Webhook(value) { found.append(webhook) }
          return true
        }
        return try found.map { webhook in
          let stored = try transaction.sideValue(positions, key: key(webhook.id))
          return (webhook, stored.flatMap { WebhookProgress($0) })
        }
      }
    }

    static func add(_ webhook: Webhook, _ progress: WebhookProgress, to store: DunlinStore) async throws {
      try await store.write { transaction in
        try transaction.setSideValue(webhook.encoded, webhooks, key: key(webhook.id))
        try transaction.setSideValue(progress.encoded, positions, key: key(webhook.id))
      }
    }

    static func remove(_ id: String, from store: DunlinStore) async throws {
      try await store.write { transaction in
        try transaction.setSideValue(nil, webhooks, key: key(id))
        try transaction.setSideValue(nil, positions, key: key(id))
      }
    }

    /// Keeps how far a webhook has got, unless it was removed.
    static func put(_ progress: WebhookProgress, of id: String, to store: DunlinStore) async throws {
      try await store.write { transaction in
        guard try transaction.sideValue(webhooks, key: key(id)) != nil else { return }
        try transaction.setSideValue(progress.encoded, positions, key: key(id))
      }
    }
  }
#endif
