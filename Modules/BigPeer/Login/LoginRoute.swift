#if Server
  import CRDTCore
  import Foundation
  import HTTPTypes
  import Hummingbird
  import Links
  import NIOCore

  /// The login endpoints of the applications, each at the path of its public address.
  struct LoginRoute: ServerRoute {
    let endpoints: [LoginEndpoint]
    /// The web proxies that are trusted to report the source of a request.
    let proxies: TrustedProxies

    func add(to router: Router<ServerContext>) {
      for endpoint in endpoints {
        let path = endpoint.address.path
        router.post("\(path)/challenge") { [proxies] request, context in
          try await Self.answer(request) { body in
            await endpoint.challenge(
              body, from: LoginOrigin(ClientAddress(context.remoteAddress, request.headers, proxies: proxies))
            )
          }
        }
        router.post("\(path)/login") { [proxies] request, context in
          try await Self.answer(request) { body in
            await endpoint.login(
              body, from: LoginOrigin(ClientAddress(context.remoteAddress, request.headers, proxies: proxies))
            )
          }
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
