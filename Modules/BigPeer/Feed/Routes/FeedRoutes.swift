#if Server
  import CRDTCore
  import Facade
  import HTTPTypes
  package import Hummingbird

  /// The change feed's part of the HTTP API: streams of changes, webhooks and history.
  package struct FeedRoutes: ServerRoute {
    /// What a client wants to do.
    package enum Access: Sendable { case read, write }

    /// Finds the application that a request is for, and whether the client may.
    ///
    /// It throws a `Problem` where it may not.
    package typealias Authorize =
      @Sendable (_ request: Request, _ context: ServerContext, _ access: Access) async throws ->
      ApplicationFeed

    let authorize: Authorize

    package init(authorize: @escaping Authorize) { self.authorize = authorize }

    package func add(to router: Router<ServerContext>) {
      let group = router.group("/api/v4")
      group.get("changes") { request, context in
        let feed = try await authorize(request, context, .read)
        return try await translating { try stream(feed, FeedQuery(request), request) }
      }
      group.post("changes") { request, context in
        let feed = try await authorize(request, context, .read)
        return try await translating {
          var request = request
          let body = try await FeedBody(&request)
          return try stream(feed, FeedQuery(body, request), request)
        }
      }
      addWebhooks(to: group)
      addHistory(to: group)
    }

    /// Runs what answers a request; errors of the layers below become problems.
    func translating(_ body: () async throws -> Response) async throws -> Response {
      do {
        return try await body()
      } catch let error as DunlinError {
        throw Problem(feed: error)
      }
    }

    static func json(
      _ fields: [TextKey: Value], status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
    ) -> Response {
      var bytes: [UInt8] = []
      JSON.write(.map(fields), to: &bytes)
      var headers = headers
      headers[.contentType] = "application/json"
      headers[.cacheControl] = "no-store"
      return Response(
        status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
  }

  extension Problem {
    /// What an error of the database means for a client of the change feed.
    init(feed error: DunlinError) {
      let status: HTTPResponse.Status =
        switch error.code {
        case .syntax, .unsupported, .unknownFunction, .argument, .limit, .invalidCollectionName,
          .invalidDocumentID:
          .badRequest
        case .closed, .unavailable, .tooManyReaders: .serviceUnavailable
        case .full: HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
        default: .internalServerError
        }
      var members: [TextKey: Value] = [:]
      for name in ["line", "column"] {
        if let text = error.context[name], let number = Int64(text) { members[TextKey(name)] = .int(number) }
      }
      self.init(status, error.code.rawValue, error.message, members: members)
    }

    static func notFound(_ what: String) -> Problem { Problem(.notFound, "notFound", "there is no \(what)") }
  }
#endif
