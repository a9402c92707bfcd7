#if Server
  import BigPeerFiles
  import HTTPTypes
  import Hummingbird
  import NIOCore

  /// `/api/openapi.json`: the description of the HTTP API, for people and tools (OpenAPI 3.1).
  struct DescriptionRoute: ServerRoute {
    func add(to router: Router<ServerContext>) {
      let description = bigpeer_openapi_json().buffer
      router.get("/api/openapi.json") { _, _ in
        Response(
          status: .ok, headers: [.contentType: "application/json", .cacheControl: "public, max-age=300"],
          body: ResponseBody(byteBuffer: description))
      }
    }
  }
#endif
