#if Server
  import HTTPTypes
  import Hummingbird
  import Links
  import Logging
  import NIOCore

  /// Handles all requests of a listener before its routes: it counts, logs, and reports problems.
  ///
  /// It responds with a problem if a route fails or if there is no route.
  struct FrontResponder: HTTPResponder {
    let router: RouterResponder<ServerContext>
    let routes: RouteList
    let gate: APIGate?
    let crossOrigin: CrossOrigin
    /// Whether only names of this machine are answered: the listener is reached from it alone.
    let isLocal: Bool
    let connections: ConnectionLedger
    let report: @Sendable (RequestReport) -> Void
    /// The login endpoints, which have no routes of their own; `nil` if the listener has none.
    var logins: LoginRoute?

    func respond(to request: Request, context: ServerContext) async throws -> Response {
      let start = ContinuousClock.now
      let client = gate?.address(of: request, context)
      let address = client?.text ?? context.remoteAddress?.unmappedIPAddress ?? "unknown"
      connections.begin(context.record, on: context.channel)
      let route = routes.route(of: request.uri.path)
      let login = route == nil ? logins?.match(request.uri.path) : nil
      let trace = RequestTrace(request.headers)
      var response: Response
      do {
        response = try await RequestTrace.$current.withValue(trace) {
          try await answer(request, context, client, route?.methods, login)
        }
      } catch {
        response = Problem(any: error).response(from: request, context: context)
      }
      // Problems have no body in a response to HEAD either.
      if request.method == .head { response = response.createHeadResponse() }
      crossOrigin.complete(&response, for: request)
      for (name, value) in trace.headers { response.headers[name] = value }
      let status = response.status.code
      let finish: @Sendable (String?) -> Void = { [connections] failure in
        connections.end(context.record, on: context.channel)
        let content = context.record.content
        report(
          RequestReport(
            method: request.method, route: context.endpointPath ?? login?.name ?? "unknown",
            routeNumber: login?.number
              ?? (context.endpointPath == nil ? RouteList.none : route?.number ?? RouteList.none),
            status: status, address: address,
            application: content.application, key: content.key, failure: content.failure ?? failure,
            error: content.error, time: .now - start, trace: trace))
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

    /// Refuses a request that a web page sends to a name of its own which leads to this machine.
    ///
    /// That is DNS rebinding.
    private func checkHost(of request: Request) throws(Problem) {
      guard let host = request.head.authority?.lowercased() else { return }
      let address = ListenAddress(host) ?? ListenAddress("\(host):0")
      if address?.isLoopback == true { return }
      throw Problem(
        .misdirectedRequest, "host", "this listener answers requests to localhost or a loopback address alone"
      )
    }

    private func answer(
      _ request: Request, _ context: ServerContext, _ client: ClientAddress?,
      _ methods: Set<HTTPRequest.Method>?, _ login: LoginRoute.Match?
    ) async throws -> Response {
      let methods = methods ?? login.map { _ in LoginRoute.methods }
      if let gate, let client { try gate.count(client) }
      if isLocal { try checkHost(of: request) }
      if let preflight = crossOrigin.preflight(request, methods) { return preflight }
      // A route that fails with an error of the library's responds without a body.
      guard let methods else {
        throw Problem(.notFound, "notFound", "there is nothing at this path")
      }
      guard methods.contains(request.method) else {
        throw Problem(
          .methodNotAllowed, "method", "this path takes other methods",
          headers: [.allow: methods.map(\.rawValue).sorted().joined(separator: ", ")])
      }
      if let login, let logins { return try await logins.respond(to: request, at: login, context) }
      do {
        return try await router.respond(to: request, context: context)
      } catch let error as any HTTPResponseError {
        return try error.response(from: request, context: context)
      }
    }
  }

  /// The data of a request that has been answered.
  struct RequestReport: Sendable {
    /// `nil` for a request that could not be read.
    let method: HTTPRequest.Method?
    /// The path as the route declares it, without anything that a client has sent.
    let route: String
    /// The number of the route at its listener.
    let routeNumber: Int
    let status: Int
    let address: String
    let application: String?
    let key: String?
    /// Why the response broke off before its end.
    let failure: String?
    /// The server's error.
    let error: (any Error)?
    let time: Duration
    /// `nil` for a request that could not be read.
    var trace: RequestTrace?
  }

  extension RequestReport {
    /// Logs a line, without any contents of the request or the response.
    ///
    /// - Parameters:
    ///   - logger: Where to.
    ///   - leftOut: The number of refused requests before this one that have no line.
    func log(to logger: Logger, leftOut: UInt64 = 0) {
      let level: Logger.Level = error != nil ? .error : status >= 500 ? .warning : .info
      guard level >= logger.logLevel else { return }
      let milliseconds = (time / .milliseconds(1) * 10).rounded() / 10
      var metadata: Logger.Metadata = [
        "status": "\(status)", "address": "\(address)", "milliseconds": "\(milliseconds)",
        "method": "\(method?.rawValue ?? "-")", "route": "\(route)",
      ]
      if let trace { metadata.merge(trace.metadata) { $1 } }
      if let application { metadata["application"] = "\(application)" }
      if let key { metadata["key"] = "\(key)" }
      if let failure { metadata["failure"] = "\(failure)" }
      if let error { metadata["error"] = "\(error)" }
      if leftOut > 0 { metadata["leftOut"] = "\(leftOut)" }
      logger.log(level: level, "\(method?.rawValue ?? "-") \(route)", metadata: metadata)
    }
  }

  /// The paths of a listener with their methods.
  struct RouteList: Sendable {
    private struct Route: Sendable {
      let parts: [String]
      var methods: Set<HTTPRequest.Method>

      /// The number of variable parts.
      var variables: Int { parts.count { Route.isVariable($0) } }

      static func isVariable(_ part: String) -> Bool {
        part.hasPrefix(":") || part.contains("{") || part == "*"
      }
    }

    /// The route number when no route matches.
    static let none = -1

    private var routes: [Route] = []
    /// The routes without variable parts, by their usual path.
    private var byPath: [String: Int] = [:]

    init(_ router: Router<ServerContext>) {
      for route in router.routes {
        let parts = Self.parts(of: "\(route.path)")
        // HEAD is supported wherever GET is.
        let methods: Set<HTTPRequest.Method> = route.method == .get ? [.get, .head] : [route.method]
        if let index = routes.firstIndex(where: { $0.parts == parts }) {
          routes[index].methods.formUnion(methods)
        } else {
          routes.append(Route(parts: parts, methods: methods))
        }
      }
      // As in the router: literal parts take precedence.
      routes.sort { $0.variables < $1.variables }
      for (number, route) in routes.enumerated() where route.variables == 0 {
        byPath["/" + route.parts.joined(separator: "/")] = number
      }
    }

    private static func parts(of path: String) -> [String] { path.split(separator: "/").map(String.init) }

    /// The route of a path, with its methods; `nil` when there is none.
    func route(of path: String) -> (number: Int, methods: Set<HTTPRequest.Method>)? {
      if let number = byPath[path] { return (number, routes[number].methods) }
      let parts = Self.parts(of: path)
      let found = routes.firstIndex { route in
        route.parts.count == parts.count
          && zip(route.parts, parts).allSatisfy { $0 == $1 || Route.isVariable($0) }
      }
      return found.map { ($0, routes[$0].methods) }
    }
  }
#endif
