#if Server
  package import CRDTCore
  package import DocStore
  package import DunlinFeed
  package import Facade
  package import Foundation
  package import Logging
  import Synchronization

  /// The webhooks of one application.
  package final class Webhooks: Sendable {
    /// A webhook and its progress.
    package struct Entry: Sendable {
      package let webhook: Webhook
      package let progress: WebhookProgress

      /// The entry as a JSON object, without the secret.
      package var fields: [TextKey: Value] { webhook.fields.merging(progress.fields) { first, _ in first } }
    }

    private let parts: DunlinParts
    private let settings: FeedSettings
    private let logger: Logger
    private let traces: CommitTraces
    private let now: @Sendable () -> Date
    private let state: Mutex<State>

    private struct State {
      var senders: [String: WebhookSender] = [:]
      /// The number of webhooks that are being added to the table.
      var adding = 0
      var isOver = false
      /// Whether deliveries are held because the store is a restored copy.
      var isHeld: Bool
    }

    package init(
      _ parts: DunlinParts, _ settings: FeedSettings, isHeld: Bool = false, logger: Logger,
      traces: CommitTraces = CommitTraces(), now: @escaping @Sendable () -> Date = { Date() }
    ) {
      state = Mutex(State(isHeld: isHeld))
      self.parts = parts
      self.settings = settings
      self.logger = logger
      self.traces = traces
      self.now = now
    }

    // MARK: - Begin and end

    /// Starts the stored webhooks.
    ///
    /// - Throws: What reading the store throws.
    package func start() throws {
      let stored = try WebhookTables.all(parts.store) { [logger] in logger.error("\($0)") }
      for (webhook, progress) in stored {
        // Without a position it is unknown what was delivered, so the receiver is asked to read everything
        // again.
        let progress = progress ?? WebhookProgress(position: .unknown)
        begin(webhook, progress)
      }
    }

    private func begin(_ webhook: Webhook, _ progress: WebhookProgress) {
      let sender = WebhookSender(webhook, progress, parts, settings, traces, logger: logger, now: now)
      let isNew = state.withLock { state in
        guard !state.isOver, state.senders[webhook.id] == nil else { return false }
        state.senders[webhook.id] = sender
        sender.setHeld(state.isHeld)
        return true
      }
      if isNew { sender.start() }
    }

    /// Starts deliveries that were held, each from its position.
    package func release() {
      let all = state.withLock { state in
        state.isHeld = false
        return Array(state.senders.values)
      }
      for sender in all {
        sender.setHeld(false)
        sender.start()
      }
    }

    /// Ends all deliveries; they resume at the next start.
    package func stop() async {
      let all = state.withLock { state in
        state.isOver = true
        defer { state.senders = [:] }
        return Array(state.senders.values)
      }
      await withTaskGroup(of: Void.self) { group in
        for sender in all { group.addTask { await sender.stop() } }
      }
    }

    // MARK: - For the application

    /// The parameters of a registration.
    package struct Request: Sendable {
      package var url: String
      package var statements: [String]
      package var arguments: [TextKey: Value]
      /// `nil` generates one.
      package var secret: String?
      /// The position from which to deliver; `nil` means now.
      package var position: FeedPosition?

      package init(
        url: String, statements: [String], arguments: [TextKey: Value] = [:], secret: String? = nil,
        position: FeedPosition? = nil
      ) {
        (self.url, self.statements, self.arguments) = (url, statements, arguments)
        (self.secret, self.position) = (secret, position)
      }
    }

    /// What becomes another one at a webhook.
    package struct Change: Sendable {
      /// The address; `nil` keeps it.
      package var url: String?
      /// The secret; `nil` keeps it.
      package var secret: String?
      /// How long the former secret signs deliveries, too, in milliseconds.
      package var overlap: UInt64

      package init(url: String? = nil, secret: String? = nil, overlap: UInt64 = 0) {
        (self.url, self.secret, self.overlap) = (url, secret, overlap)
      }
    }

    /// Gives a webhook another address or another secret; it goes on from its position.
    ///
    /// - Parameters:
    ///   - change: What becomes another one.
    ///   - id: The webhook's id.
    /// - Returns: The webhook; `nil` when there is none.
    /// - Throws: `argument`, `limit`, `conflict`; what writing throws. Then nothing changes.
    package func change(_ change: Change, _ id: String) async throws -> Entry? {
      guard let sender = find(id), try await sender.change(change) else { return nil }
      return Entry(webhook: sender.webhook, progress: sender.shown)
    }

    /// Registers a webhook, which gets changes from now on.
    ///
    /// - Parameters:
    ///   - request: The parameters of the registration.
    ///   - alongside: Called in the transaction that stores the webhook.
    /// - Returns: The webhook with its secret, which is returned only here.
    /// - Throws: `argument`, `limit`; the codes of queries; what `alongside` and writing throw.
    package func add(
      _ request: Request,
      alongside: @escaping @Sendable (Entry, WriteTransaction) throws -> Void = { _, _ in }
    ) async throws -> Entry {
      let webhook = try Webhook(
        url: request.url, statements: request.statements, arguments: request.arguments,
        secret: request.secret, now: UInt64(max(now().timeIntervalSince1970, 0) * 1_000), settings)
      guard webhook.encoded.count <= Webhook.byteLimit else {
        throw DunlinError(.limit, "a webhook takes at most \(Webhook.byteLimit) bytes with its queries")
      }
      let progress = try WebhookProgress(position: request.position ?? .now(parts.store))
      let isFull = state.withLock { state in
        guard state.senders.count + state.adding < settings.webhooks else { return true }
        state.adding += 1
        return false
      }
      guard !isFull else {
        throw DunlinError(.limit, "an application has at most \(settings.webhooks) webhooks")
      }
      defer { state.withLock { $0.adding -= 1 } }
      let entry = Entry(
        webhook: webhook, progress: progress.shown(isHeld: state.withLock { $0.isHeld }))
      try await WebhookTables.add(webhook, progress, to: parts.store) { try alongside(entry, $0) }
      begin(webhook, progress)
      return entry
    }

    /// All webhooks, in the order of registration.
    package var all: [Entry] {
      state.withLock { Array($0.senders.values) }.map { Entry(webhook: $0.webhook, progress: $0.shown) }
        .sorted { ($0.webhook.createdAt, $0.webhook.id) < ($1.webhook.createdAt, $1.webhook.id) }
    }

    /// A webhook; `nil` when there is none.
    package subscript(id: String) -> Entry? {
      find(id).map { Entry(webhook: $0.webhook, progress: $0.shown) }
    }

    /// Pauses a webhook, or resumes it from its position.
    ///
    /// - Returns: The webhook; `nil` when there is none.
    package func setPaused(_ isPaused: Bool, _ id: String) async throws -> Entry? {
      guard let sender = find(id), try await sender.setPaused(isPaused) else { return nil }
      return Entry(webhook: sender.webhook, progress: sender.shown)
    }

    /// Removes a webhook.
    ///
    /// - Returns: `false` when there is none.
    package func remove(_ id: String) async throws -> Bool {
      guard let sender = find(id), try await sender.remove() else { return false }
      // Not before it is removed from the table, so that a removal that fails can be repeated.
      state.withLock { $0.senders[id] = nil }
      return true
    }

    private func find(_ id: String) -> WebhookSender? { state.withLock { $0.senders[id] } }
  }
#endif
