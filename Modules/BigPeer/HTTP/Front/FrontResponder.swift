#if Server
  import HTTPTypes
  import Hummingbird
  import Logging
  import NIOCore
  import Transports

  /// What stands before all routes of a listener: it counts and logs, and answers with a problem where a route fails or there is none.
  struct FrontResponder: HTTPResponder {
    let router: RouterResponder<ServerContext>
    let routes: RouteList
    let gate: APIGate?
    let crossOrigin: CrossOrigin
    let connections: ConnectionLedger
    let report: @Sendable (RequestReport) -> Void

    func respond(to request: Request, context: ServerContext) async throws -> Response {
      let start = ContinuousClock.now
      let address =
        gate?.address(of: request, context).text ?? context.remoteAddress?.unmappedIPAddress ?? "unknown"
      connections.begin(context.record, on: context.channel)
      let route = routes.route(of: request.uri.path)
      var response: Response
      do {
        response = try await answer(request, context, route?.methods)
      } catch {
        response = Problem(any: error).response(from: request, context: context)
      }
      // Problems have no body there either.
      if request.method == .head { response = response.createHeadResponse() }
      crossOrigin.complete(&response, for: request)
      let status = response.status.code
      let finish: @Sendable (String?) -> Void = { [connections] failure in
        connections.end(context.record, on: context.channel)
        let content = context.record.content
        report(
          RequestReport(
            method: request.method, route: context.endpointPath ?? "unknown",
            routeNumber: context.endpointPath == nil ? RouteList.none : route?.number ?? RouteList.none,
            status: status, address: address,
            application: content.application, key: content.key, failure: content.failure ?? failure,
            error: content.error, time: .now - start))
      }
      guard response.body.contentLength == nil else {
        finish(nil)
        return response
      }
      let body = response.body
      response.body = ResponseBody { writer in
        do {
          try await body.write(writer)
          finish(nil)
        } catch {
          finish("connection")
          throw error
        }
      }
      return response
    }

    private func answer(
      _ request: Request, _ context: ServerContext, _ methods: Set<HTTPRequest.Method>?
    ) async throws -> Response {
      if let gate { try gate.count(gate.address(of: request, context)) }
      if let preflight = crossOrigin.preflight(request, routes) { return preflight }
      // A route that has failed by an error of the library's answers without a body.
      guard let methods else {
        throw Problem(.notFound, "notFound", "there is nothing at this path")
      }
      guard methods.contains(request.method) else {
        throw Problem(
          .methodNotAllowed, "method", "this path takes other methods",
          headers: [.allow: methods.map(\.rawValue).sorted().joined(separator: ", ")])
      }
      do {
        return try await router.respond(to: request, context: context)
      } catch let error as any HTTPResponseError {
        return try error.response(from: request, context: context)
      }
    }
  }

  /// What is known of a request once it is answered.
  struct RequestReport: Sendable {
    /// `nil` for what could not be read.
    let method: HTTPRequest.Method?
    /// The path as the route has it: nothing of what a client has written into it.
    let route: String
    /// The number of the route at its listener.
    let routeNumber: Int
    let status: Int
    let address: String
    let application: String?
    let key: String?
    /// Why the answer ended before its end.
    let failure: String?
    /// What the server failed with.
    let error: (any Error)?
    let time: Duration
  }

  extension RequestReport {
    /// Writes a line, without anything of what was sent and answered.
    func log(to logger: Logger) {
      let milliseconds = (time / .milliseconds(1) * 10).rounded() / 10
      var metadata: Logger.Metadata = [
        "status": "\(status)", "address": "\(address)", "milliseconds": "\(milliseconds)",
      ]
      if let application { metadata["application"] = "\(application)" }
      if let key { metadata["key"] = "\(key)" }
      if let failure { metadata["failure"] = "\(failure)" }
      if let error { metadata["error"] = "\(error)" }
      let level: Logger.Level = error != nil ? .error : status >= 500 ? .warning : .info
      logger.log(level: level, "\(method?.rawValue ?? "-") \(route)", metadata: metadata)
    }
  }

  /// The paths of a listener with their methods.
  struct RouteList: Sendable {
    private struct Route: Sendable {
      let parts: [String]
      var methods: Set<HTTPRequest.Method>

      /// Parts that stand for whatever a client writes.
      var variables: Int { parts.count { Route.isVariable($0) } }

      static func isVariable(_ part: String) -> Bool {
        part.hasPrefix(":") || part.contains("{") || part == "*"
      }
    }

    /// The number of no route.
    static let none = -1

    private var routes: [Route] = []

    init(_ router: Router<ServerContext>) {
      for route in router.routes {
        let parts = Self.parts(of: "\(route.path)")
        // HEAD is answered wherever GET is.
        let methods: Set<HTTPRequest.Method> = route.method == .get ? [.get, .head] : [route.method]
        if let index = routes.firstIndex(where: { $0.parts == parts }) {
          routes[index].methods.formUnion(methods)
        } else {
          routes.append(Route(parts: parts, methods: methods))
        }
      }
      // As the router does: what is written out comes first.
      routes.sort { $0.variables < $1.variables }
    }

    private static func parts(of path: String) -> [String] { path.split(separator: "/").map(String.init) }

    /// The route of a path, with its methods; `nil` when there is nothing.
    func route(of path: String) -> (number: Int, methods: Set<HTTPRequest.Method>)? {
      let parts = Self.parts(of: path)
      let found = routes.firstIndex { route in
        route.parts.count == parts.count
          && zip(route.parts, parts).allSatisfy { $0 == $1 || Route.isVariable($0) }
      }
      return found.map { ($0, routes[$0].methods) }
    }
  }
#endif
