#if Server
  import CRDTCore
  import DunlinFeed
  import Facade
  import HTTPTypes
  import Hummingbird
  import ServiceLifecycle

  extension FeedRoutes {
    /// Makes a ticket for a stream that starts at the position of the query, or else at the last change.
    func ticket(_ admission: Admission, _ query: FeedQuery) throws -> Response {
      try admission.check(query.filter)
      let store = admission.application.feed.parts.store
      let ticket = StreamTickets.Ticket(
        application: admission.application.id, key: admission.key, filter: query.filter,
        start: try query.start?.position(in: store) ?? .now(store), made: now())
      let text = try tickets.make(ticket)
      return Self.json(
        ["ticket": .string(text), "path": .string("/api/v4/changes?ticket=\(text)")], status: .created)
    }

    /// Responds with the events of a ticket's query.
    func stream(_ text: String, _ request: Request, _ context: ServerContext) throws -> Response {
      do {
        let ticket = try tickets.open(text, at: now())
        let query = try FeedQuery(ticket, request)
        return try stream(
          gate.admit(ticket.key, of: ticket.application, context, needing: .read), query, context)
      } catch {
        throw Problem(any: error)
      }
    }

    /// Responds with server-sent events, until the client disconnects or the server stops.
    ///
    /// The response counts as a stream, and no longer as a request.
    func stream(_ admission: Admission, _ query: FeedQuery, _ context: ServerContext) throws -> Response {
      try admission.check(query.filter)
      let feed = admission.application.feed
      guard let seat = seats.take() else {
        throw Problem.busy("more than \(seats.limit) streams of changes of all applications at once")
      }
      let stream: FeedStream
      do {
        stream = try feed.openStream(
          query.filter, after: query.start?.position(in: feed.parts.store), key: admission.key.id, seat, pages
        )
      } catch let error as DunlinError where error.code == .limit || error.code == .closed {
        throw Problem.busy(error.message)
      }
      let (gate, key, application) = (gate, admission.key, admission.application)
      let isAllowed: @Sendable () -> Bool = { gate.isValid(key, of: application) }
      var headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
      // Asks proxies that buffer a whole response not to do so.
      if let name = HTTPField.Name("X-Accel-Buffering") { headers[name] = "no" }
      let body = ResponseBody { writer in
        var output = writer
        // Not with hummingbird's own body source: it ends the process if the client disconnects at a bad
        // moment. Only the reader is referenced: the stream no longer counts once it has ended.
        let reader = stream.reader
        // The connection may be used for further requests, and keeps the reader as long.
        defer { reader.end() }
        context.channel.closeFuture.whenComplete { _ in reader.end() }
        try await withGracefulShutdownHandler {
          try await EventStream(
            stream: stream, channel: context.channel, record: context.record, isAllowed: isAllowed
          ).write(to: &output)
        } onGracefulShutdown: {
          reader.end()
        }
        try await output.finish(nil)
      }
      return Response(status: .ok, headers: headers, body: body)
    }
  }
#endif
