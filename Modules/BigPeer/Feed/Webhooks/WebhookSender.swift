#if Server
  import DunlinFeed
  import Facade
  import Foundation
  import Logging
  import Synchronization

  /// Delivers changes to one webhook: in order, one delivery at a time, each until it is acknowledged.
  final class WebhookSender: Sendable {
    private struct State {
      var webhook: Webhook
      var progress: WebhookProgress
      /// The task that delivers; it ends by itself when the webhook pauses itself.
      var task: Task<Void, Never>?
      /// The last queued operation, see ``inTurn(_:)``.
      var turn: Task<Void, Never>?
      /// Whether the server is stopping.
      var isOver = false
      var isRemoved = false
      /// Whether the store is a restored copy: nothing is delivered, whatever is requested.
      var isHeld = false
    }

    /// The number of failures up to which the wait doubles.
    private static let doublings = 20
    /// How often the position is stored while no change concerns the webhook.
    ///
    /// This keeps the position within the log.
    private static let idleTime = Duration.seconds(300)

    /// The webhook, with its present address and secret.
    var webhook: Webhook { state.withLock { $0.webhook } }
    private let parts: DunlinParts
    private let settings: FeedSettings
    private let client: WebhookClient
    private let traces: CommitTraces
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let state: Mutex<State>

    init(
      _ webhook: Webhook, _ progress: WebhookProgress, _ parts: DunlinParts, _ settings: FeedSettings,
      _ traces: CommitTraces, logger: Logger, now: @escaping @Sendable () -> Date
    ) {
      self.parts = parts
      self.settings = settings
      self.traces = traces
      client = WebhookClient(
        allowsPrivateAddresses: settings.allowsPrivateAddresses, authorityFile: settings.webhookAuthorities,
        limit: settings.deliveryTime)
      var logger = logger
      logger[metadataKey: "webhook"] = "\(webhook.id)"
      self.logger = logger
      self.now = now
      state = Mutex(State(webhook: webhook, progress: progress))
    }

    var progress: WebhookProgress { state.withLock { $0.progress } }

    /// The progress as it is reported to clients.
    var shown: WebhookProgress { state.withLock { $0.progress.shown(isHeld: $0.isHeld) } }

    func setHeld(_ isHeld: Bool) { state.withLock { $0.isHeld = isHeld } }

    // MARK: - Begin and end

    /// Starts to deliver; does nothing if it already delivers, is paused, held, stopped or removed.
    func start() {
      state.withLock { state in
        guard state.task == nil, state.progress.pause == nil, !state.isOver, !state.isRemoved, !state.isHeld
        else { return }
        state.task = Task { [weak self] in await self?.run() }
      }
    }

    /// Cancels the delivery in flight and waits for its end; delivery resumes at the server's next start.
    func stop() async {
      try? await inTurn { [self] in
        await halt()
        state.withLock { $0.isOver = true }
      }
    }

    /// Pauses or resumes delivery, and stores that.
    ///
    /// - Returns: `false` if the webhook has been removed.
    func setPaused(_ isPaused: Bool) async throws -> Bool {
      try await inTurn { [self] in
        guard !state.withLock({ $0.isRemoved }) else { return false }
        await halt()
        defer { start() }
        let before = progress
        change { progress in
          progress.pause = isPaused ? .requested : nil
          if !isPaused { (progress.failures, progress.failingSince) = (0, nil) }
        }
        do {
          try await keep()
        } catch {
          change { $0 = before }
          throw error
        }
        return true
      }
    }

    /// Takes another address or another secret, and stores that.
    ///
    /// - Returns: `false` if the webhook has been removed.
    func change(_ change: Webhooks.Change) async throws -> Bool {
      try await inTurn { [self] in
        guard !state.withLock({ $0.isRemoved }) else { return false }
        let next = try webhook.changed(by: change, now: milliseconds, settings)
        // The delivery in flight is sent again, to the new address.
        await halt()
        defer { start() }
        try await WebhookTables.replace(next, in: parts.store)
        state.withLock { $0.webhook = next }
        return true
      }
    }

    /// Ends delivery permanently, and deletes the webhook and its progress.
    ///
    /// - Returns: `false` if the webhook had been removed before.
    func remove() async throws -> Bool {
      try await inTurn { [self] in
        guard !state.withLock({ $0.isRemoved }) else { return false }
        await halt()
        defer { start() }
        try await WebhookTables.remove(webhook.id, from: parts.store)
        state.withLock { $0.isRemoved = true }
        return true
      }
    }

    /// Runs operations one after another, each to its end, even if the caller is cancelled meanwhile.
    private func inTurn<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
      let task = state.withLock { state in
        let before = state.turn
        let task = Task {
          await before?.value
          return try await body()
        }
        state.turn = Task { _ = try? await task.value }
        return task
      }
      return try await task.value
    }

    private func halt() async {
      let task = state.withLock { state in
        defer { state.task = nil }
        return state.task
      }
      task?.cancel()
      await task?.value
    }

    private func change(_ body: (inout WebhookProgress) -> Void) {
      state.withLock { body(&$0.progress) }
    }

    /// Stores the progress at that time.
    private func keep() async throws {
      try await WebhookTables.put(of: webhook.id, to: parts.store) { [self] in progress }
    }

    // MARK: - Delivering

    private func run() async {
      while !Task.isCancelled {
        do {
          if progress.pause == nil { try await deliverAll() }
          // A pause by the sender itself is stored before the task ends.
          if progress.pause != nil { try await keep() }
          return
        } catch is CancellationError {
          return
        } catch {
          // The store failed, not the receiver; a later attempt may succeed.
          logger.error("Changes cannot be delivered now: \(DunlinError.translating(error))")
          guard (try? await Task.sleep(for: settings.longestRetryTime)) != nil else { return }
        }
      }
    }

    /// Delivers until the database is closed, or the webhook has paused itself.
    private func deliverAll() async throws {
      let filter = try FeedFilter(dql: webhook.statements, arguments: webhook.arguments)
      let reader = try parts.feeds.read(filter, after: progress.position)
      var kept = ContinuousClock.now
      while let batch = try await reader.next(waiting: Self.idleTime) {
        for delivery in deliveries(of: batch) {
          guard try await deliver(delivery) else { return }
          kept = .now
        }
        // The changes after the last delivery do not concern the webhook.
        change { $0.position = batch.position }
        guard batch.items.isEmpty, .now - kept >= Self.idleTime else { continue }
        try await keep()
        kept = .now
      }
    }

    private func deliveries(of batch: FeedBatch) -> [WebhookDelivery] {
      WebhookDelivery.deliveries(of: batch, for: webhook, json: json)
    }

    private func json(_ event: FeedEvent, _ hasValues: Bool) -> [UInt8] {
      ApplicationFeed.json(event, parts.store, withValues: hasValues)
    }

    /// Attempts a delivery until it is acknowledged.
    ///
    /// - Returns: `false` when the webhook is paused instead.
    private func deliver(_ delivery: WebhookDelivery) async throws -> Bool {
      while true {
        let failure: WebhookFailure
        do {
          let address = try WebhookAddress(webhook.url, allowsPlain: settings.allowsPrivateAddresses)
          try await client.post(
            delivery.body, headers: delivery.headers(webhook, at: now(), traces), to: address)
          try await acknowledge(delivery)
          return true
        } catch let error as WebhookFailure {
          failure = error
        } catch let error as DunlinError where error.code == .argument {
          // The webhook was registered when other addresses were allowed.
          failure = WebhookFailure(error.message)
        }
        try Task.checkCancellation()
        if failure.isTooLarge, let parts = delivery.smaller(for: webhook, json: json) {
          for part in parts { guard try await deliver(part) else { return false } }
          return true
        }
        guard try await wait(after: failure) else { return false }
      }
    }

    private var milliseconds: UInt64 { UInt64(max(now().timeIntervalSince1970, 0) * 1_000) }

    private func acknowledge(_ delivery: WebhookDelivery) async throws {
      let time = milliseconds
      let wasFailing = state.withLock { state in
        let wasFailing = state.progress.failures > 0
        state.progress.position = delivery.position
        state.progress.deliveries += 1
        state.progress.deliveredAt = time
        (state.progress.failures, state.progress.failingSince, state.progress.lastFailure) = (0, nil, nil)
        return wasFailing
      }
      if wasFailing { logger.notice("The webhook acknowledges deliveries again") }
      // After the acknowledgement: after a crash in between, the delivery is sent again.
      try await keep()
    }

    /// Records a failure, and waits until the next attempt.
    ///
    /// - Returns: `false` when there will be no further attempt, because the webhook has failed for too long.
    private func wait(after failure: WebhookFailure) async throws -> Bool {
      let time = milliseconds
      let pauseTime = UInt64(settings.pauseTime / .milliseconds(1))
      let (progress, isFirst) = state.withLock { state in
        state.progress.failures += 1
        state.progress.lastFailure = failure.description
        let since = state.progress.failingSince ?? time
        state.progress.failingSince = since
        if failure.isGone {
          state.progress.pause = .gone
        } else if time >= since, time - since >= pauseTime {
          state.progress.pause = .failing
        }
        return (state.progress, state.progress.failures == 1)
      }
      if isFirst { logger.warning("A delivery failed and is tried again: \(failure.logged)") }
      if progress.pause != nil {
        logger.error(
          "The webhook is paused, since it has failed \(progress.failures) times: \(failure.logged)")
        return false
      }
      // Only the first failure is stored; otherwise each failure would cause a write.
      if isFirst { try await keep() }
      try await Task.sleep(for: pause(after: progress.failures, failure))
      return true
    }

    /// The wait doubles each time and has a random part, so that not all webhooks retry at once.
    private func pause(after failures: UInt64, _ failure: WebhookFailure) -> Duration {
      let doublings = min(failures - 1, UInt64(Self.doublings))
      let longest = min(settings.retryTime * Double(1 << doublings), settings.longestRetryTime)
      let wait = longest * Double.random(in: 0.5...1)
      return max(wait, failure.retryAfter ?? .zero)
    }
  }
#endif
