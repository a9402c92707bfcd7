#if Server
  import CRDTCore
  import DunlinFeed
  import HTTPTypes
  package import Hummingbird

  /// The change feed's part of the HTTP API: streams of changes, webhooks and history.
  package struct FeedRoutes: ServerRoute {
    let gate: APIGate
    let seats: StreamSeats
    let tickets = StreamTickets()
    let pages = StreamPages(byteLimit: StreamLimits.allBytes)
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64

    package init(gate: APIGate, now: @escaping @Sendable () -> Int64) {
      self.gate = gate
      self.now = now
      seats = StreamSeats(gate)
    }

    package func add(to router: Router<ServerContext>) {
      let group = router.group("/api/v4")
      group.get("changes") { request, context in
        if let ticket = try QueryParameters(request)["ticket"] { return try stream(ticket, request, context) }
        return try await answer(request, context, needing: .read) { admission in
          try stream(admission, FeedQuery(request), context)
        }
      }
      group.post("changes") { request, context in
        try await answer(request, context, needing: .read) { admission in
          var fields = try RequestFields(try await request.json(admission).value)
          return try stream(admission, FeedQuery(&fields, request), context)
        }
      }
      group.post("changes/ticket") { request, context in
        try await answer(request, context, needing: .read) { admission in
          var fields = try RequestFields(try await request.json(admission).value)
          return try ticket(admission, FeedQuery(&fields, request))
        }
      }
      addWebhooks(to: group)
      addHistory(to: group)
    }

    /// Responds to a request whose key has the right; errors of the layers below become problems.
    func answer(
      _ request: Request, _ context: ServerContext, needing right: APIKey.Right,
      _ body: (Admission) async throws -> Response
    ) async throws -> Response {
      let admission = try gate.admit(request, context, needing: right)
      do {
        return try await body(admission)
      } catch {
        throw Problem(any: error)
      }
    }

    static func json(
      _ fields: [TextKey: Value], status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
    ) -> Response {
      json(bytes(fields), status: status, headers: headers)
    }

    /// Responds with members that may take much memory, which count until they are sent.
    ///
    /// - Throws: `busy` when there is no room for a while; `limit` for a response that is too large.
    static func json(_ fields: [TextKey: Value], _ admission: Admission) async throws(Problem) -> Response {
      let bytes = bytes(fields)
      try await admission.waitToReserveAnswer(bytes.count)
      return .json(bytes, headers: Response.jsonHeaders(transaction: nil), admission)
    }

    static func bytes(_ fields: [TextKey: Value]) -> [UInt8] {
      var bytes: [UInt8] = []
      JSON.write(.map(fields), to: &bytes)
      return bytes
    }

    static func json(
      _ bytes: [UInt8], status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
    ) -> Response {
      var headers = headers
      headers[.contentType] = "application/json"
      headers[.cacheControl] = "no-store"
      return Response(
        status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
  }

  extension RequestFields {
    /// Reads the statements: one as `statement`, or several as `statements`.
    mutating func statements() throws(Problem) -> [String] {
      let one = try text("statement")
      guard let list = try list("statements", count: 1...FeedFilter.queryLimit) else {
        guard let one else { throw Problem.request("statement is missing: SELECT * FROM collection WHERE …") }
        return [one]
      }
      guard one == nil else { throw Problem.request("statement and statements are the same: give one") }
      var statements: [String] = []
      for (index, element) in list.enumerated() {
        guard case .string(let text) = element else {
          throw Problem.request("statements[\(index)] must be a text")
        }
        statements.append(text)
      }
      return statements
    }
  }
#endif
