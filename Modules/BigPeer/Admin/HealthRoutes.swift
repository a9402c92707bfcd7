#if Server
  import CRDTCore
  import Facade
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import Synchronization

  /// The routes for monitoring: `/healthz`, `/readyz` and `/metrics`, which need no token.
  struct HealthRoutes: ServerRoute {
    let applications: HostedApplications
    let metrics: ServerMetrics
    /// Bounds what costs more than an answer; `nil` on a listener that only this machine reaches.
    var pace: MonitorPace?

    func add(to router: Router<ServerContext>) {
      // It only shows that the process answers.
      router.get("/healthz") { _, _ in text("ok\n") }
      router.get("/readyz") { _, context in
        try pace?.count(context.remoteAddress)
        let faults =
          applications.missing.map { "\($0.id): not served: \($0.reason)" }
          + applications.all.compactMap { $0.fault }
        guard faults.isEmpty else {
          throw Problem(.serviceUnavailable, "notReady", faults.joined(separator: "; "))
        }
        return text("ready\n")
      }
      router.get("/metrics") { _, context in
        try pace?.count(context.remoteAddress)
        guard let page = metrics.text else {
          throw Problem(.notFound, "notFound", "the figures go to another backend of metrics")
        }
        var response = text(page)
        response.headers[.contentType] = "text/plain; version=0.0.4; charset=utf-8"
        return response
      }
    }

    private func text(_ text: String) -> Response {
      Response(
        status: .ok, headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
  }

  extension HostedApplication {
    /// Why the application cannot serve; `nil` when it can.
    fileprivate var fault: String? {
      do {
        let statistics = try dunlin.store.statistics()
        if let failure = statistics.failure { return "\(id): \(failure)" }
        if let shortage = statistics.shortage {
          lookForRoom()
          return "\(id): full: \(shortage.message)"
        }
      } catch {
        return "\(id): \(error)"
      }
      if origin.isRestored { return "\(id): \(StoreOrigin.sentence)" }
      return dunlin.isSyncActive ? nil : "\(id): devices cannot connect"
    }
  }
#endif
