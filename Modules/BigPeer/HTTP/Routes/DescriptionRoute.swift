#if Server
  import HTTPTypes
  import Hummingbird
  import NIOCore

  /// `/api/openapi.json`: the description of the HTTP API, for people and tools (OpenAPI 3.1).
  struct DescriptionRoute: ServerRoute {
    func add(to router: Router<ServerContext>) {
      router.get("/api/openapi.json") { _, _ in
        Response(
          status: .ok, headers: [.contentType: "application/json", .cacheControl: "public, max-age=300"],
          body: ResponseBody(byteBuffer: ByteBuffer(bytes: PackageResources.openapi_json)))
      }
    }
  }
#endif
