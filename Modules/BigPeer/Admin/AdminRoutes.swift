#if Server
  import DocStore
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
        let served = applications.all.map { $0.summaryOrFailure }
        return try json([
          "applications": .array((served + applications.missing.map(\.summary)).map { .map($0) })
        ])
      }
      router.get("/admin/applications/:application") { request, context in
        if let missing = try missing(request, context) { return try json(missing.summary) }
        return try json(try application(request, context).summary())
      }
      router.get("/admin/applications/:application/devices") { request, context in
        let application = try application(request, context)
        await application.askDevices()
        return try json(["devices": .array(try application.devices().map { .map($0) })])
      }
      router.post("/admin/reload") { request, context in
        try check(request, context)
        let outcome: BigPeerReload
        do {
          outcome = try await reloader.reload()
        } catch {
          throw Problem(.unprocessableContent, "configuration", "\(error)")
        }
        return try json(outcome.fields)
      }
      addKeys(to: router)
      addMaintenance(to: router)
      addExport(to: router)
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
      if let missing = try missing(request, context) {
        throw Problem(
          .serviceUnavailable, "unavailable", "the application is not served: \(missing.reason)")
      }
      guard let application = applications[Self.id(context)] else {
        throw Problem(.notFound, "notFound", "there is no application with this id")
      }
      return application
    }

    /// The application that a path names, if it cannot be served; the request must have the token.
    private func missing(_ request: Request, _ context: ServerContext) throws -> MissingApplication? {
      try check(request, context)
      return applications.missing(Self.id(context))
    }

    private static func id(_ context: ServerContext) -> String {
      context.parameters.get("application").flatMap { $0.removingPercentEncoding } ?? ""
    }

    /// A response in JSON.
    func json(_ fields: [TextKey: Value], status: HTTPResponse.Status = .ok) throws -> Response {
      var bytes: [UInt8] = []
      JSON.write(.map(fields), to: &bytes)
      return .json(bytes, status: status, transaction: nil)
    }

    /// The members of a request's body; none if it has no body.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - limit: The most bytes of the body; by default 64 KiB.
    /// - Returns: The members.
    /// - Throws: `bodyTooLarge`, `request`.
    func fields(_ request: Request, atMost limit: Int? = nil) async throws -> RequestFields {
      try fields(try await request.collect(atMost: limit ?? Self.bodyBytes))
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
          request.headers, of: "admin", path: request.uri.path, body: bytes, within: HTTPLimits())
        return try await makeKey(application, try fields(bytes), IdempotentMaking(key, now))
      }
      router.post("/admin/applications/:application/keys/:key/rotate") { request, context in
        let application = try application(request, context)
        let bytes = try await request.collect(atMost: Self.bodyBytes)
        let key = try IdempotencyKey.read(
          request.headers, of: "admin", path: request.uri.path, body: bytes, within: HTTPLimits())
        return try await rotate(
          context.parameters.get("key") ?? "", of: application, try fields(bytes), IdempotentMaking(key, now))
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
      let text = try fields.text("right")
      guard let single = APIKey.Right(rawValue: text ?? "read") else {
        throw Problem.request("right must be read or write")
      }
      let collections = try Self.collections(&fields, besides: text)
      let right: APIKey.Right = collections?.values.contains(.write) ?? (single == .write) ? .write : .read
      let seconds = try fields.integer("seconds", in: 1...100 * 366 * 86_400)
      try fields.finish()
      let time = now()
      do {
        return try await making.carryOut(in: application.parts.store) { answer in
          .json(answer, status: .created, transaction: nil)
        } make: {
          let (key, token) = try await application.keys.make(
            name: name, right: right, collections: collections, now: time,
            expires: seconds.map { time + Int64($0) * 1_000 }
          ) { try making.keep(Self.bytes($0, $1), in: $2) }
          application.logger.notice(
            "An API key was made", metadata: ["key": "\(key.id)", "right": "\(right.rawValue)"])
          return Self.bytes(key, token)
        }
      } catch {
        throw Problem(any: error)
      }
    }

    /// The maximum number of collections of a key.
    private static let collectionLimit = 1_000

    /// Reads the rights of a key by collection; `nil` if it is for all of them.
    private static func collections(
      _ fields: inout RequestFields, besides right: String?
    ) throws -> [TextKey: APIKey.Right]? {
      guard let members = try fields.map("collections") else { return nil }
      guard right == nil else { throw Problem.request("right and collections exclude each other: give one") }
      guard 1...collectionLimit ~= members.count else {
        throw Problem.request("collections must name 1 to \(collectionLimit) collections")
      }
      return try members.reduce(into: [:]) { rights, member in
        guard let right = member.value.stringValue.flatMap({ APIKey.Right(rawValue: $0) }) else {
          throw Problem.request("collections.\(member.key) must be read or write")
        }
        do {
          try CollectionName.check(member.key.text, operation: "key")
        } catch {
          throw Problem(any: error)
        }
        rights[member.key] = right
      }
    }

    /// How long the former secret of a key is accepted if the request does not say, and at most, in seconds.
    private static let overlap = (usual: 86_400, most: 366 * 86_400)

    private func rotate(
      _ id: String, of application: HostedApplication, _ fields: RequestFields, _ making: IdempotentMaking
    ) async throws -> Response {
      var fields = fields
      let seconds = try fields.integer("seconds", in: 0...Self.overlap.most) ?? Self.overlap.usual
      try fields.finish()
      do {
        return try await making.carryOut(in: application.parts.store) { answer in
          .json(answer, status: .created, transaction: nil)
        } make: {
          let made = try await application.keys.rotate(id, overlap: Int64(seconds) * 1_000, now: now()) {
            try making.keep(Self.bytes($0, $1), in: $2)
          }
          guard let (key, token) = made else {
            throw Problem(.notFound, "notFound", "there is no key with this id")
          }
          application.logger.notice(
            "An API key has a new secret", metadata: ["key": "\(id)", "overlapSeconds": "\(seconds)"])
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
        let isSeries = try fields.flag("series") ?? false
        let asBase = try fields.flag("base") ?? false
        try fields.finish()
        guard isSeries || !asBase else { throw Problem.request("base is for a series") }
        guard path.hasPrefix("/") else {
          throw Problem.request("directory must be an absolute path on the server; it must not exist yet")
        }
        do {
          if isSeries { return try json(try await application.addBackup(to: path, asBase: asBase)) }
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
      router.post("/admin/applications/:application/evict") { request, context in
        let application = try application(request, context)
        var fields = try await fields(request)
        let statement = try fields.requiredText("statement")
        let arguments = try fields.map("args") ?? [:]
        try fields.finish()
        return try await evict(statement, arguments, in: application)
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

    /// Evicts documents, and logs how many.
    private func evict(
      _ statement: String, _ arguments: [TextKey: Value], in application: HostedApplication
    ) async throws -> Response {
      func log(_ outcome: StoreEviction.Outcome, of collection: String) {
        // The statement may contain what documents contain.
        application.logger.notice(
          "Documents were evicted by the administrator",
          metadata: ["collection": "\(collection)", "documents": "\(outcome.evicted)"])
      }
      do {
        let eviction = try StoreEviction(statement, arguments, application.parts)
        do {
          let outcome = try await eviction.carryOut()
          log(outcome, of: eviction.collection)
          return try json([
            "evicted": .count(outcome.evicted), "isComplete": .bool(outcome.isComplete),
          ])
        } catch let failure as StoreEviction.Failure {
          log(failure.outcome, of: eviction.collection)
          var problem = Self.maintenance(failure.error)
          problem.members["evicted"] = .count(failure.outcome.evicted)
          throw problem
        }
      } catch {
        throw Self.maintenance(error)
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

  extension BigPeerReload {
    /// The fields of the answer.
    fileprivate var fields: [TextKey: Value] {
      var fields: [TextKey: Value] = [:]
      for (name, values) in lists { fields[TextKey(name)] = .array(values.map { .string($0) }) }
      let missing = missing.sorted { $0.key < $1.key }
      fields["missing"] = .array(missing.map { .map(["id": .string($0), "reason": .string($1)]) })
      return fields
    }
  }

  extension MissingApplication {
    /// The state of the application.
    var summary: [TextKey: Value] {
      ["id": .string(id), "name": .string(name), "isServed": .bool(false), "reason": .string(reason)]
    }
  }

  extension HostedApplication {
    /// The state of the application.
    func summary() throws -> [TextKey: Value] {
      let statistics = try dunlin.store.statistics()
      return [
        "id": .string(id), "name": .string(configuration.name), "isServed": .bool(true),
        "site": .string(statistics.id),
        "documents": .count(statistics.documentCount), "sequence": .count(statistics.sequence),
        "transactionId": .string(transactions.newest.description),
        "fileBytes": .count(statistics.fileBytes), "usedBytes": .count(statistics.usedBytes),
        "mapBytes": .count(statistics.mapBytes),
        "failure": statistics.failure.map { .string("\($0)") } ?? .null,
        "shortage": statistics.shortage.map { .string("\($0)") } ?? .null,
        "listening": .array(deviceAddresses.map { .string($0) }),
        "devices": .count(dunlin.parts.network.standings.count(where: \.isConnected)),
        "isRestored": .bool(origin.isRestored), "keys": .count(keys.all.count),
        "collectionsNotPulled": .count(missingCollectionCount),
        "subscriptions": .array(dunlin.sync.subscriptions.map { .string($0.queryText) }.sortedByText()),
      ]
    }

    /// The state of the application; why it cannot be read, if its store has failed.
    fileprivate var summaryOrFailure: [TextKey: Value] {
      do {
        return try summary()
      } catch {
        return [
          "id": .string(id), "name": .string(configuration.name), "isServed": .bool(true),
          "failure": .string("\(error)"),
        ]
      }
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
