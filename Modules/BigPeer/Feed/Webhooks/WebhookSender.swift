#if Server
  import Facade
  import Foundation
  import Logging
  import Synchronization

  /// Delivers changes to one webhook: in order, one delivery at a time, each until it is acknowledged.
  final class WebhookSender: Sendable {
    private struct State {
      var progress: WebhookProgress
      /// Delivers; it ends by itself when the webhook pauses itself.
      var task: Task<Void, Never>?
      /// The last thing that was asked for, see ``inTurn(_:)``.
      var turn: Task<Void, Never>?
      /// The server stops.
      var isOver = false
      var isRemoved = false
      /// The store is a copy that keeps quiet: nothing is delivered, whatever is asked for.
      var isHeld = false
    }

    /// Failures that are waited for at most double the wait so often.
    private static let doublings = 20
    /// How often the position is kept where no change concerns the webhook, so that the log does not leave it behind.
    private static let idleTime = Duration.seconds(300)

    let webhook: Webhook
    private let store: DunlinStore
    private let settings: FeedSettings
    private let client: WebhookClient
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let state: Mutex<State>

    init(
      _ webhook: Webhook, _ progress: WebhookProgress, _ store: DunlinStore, _ settings: FeedSettings,
      logger: Logger, now: @escaping @Sendable () -> Date
    ) {
      self.webhook = webhook
      self.store = store
      self.settings = settings
      client = WebhookClient(
        allowsPrivateAddresses: settings.allowsPrivateAddresses, authorityFile: settings.webhookAuthorities,
        limit: settings.deliveryTime)
      var logger = logger
      logger[metadataKey: "webhook"] = "\(webhook.id)"
      self.logger = logger
      self.now = now
      state = Mutex(State(progress: progress))
    }

    var progress: WebhookProgress { state.withLock { $0.progress } }

    /// How it stands, for people.
    var shown: WebhookProgress { state.withLock { $0.progress.shown(isHeld: $0.isHeld) } }

    func setHeld(_ isHeld: Bool) { state.withLock { $0.isHeld = isHeld } }

    // MARK: - Begin and end

    /// Delivers from now on; nothing happens where it does so already, is paused, or is to do so no more.
    func start() {
      state.withLock { state in
        guard state.task == nil, state.progress.pause == nil, !state.isOver, !state.isRemoved, !state.isHeld
        else { return }
        state.task = Task { [weak self] in await self?.run() }
      }
    }

    /// Ends the delivery in flight and waits for that; it goes on with the server's next start.
    func stop() async {
      try? await inTurn { [self] in
        await halt()
        state.withLock { $0.isOver = true }
      }
    }

    /// Pauses or goes on, and keeps that.
    ///
    /// - Returns: `false` where it has been removed.
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

    /// Ends it for good, and forgets how far it has got.
    ///
    /// - Returns: `false` where it had been removed.
    func remove() async throws -> Bool {
      try await inTurn { [self] in
        guard !state.withLock({ $0.isRemoved }) else { return false }
        await halt()
        defer { start() }
        try await WebhookTables.remove(webhook.id, from: store)
        state.withLock { $0.isRemoved = true }
        return true
      }
    }

    /// Does one thing after another, each to its end: whoever asked for it may go away meanwhile.
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

    /// Writes down how it stands then.
    private func keep() async throws {
      try await WebhookTables.put(of: webhook.id, to: store) { [self] in progress }
    }

    // MARK: - Delivering

    private func run() async {
      while !Task.isCancelled {
        do {
          if progress.pause == nil { try await deliverAll() }
          // That it has paused itself is kept before it ends.
          if progress.pause != nil { try await keep() }
          return
        } catch is CancellationError {
          return
        } catch {
          // The store, not the receiver; it may be better later.
          logger.error("Changes cannot be delivered now: \(error)")
          guard (try? await Task.sleep(for: settings.longestRetryTime)) != nil else { return }
        }
      }
    }

    /// Delivers until the database is closed, or the webhook has paused itself.
    private func deliverAll() async throws {
      let filter = try FeedFilter(dql: webhook.statements, arguments: webhook.arguments)
      let reader = try store.changeFeed(filter, after: progress.position)
      var kept = ContinuousClock.now
      while let batch = try await reader.next(waiting: Self.idleTime) {
        for delivery in deliveries(of: batch) {
          guard try await deliver(delivery) else { return }
          kept = .now
        }
        // What follows does not concern the webhook.
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
      ApplicationFeed.json(event, store, withValues: hasValues)
    }

    /// Delivers until that is acknowledged.
    ///
    /// - Returns: `false` when the webhook is paused instead.
    private func deliver(_ delivery: WebhookDelivery) async throws -> Bool {
      while true {
        let failure: WebhookFailure
        do {
          let address = try WebhookAddress(webhook.url, allowsPlain: settings.allowsPrivateAddresses)
          try await client.post(
            delivery.body, headers: delivery.headers(webhook, at: now()), to: address)
          try await acknowledge(delivery)
          return true
        } catch let error as WebhookFailure {
          failure = error
        } catch let error as DunlinError where error.code == .argument {
          // It was registered when other addresses were allowed.
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
      // After the acknowledgement: a crash in between has the delivery come twice.
      try await keep()
    }

    /// Notes a failure, and waits until the next attempt.
    ///
    /// - Returns: `false` when there is to be none, for it has failed too long.
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
      if isFirst { logger.warning("A delivery failed and is tried again: \(failure)") }
      if progress.pause != nil {
        logger.error("The webhook is paused, since it has failed \(progress.failures) times: \(failure)")
        return false
      }
      // Each time would write as often as it fails.
      if isFirst { try await keep() }
      try await Task.sleep(for: pause(after: progress.failures, failure))
      return true
    }

    /// Twice as long each time, and a part of that by chance, so that not all come back at once.
    private func pause(after failures: UInt64, _ failure: WebhookFailure) -> Duration {
      let doublings = min(failures - 1, UInt64(Self.doublings))
      let longest = min(settings.retryTime * Double(1 << doublings), settings.longestRetryTime)
      let wait = longest * Double.random(in: 0.5...1)
      return max(wait, failure.retryAfter ?? .zero)
    }
  }
#endif
