#if Server
  import DocStore
  package import DunlinFeed
  package import Facade
  package import Foundation
  package import Logging
  import NIOCore
  import Synchronization

  /// The change feed of one application: its streams, its webhooks and its history.
  package final class ApplicationFeed: Sendable {
    package let parts: DunlinParts
    package let settings: FeedSettings
    package let webhooks: Webhooks
    package let history: HistoryKeeper
    /// The traces of transactions, which deliveries to webhooks carry.
    package let traces = CommitTraces()
    private let logger: Logger
    private let state = Mutex(State())

    private struct State {
      var streams = 0
      var streamsByKey: [String: Int] = [:]
      var trimming: Task<Void, Never>?
      var isOver = false
    }

    /// How often expired versions are searched for.
    private static let trimInterval = Duration.seconds(60)

    /// Makes the feed of a database.
    ///
    /// If `holdsDeliveries` is set, no webhook gets anything until deliveries are released.
    /// - Throws: What reading the store throws.
    package init(
      _ parts: DunlinParts, _ settings: FeedSettings, holdsDeliveries: Bool = false, logger: Logger,
      now: @escaping @Sendable () -> Date = { Date() }
    ) throws {
      self.parts = parts
      self.settings = settings
      self.logger = logger
      webhooks = Webhooks(parts, settings, isHeld: holdsDeliveries, logger: logger, traces: traces, now: now)
      history = try translatingErrors {
        try HistoryKeeper(store: parts.store, now: parts.wallClock) { logger.error("\($0)") }
      }
    }

    /// Starts the registered webhooks and the trimming of the history.
    ///
    /// - Throws: What reading the store throws.
    package func start() throws {
      try webhooks.start()
      state.withLock { state in
        guard state.trimming == nil, !state.isOver else { return }
        state.trimming = Task { [weak self] in
          while (try? await Task.sleep(for: Self.trimInterval)) != nil {
            guard let self else { return }
            await self.trim()
          }
        }
      }
    }

    private func trim() async {
      do {
        try await history.trim()
      } catch is CancellationError {
      } catch {
        logger.warning(
          "Versions of documents that have had their time cannot be removed: \(DunlinError.translating(error))"
        )
      }
    }

    /// Ends streams and deliveries, and keeps registrations; must be called before the database is closed.
    package func stop() async {
      let trimming = state.withLock { state in
        state.isOver = true
        defer { state.trimming = nil }
        return state.trimming
      }
      trimming?.cancel()
      await trimming?.value
      await webhooks.stop()
      // Devices may still send changes until the database is closed, so the history keeps observing until
      // then.
    }

    /// An event as clients read it; its transaction is named as in all responses.
    static func json(
      _ event: FeedEvent, _ store: Store, withValues hasValues: Bool = true
    ) -> [UInt8] {
      let log = TransactionWatch.log(of: store)
      return event.json(withValues: hasValues) {
        TransactionToken(log: log, sequence: $0.sequence).description
      }
    }

    // MARK: - Streams

    /// Begins a stream of changes for a key, unless there are too many.
    ///
    /// - Parameters:
    ///   - filter: Selects the changes.
    ///   - position: The position from which it continues; `nil` means from the next change.
    ///   - key: The id of the key.
    ///   - seat: The seat at the listener, which the stream holds.
    ///   - pages: The pages of all streams of the listener.
    /// - Returns: The stream, which counts as long as it is referenced.
    /// - Throws: `limit`, `closed`.
    func openStream(
      _ filter: FeedFilter, after position: FeedPosition?, key: String, _ seat: StreamSeat,
      _ pages: StreamPages
    ) throws -> FeedStream {
      try state.withLock { state in
        guard !state.isOver else { throw DunlinError(.closed, "the server stops") }
        guard state.streams < settings.streams else {
          throw DunlinError(.limit, "more than \(settings.streams) streams of changes at once")
        }
        guard state.streamsByKey[key, default: 0] < settings.streamsByKey else {
          throw DunlinError(
            .limit, "more than \(settings.streamsByKey) streams of changes of one key at once")
        }
        state.streams += 1
        state.streamsByKey[key, default: 0] += 1
      }
      do {
        let reader = try translatingErrors { try parts.feeds.read(filter, after: position) }
        return FeedStream(reader, self, key, seat, pages)
      } catch {
        endStream(of: key)
        throw error
      }
    }

    fileprivate func endStream(of key: String) {
      state.withLock { state in
        state.streams -= 1
        let left = state.streamsByKey[key, default: 1] - 1
        state.streamsByKey[key] = left > 0 ? left : nil
      }
    }

    /// The number of streams that are open now.
    package var streams: Int { state.withLock { $0.streams } }
  }

  /// A stream of changes, which counts as long as it is referenced.
  final class FeedStream: Sendable {
    let reader: FeedReader
    private let feed: ApplicationFeed
    private let key: String
    private let seat: StreamSeat
    private let making: StreamPages.Making

    fileprivate init(
      _ reader: FeedReader, _ feed: ApplicationFeed, _ key: String, _ seat: StreamSeat, _ pages: StreamPages
    ) {
      (self.reader, self.feed, self.key, self.seat) = (reader, feed, key, seat)
      let store = feed.parts.store
      making = StreamPages.Making(pages) { batch in
        EventStream.text(of: batch) { ApplicationFeed.json($0, store, withValues: $1) }
      }
    }

    /// Waits for the next changes, or for the time of a heartbeat; `nil` when the stream has ended.
    func next() async throws -> FeedPage<[ByteBuffer]>? {
      do {
        return try await reader.next(waiting: feed.settings.heartbeat, making)
      } catch {
        throw DunlinError.translating(error)
      }
    }

    deinit { feed.endStream(of: key) }
  }
#endif
