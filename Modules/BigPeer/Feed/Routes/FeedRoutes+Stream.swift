#if Server
  import CRDTCore
  import Facade
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import ServiceLifecycle

  extension FeedRoutes {
    /// Answers with server-sent events, until the client goes or the server stops.
    ///
    /// The stream counts as one, and no longer as a request.
    func stream(_ admission: Admission, _ query: FeedQuery, _ context: ServerContext) throws -> Response {
      let feed = admission.application.feed
      guard let seat = seats.take() else {
        throw Problem.busy("more than \(seats.limit) streams of changes of all applications at once")
      }
      let stream: FeedStream
      do {
        stream = try feed.openStream(
          query.filter, after: query.start?.position(in: feed.store), key: admission.key.id, seat)
      } catch let error as DunlinError where error.code == .limit || error.code == .closed {
        throw Problem.busy(error.message)
      }
      let (gate, key, application) = (gate, admission.key, admission.application)
      let isAllowed: @Sendable () -> Bool = { gate.isValid(key, of: application) }
      var headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
      // Proxies that keep an answer back until it is whole are asked not to.
      if let name = HTTPField.Name("X-Accel-Buffering") { headers[name] = "no" }
      let body = ResponseBody { writer in
        var output = writer
        // Not by what hummingbird has for it: its source of the body ends the process where the client goes at a bad moment.
        // The reader alone is held until then: the stream counts no more once it has ended.
        let reader = stream.reader
        // The connection may stay for other requests, and holds the reader as long.
        defer { reader.end() }
        context.channel.closeFuture.whenComplete { _ in reader.end() }
        try await withGracefulShutdownHandler {
          try await EventStream.write(stream, while: isAllowed, to: &output)
        } onGracefulShutdown: {
          reader.end()
        }
        try await output.finish(nil)
      }
      return Response(status: .ok, headers: headers, body: body)
    }
  }

  /// Changes in the form of server-sent events.
  ///
  /// Source: WHATWG, "HTML Living Standard", section 9.2, Server-sent events.
  private enum EventStream {
    /// How long a client waits before it comes back, in milliseconds.
    private static let retry = 2_000

    @concurrent
    static func write(
      _ stream: FeedStream, while isAllowed: @Sendable () -> Bool, to writer: inout any ResponseBodyWriter
    ) async throws {
      var buffer = ByteBuffer(string: "retry: \(retry)\n")
      write(position: stream.reader.position, to: &buffer)
      try await writer.write(buffer)
      while let batch = try await stream.reader.next(waiting: stream.heartbeat) {
        // A key that is revoked, or has expired, gets no more.
        guard isAllowed() else { return }
        buffer = ByteBuffer()
        for item in batch.items {
          buffer.writeString("id: \(item.position.token)\ndata: ")
          buffer.writeBytes(stream.json(item.event))
          buffer.writeString("\n\n")
        }
        if batch.items.isEmpty { buffer.writeString(": heartbeat\n") }
        // An event without data only moves the position on.
        if batch.items.last?.position != batch.position { write(position: batch.position, to: &buffer) }
        // The next batch is read when this one is on its way.
        try await writer.write(buffer)
      }
    }

    private static func write(position: FeedPosition, to buffer: inout ByteBuffer) {
      buffer.writeString("id: \(position.token)\n\n")
    }
  }
#endif
