#if Server
  import CRDTCore
  import Foundation
  import HTTPTypes
  import Hummingbird
  import Links
  import NIOCore
  import Synchronization

  /// The login endpoints of the applications, each at the path of its public address.
  ///
  /// They come and go with the applications while the server runs, so each request looks for its endpoint.
  final class LoginRoute: Sendable {
    /// The endpoint of a path.
    struct Match: Sendable {
      enum Step: String, Sendable, CaseIterable { case challenge, login }

      /// The path, for logs and figures: it is a part of the configuration.
      let name: String
      /// The number of the route at its listener.
      let number: Int
      let step: Step
      /// `nil` while the application cannot be served.
      let endpoint: LoginEndpoint?
    }

    /// The methods of each path.
    static let methods: Set<HTTPRequest.Method> = [.post]

    private let applications: HostedApplications
    /// The web proxies that are trusted to report the source of a request.
    private let proxies: TrustedProxies
    /// The numbers of the paths so far.
    private let numbers = Mutex<[String: Int]>([:])

    init(_ applications: HostedApplications, proxies: TrustedProxies) {
      self.applications = applications
      self.proxies = proxies
    }

    /// The endpoint of a path; `nil` for the path of no application's logins.
    func match(_ path: String) -> Match? {
      let parts = path.split(separator: "/")
      guard let step = parts.last.flatMap({ Match.Step(rawValue: String($0)) }) else { return nil }
      let base = parts.dropLast()
      func isBase(_ path: String) -> Bool { path.split(separator: "/").elementsEqual(base) }
      let endpoint = applications.all.lazy.compactMap(\.logins.endpoint).first { isBase($0.address.path) }
      guard endpoint != nil || applications.missing.contains(where: { $0.loginPath.map(isBase) ?? false })
      else { return nil }
      let name = "/\(parts.joined(separator: "/"))"
      let number = numbers.withLock { numbers in
        let number = numbers[name] ?? RouteList.none - 1 - numbers.count
        numbers[name] = number
        return number
      }
      return Match(name: name, number: number, step: step, endpoint: endpoint)
    }

    /// Answers a request at a path of logins.
    func respond(to request: Request, at match: Match, _ context: ServerContext) async throws -> Response {
      guard let endpoint = match.endpoint else {
        return Self.response(
          .refusal(503, "the login service cannot answer now", retryAfter: MissingApplication.patience))
      }
      let origin = LoginOrigin(ClientAddress(context.remoteAddress, request.headers, proxies: proxies))
      return try await Self.answer(request) { body in
        switch match.step {
        case .challenge: await endpoint.challenge(body, from: origin)
        case .login: await endpoint.login(body, from: origin)
        }
      }
    }

    private static func answer(
      _ request: Request, _ decide: (_ body: [UInt8]) async -> LoginAnswer
    ) async throws -> Response {
      let type = request.headers[.contentType]?.prefix { $0 != ";" }
        .trimmingCharacters(in: .whitespaces).lowercased()
      guard type == "application/json" else {
        return response(.refusal(415, "a login is application/json"))
      }
      let body: ByteBuffer
      do {
        body = try await request.body.collect(upTo: LoginEndpoint.requestBytes)
      } catch is NIOTooManyBytesError {
        return response(.refusal(413, "a login has at most \(LoginEndpoint.requestBytes) bytes"))
      }
      return response(await decide(Array(body.readableBytesView)))
    }

    private static func response(_ answer: LoginAnswer) -> Response {
      var headers: HTTPFields = [.contentType: "application/json", .cacheControl: "no-store"]
      if let seconds = answer.retrySeconds { headers[.retryAfter] = "\(seconds)" }
      var bytes: [UInt8] = []
      JSON.write(.map(answer.fields), to: &bytes)
      return Response(
        status: .init(code: answer.status), headers: headers,
        body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
  }
#endif
