#if Server
  import CRDTCore
  import Facade
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import ServiceLifecycle
  import Synchronization

  extension FeedRoutes {
    /// Answers with server-sent events, until the client goes or the server stops.
    func stream(_ feed: ApplicationFeed, _ query: FeedQuery, _ request: Request) throws -> Response {
      let stream: FeedStream
      do {
        stream = try feed.openStream(query.filter, after: query.start?.position(in: feed.store))
      } catch let error as DunlinError where error.code == .limit || error.code == .closed {
        throw Problem(.serviceUnavailable, error.code.rawValue, error.message, headers: [.retryAfter: "5"])
      }
      var headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
      // Proxies that keep an answer back until it is whole are asked not to.
      if let name = HTTPField.Name("X-Accel-Buffering") { headers[name] = "no" }
      let body = ResponseBody { writer in
        let output = EventOutput(writer)
        try await request.body.consumeWithCancellationOnInboundClose { _ in
          try await withGracefulShutdownHandler {
            try await EventStream(stream, output).run()
          } onGracefulShutdown: {
            stream.reader.end()
          }
        }
        try await output.finish()
      }
      return Response(status: .ok, headers: headers, body: body)
    }
  }

  /// Where a stream is written to, which tells since when a client takes nothing.
  // SAFETY: one task writes; the other one only asks for the time, under the lock.
  private final class EventOutput: @unchecked Sendable {
    private var writer: any ResponseBodyWriter
    private let start = Mutex<ContinuousClock.Instant?>(nil)

    init(_ writer: any ResponseBodyWriter) { self.writer = writer }

    /// How long the write in flight has taken.
    var age: Duration { start.withLock { $0.map { .now - $0 } } ?? .zero }

    @concurrent
    func write(_ buffer: ByteBuffer) async throws {
      start.withLock { $0 = .now }
      defer { start.withLock { $0 = nil } }
      try await writer.write(buffer)
    }

    @concurrent
    func finish() async throws { try await writer.finish(nil) }
  }

  /// Changes in the form of server-sent events.
  ///
  /// Source: WHATWG, "HTML Living Standard", section 9.2, Server-sent events.
  private struct EventStream {
    /// How long a client waits before it comes back, in milliseconds.
    private static let retry = 2_000

    let stream: FeedStream
    let output: EventOutput

    init(_ stream: FeedStream, _ output: EventOutput) { (self.stream, self.output) = (stream, output) }

    /// Writes until the reader ends, the task is cancelled, or the client takes nothing for too long.
    func run() async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await write() }
        group.addTask { try await watch() }
        try await group.next()
        group.cancelAll()
      }
    }

    private func watch() async throws {
      let limit = stream.settings.stallTime
      while true {
        try await Task.sleep(for: limit / 4)
        // Cancels the write, and closes the connection.
        guard output.age < limit else { throw CancellationError() }
      }
    }

    private func write() async throws {
      var buffer = ByteBuffer(string: "retry: \(Self.retry)\n")
      Self.write(position: stream.reader.position, to: &buffer)
      try await output.write(buffer)
      while let batch = try await stream.reader.next(waiting: stream.settings.heartbeat) {
        buffer = ByteBuffer()
        for item in batch.items { Self.write(item, to: &buffer) }
        if batch.items.isEmpty { buffer.writeString(": heartbeat\n") }
        // An event without data only moves the position on.
        if batch.items.last?.position != batch.position { Self.write(position: batch.position, to: &buffer) }
        // The next batch is read when this one is on its way.
        try await output.write(buffer)
      }
    }

    private static func write(position: FeedPosition, to buffer: inout ByteBuffer) {
      buffer.writeString("id: \(position.token)\n\n")
    }

    private static func write(_ item: FeedItem, to buffer: inout ByteBuffer) {
      buffer.writeString("id: \(item.position.token)\ndata: ")
      buffer.writeBytes(item.event.json)
      buffer.writeString("\n\n")
    }
  }
#endif
