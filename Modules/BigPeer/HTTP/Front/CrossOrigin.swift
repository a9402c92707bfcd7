#if Server
  import HTTPTypes
  import Hummingbird

  /// Which web pages may call the API from a browser: only those that the configuration lists.
  ///
  /// Source: the Fetch Standard of WHATWG, "CORS protocol".
  struct CrossOrigin: Sendable {
    let origins: Set<String>

    private static let allowedHeaders =
      "Authorization, Content-Type, Dunlin-Transaction, Idempotency-Key, Last-Event-ID, traceparent, tracestate, X-DITTO-TXN-ID, X-Request-Id"
    private static let exposedHeaders =
      "Dunlin-Transaction, Idempotency-Replayed, Retry-After, traceparent, tracestate, X-Request-Id"
    /// How long a browser may cache a preflight response, in seconds.
    private static let age = 600

    /// The origin of a request, if it may call the API.
    private func origin(of request: Request) -> String? {
      request.headers[.origin].flatMap { origins.contains($0) ? $0 : nil }
    }

    /// The response to a browser's preflight request; `nil` for other requests.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - methods: The methods of its path; `nil` if there is nothing at the path.
    /// - Returns: The response.
    func preflight(_ request: Request, _ methods: Set<HTTPRequest.Method>?) -> Response? {
      guard request.method == .options, request.headers[.accessControlRequestMethod] != nil,
        origin(of: request) != nil, let methods
      else { return nil }
      return Response(
        status: .noContent,
        headers: [
          .accessControlAllowMethods: methods.map(\.rawValue).sorted().joined(separator: ", "),
          .accessControlAllowHeaders: Self.allowedHeaders, .accessControlMaxAge: "\(Self.age)",
        ])
    }

    /// Adds the headers that a browser needs to pass the response to the page.
    func complete(_ response: inout Response, for request: Request) {
      guard !origins.isEmpty else { return }
      response.headers[.vary] = "Origin"
      guard let origin = origin(of: request) else { return }
      response.headers[.accessControlAllowOrigin] = origin
      response.headers[.accessControlExposeHeaders] = Self.exposedHeaders
    }
  }
#endif
