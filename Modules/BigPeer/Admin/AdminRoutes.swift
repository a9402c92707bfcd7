#if Server
  import DunlinControl
  import SyncProtocol
  import Transports
  import Logging
  import CRDTCore
  import Facade
  import Foundation
  import HTTPTypes
  import Hummingbird
  import NIOCore

  /// The requests of the server's administrator; each request carries the admin token.
  struct AdminRoutes: ServerRoute {
    let applications: HostedApplications
    let reloader: Reloader
    let token: AdminToken
    let now: @Sendable () -> Int64

    func add(to router: Router<ServerContext>) {
      router.get("/admin/applications") { request, context in
        try check(request, context)
        return try json(["applications": .array(try applications.all.map { .map(try $0.summary()) })])
      }
      router.get("/admin/applications/:application") { request, context in
        try json(try application(request, context).summary())
      }
      router.get("/admin/applications/:application/devices") { request, context in
        let application = try application(request, context)
        await application.askDevices()
        return try json(["devices": .array(try application.devices().map { .map($0) })])
      }
      router.post("/admin/reload") { request, context in
        try check(request, context)
        do {
          try await reloader.reload()
        } catch {
          throw Problem(.unprocessableContent, "configuration", "\(error)")
        }
        return Response(status: .noContent)
      }
      addKeys(to: router)
      addMaintenance(to: router)
    }

    /// Checks that a request has the token; its connection then keeps its place.
    ///
    /// - Throws: `authentication`.
    func check(_ request: Request, _ context: ServerContext) throws(Problem) {
      try token.check(request.headers)
      context.record.noteToken()
    }

    /// The application that a path names; the request must have the token.
    func application(_ request: Request, _ context: ServerContext) throws -> HostedApplication {
      try check(request, context)
      let id = context.parameters.get("application").flatMap { $0.removingPercentEncoding } ?? ""
      guard let application = applications[id] else {
        throw Problem(.notFound, "notFound", "there is no application with this id")
      }
      return application
    }

    /// A response in JSON.
    func json(_ fields: [TextKey: Value], status: HTTPResponse.Status = .ok) throws -> Response {
      var bytes: [UInt8] = []
      JSON.write(.map(fields), to: &bytes)
      return .json(bytes, status: status, transaction: nil)
    }

    /// The members of a request's body; none if it has no body.
    func fields(_ request: Request) async throws -> RequestFields {
      try fields(try await request.collect(atMost: Self.bodyBytes))
    }

    private static let bodyBytes = 64 << 10

    private func fields(_ bytes: [UInt8]) throws -> RequestFields {
      guard !bytes.isEmpty else { return try RequestFields(.map([:])) }
      do {
        return try RequestFields(try JSON.parse(bytes))
      } catch let error as JSONError {
        throw Problem.request("the body is not the JSON that is expected: \(error.message)")
      }
    }

    // MARK: - Keys

    private func addKeys(to router: Router<ServerContext>) {
      router.get("/admin/applications/:application/keys") { request, context in
        let application = try application(request, context)
        return try json(["keys": .array(application.keys.all.map { .map($0.values) })])
      }
      router.post("/admin/applications/:application/keys") { request, context in
        let application = try application(request, context)
        let bytes = try await request.collect(atMost: Self.bodyBytes)
        let key = try IdempotencyKey.read(
          request.headers, of: "admin", path: request.uri.path, body: bytes)
        return try await makeKey(application, try fields(bytes), IdempotentMaking(key, now))
      }
      router.delete("/admin/applications/:application/keys/:key") { request, context in
        let application = try application(request, context)
        let id = context.parameters.get("key") ?? ""
        guard try await application.keys.revoke(id) else {
          throw Problem(.notFound, "notFound", "there is no key with this id")
        }
        application.logger.notice("An API key was revoked", metadata: ["key": "\(id)"])
        return Response(status: .noContent)
      }
    }

    private func makeKey(
      _ application: HostedApplication, _ fields: RequestFields, _ making: IdempotentMaking
    ) async throws -> Response {
      var fields = fields
      let name = try fields.requiredText("name", bytes: 128)
      try Problem.checkIsVisible(name, "name")
      let text = try fields.text("right") ?? "read"
      guard let right = APIKey.Right(rawValue: text) else {
        throw Problem.request("right must be read or write")
      }
      let seconds = try fields.integer("seconds", in: 1...100 * 366 * 86_400)
      try fields.finish()
      let time = now()
      do {
        return try await making.carryOut(in: application.parts.store) { answer in
          .json(answer, status: .created, transaction: nil)
        } make: {
          let (key, token) = try await application.keys.make(
            name: name, right: right, now: time, expires: seconds.map { time + Int64($0) * 1_000 }
          ) { try making.keep(Self.bytes($0, $1), in: $2) }
          application.logger.notice(
            "An API key was made", metadata: ["key": "\(key.id)", "right": "\(right.rawValue)"])
          return Self.bytes(key, token)
        }
      } catch {
        throw Problem(any: error)
      }
    }

    /// The response that contains a new key; it is sent only once.
    private static func bytes(_ key: APIKey, _ token: String) -> [UInt8] {
      var bytes: [UInt8] = []
      JSON.write(.map(key.values.merging(["token": .string(token)]) { $1 }), to: &bytes)
      return bytes
    }

    // MARK: - Maintenance

    private func addMaintenance(to router: Router<ServerContext>) {
      router.post("/admin/applications/:application/backup") { request, context in
        let application = try application(request, context)
        var fields = try await fields(request)
        let path = try fields.requiredText("directory", bytes: 4_096)
        try fields.finish()
        guard path.hasPrefix("/") else {
          throw Problem.request("directory must be an absolute path on the server; it must not exist yet")
        }
        do {
          try await application.dunlin.store.backup(to: path)
        } catch {
          throw Self.maintenance(error)
        }
        application.logger.notice("The store was backed up", metadata: ["directory": "\(path)"])
        return try json(["directory": .string(path)])
      }
      router.post("/admin/applications/:application/resume") { request, context in
        let application = try application(request, context)
        do {
          let wasRestored = try await application.resume()
          if wasRestored { application.logger.notice("The store takes the place of the original") }
          return try json(["wasRestored": .bool(wasRestored)])
        } catch {
          throw Self.maintenance(error)
        }
      }
      router.post("/admin/applications/:application/verify") { request, context in
        let application = try application(request, context)
        do {
          return try json(StoreReport.values(of: try await application.dunlin.store.verify()))
        } catch {
          throw Self.maintenance(error)
        }
      }
    }

    /// Turns an error into a problem with all details, because the administrator may see them.
    private static func maintenance(_ error: any Error) -> Problem {
      let problem = Problem(any: error)
      guard let error = DunlinError.translating(error) as? DunlinError else { return problem }
      var told = Problem(problem.status, problem.code, "\(error)")
      told.underlying = problem.underlying
      return told
    }
  }

  extension HostedApplication {
    /// The state of the application.
    func summary() throws -> [TextKey: Value] {
      let statistics = try dunlin.store.statistics()
      return [
        "id": .string(id), "name": .string(configuration.name), "site": .string(statistics.id),
        "documents": .count(statistics.documentCount), "sequence": .count(statistics.sequence),
        "transactionId": .string(transactions.newest.description),
        "fileBytes": .count(statistics.fileBytes), "usedBytes": .count(statistics.usedBytes),
        "mapBytes": .count(statistics.mapBytes),
        "failure": statistics.failure.map { .string("\($0)") } ?? .null,
        "listening": .array(deviceAddresses.map { .string($0) }),
        "devices": .count(dunlin.parts.network.standings.count(where: \.isConnected)),
        "isRestored": .bool(origin.isRestored), "keys": .count(keys.all.count),
        "collectionsNotPulled": .count(missingCollectionCount),
        "subscriptions": .array(dunlin.sync.subscriptions.map { .string($0.queryText) }.sortedByText()),
      ]
    }

    /// How long to wait for devices to report their version.
    private static let patience = Duration.seconds(1)

    /// Asks devices for their details, if one has not reported them yet.
    fileprivate func askDevices() async {
      func isMissing() -> Bool {
        dunlin.presence.graph.remotePeers.contains { !$0.connections.isEmpty && $0.version.isEmpty }
      }
      guard isMissing() else { return }
      let asking = dunlin.parts.network.observePresence()
      let end = ContinuousClock.now + Self.patience
      while isMissing(), ContinuousClock.now < end, !Task.isCancelled {
        try? await Task.sleep(for: .milliseconds(20))
      }
      asking.cancel()
    }

    /// The connected devices, and the progress of sync with each.
    func devices() throws -> [[TextKey: Value]] {
      let sequence = try dunlin.store.statistics().sequence
      let peers = Dictionary(dunlin.presence.graph.remotePeers.map { ($0.id, $0) }) { $1 }
      return dunlin.parts.network.standings.filter(\.isConnected).map { standing in
        let connection = standing.connection
        let peer = peers[standing.peer.site.description]
        // A device that pulls nothing has no lag.
        let lag: UInt64? =
          standing.delivery.pullsNothing
          ? 0 : standing.delivery.servedSequence.map { sequence - min($0, sequence) }
        return [
          "id": .string(standing.peer.site.description),
          "name": .string(peer?.deviceName ?? standing.peer.name),
          "key": connection.identity.map { .string($0.key.description) } ?? .null,
          "user": connection.identity?.user.map { .string($0) } ?? .null,
          "identityMetadata": .map(connection.identity?.information ?? [:]),
          "version": peer.flatMap { $0.version.isEmpty ? nil : .string($0.version) } ?? .null,
          "address": .string("\(connection.endpoint)"),
          "lag": lag.map { .count($0) } ?? .null, "isCaughtUp": .bool(standing.hasAll),
          "documentsSent": .count(connection.statistics.documentsSent),
          "documentsReceived": .count(connection.statistics.documentsReceived),
          "bytesSent": .count(connection.statistics.bytesSent),
          "bytesReceived": .count(connection.statistics.bytesReceived),
        ]
      }
    }
  }

  extension [Value] {
    fileprivate func sortedByText() -> [Value] {
      sorted { ($0.stringValue ?? "") < ($1.stringValue ?? "") }
    }
  }
#endif
