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

    /// Whether anybody may ask, so that answers must not say where files are.
    private var isPublic: Bool { pace != nil }

    func add(to router: Router<ServerContext>) {
      // It only shows that the process answers.
      router.get("/healthz") { _, _ in text("ok\n") }
      router.get("/readyz") { request, context in
        try pace?.count(context.remoteAddress)
        let faults = try faults(of: try QueryParameters(request)["application"])
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

    /// Why the server is not ready, or one application of it.
    ///
    /// - Throws: `notFound` if there is no application with that id.
    private func faults(of id: String?) throws(Problem) -> [String] {
      let missing = applications.missing.filter { id == nil || $0.id == id }
      let served = applications.all.filter { id == nil || $0.id == id }
      guard id == nil || !missing.isEmpty || !served.isEmpty else {
        throw Problem(.notFound, "notFound", "there is no application with this id")
      }
      return missing.map { isPublic ? "\($0.id): not served" : "\($0.id): not served: \($0.reason)" }
        + served.compactMap { application in
          application.fault.map {
            isPublic ? "\(application.id): \($0.word)" : "\(application.id): \($0.text)"
          }
        }
    }

    private func text(_ text: String) -> Response {
      Response(
        status: .ok, headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
  }

  /// Why an application cannot serve.
  private struct Fault {
    /// What anybody may know.
    let word: String
    /// What the administrator reads: it may name files.
    let text: String

    init(_ word: String, _ detail: String? = nil) {
      self.word = word
      text = detail ?? word
    }
  }

  extension HostedApplication {
    /// Why the application cannot serve; `nil` when it can.
    fileprivate var fault: Fault? {
      do {
        let statistics = try dunlin.store.statistics()
        if let failure = statistics.failure { return Fault("the store has failed", "\(failure)") }
        if let shortage = statistics.shortage {
          lookForRoom()
          return Fault("full", "full: \(shortage.message)")
        }
      } catch {
        return Fault("the store has failed", "\(error)")
      }
      if origin.isRestored { return Fault("restored", StoreOrigin.sentence) }
      return dunlin.isSyncActive ? nil : Fault("devices cannot connect")
    }
  }
#endif
