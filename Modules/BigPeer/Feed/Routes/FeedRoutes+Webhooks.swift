#if Server
  import CRDTCore
  import Facade
  import HTTPTypes
  import Hummingbird

  extension FeedRoutes {
    func addWebhooks(to group: RouterGroup<ServerContext>) {
      group.post("webhooks") { request, context in
        try await answer(request, context, needing: .write) { try await addWebhook(request, $0) }
      }
      group.get("webhooks") { request, context in
        try await answer(request, context, needing: .write) { admission in
          try admission.checkIsForAllCollections()
          let all = admission.application.feed.webhooks.all
          return try await Self.json(["webhooks": .array(all.map { .map($0.fields) })], admission)
        }
      }
      group.get("webhooks/:id") { request, context in
        try await answer(request, context, needing: .write) { admission in
          try admission.checkIsForAllCollections()
          let id = try context.parameters.require("id")
          guard let entry = admission.application.feed.webhooks[id] else { throw Self.noWebhook }
          return Self.json(entry.fields)
        }
      }
      group.patch("webhooks/:id") { request, context in
        try await answer(request, context, needing: .write) { admission in
          try admission.checkIsForAllCollections()
          var fields = try RequestFields(try await request.json(admission).value)
          let isPaused = try fields.flag("paused")
          let change = try Self.change(&fields)
          try fields.finish()
          guard isPaused != nil || change != nil else {
            throw Problem.request("paused, url or secret is missing")
          }
          let id = try context.parameters.require("id")
          let webhooks = admission.application.feed.webhooks
          var entry: Webhooks.Entry?
          if let change {
            entry = try await webhooks.change(change, id)
            guard entry != nil else { throw Self.noWebhook }
          }
          if let isPaused { entry = try await webhooks.setPaused(isPaused, id) }
          guard let entry else { throw Self.noWebhook }
          return Self.json(entry.fields)
        }
      }
      group.delete("webhooks/:id") { request, context in
        try await answer(request, context, needing: .write) { admission in
          try admission.checkIsForAllCollections()
          let id = try context.parameters.require("id")
          guard try await admission.application.feed.webhooks.remove(id) else { throw Self.noWebhook }
          return Response(status: .noContent)
        }
      }
    }

    /// How long the former secret of a webhook signs deliveries if nothing is said, and at most, in seconds.
    private static let overlap = (usual: 86_400, most: 366 * 86_400)

    /// Reads another address, and another secret; `nil` for neither.
    private static func change(_ fields: inout RequestFields) throws(Problem) -> Webhooks.Change? {
      let (url, secret) = (try fields.text("url"), try fields.text("secret"))
      let seconds = try fields.integer("overlapSeconds", in: 0...overlap.most)
      guard url != nil || secret != nil else {
        guard seconds == nil else {
          throw Problem(.unprocessableContent, "request", "overlapSeconds stands beside secret")
        }
        return nil
      }
      return Webhooks.Change(
        url: url, secret: secret, overlap: UInt64(seconds ?? overlap.usual) * 1_000)
    }

    private static var noWebhook: Problem { Problem(.notFound, "notFound", "there is no webhook of this id") }

    private func addWebhook(_ request: Request, _ admission: Admission) async throws -> Response {
      try admission.checkIsForAllCollections()
      let feed = admission.application.feed
      let (body, bytes) = try await request.json(admission)
      var fields = try RequestFields(body)
      let url = try fields.requiredText("url")
      let statements = try fields.statements()
      let arguments = try fields.map("args") ?? [:]
      let secret = try fields.text("secret")
      let start = try fields.text("after").map { text throws(Problem) in try FeedQuery.Start(text) }
      try fields.finish()
      let key = try IdempotencyKey.read(
        request.headers, of: admission.key.id, path: request.uri.path, body: bytes, within: admission.limits)
      let making = IdempotentMaking(key, now)
      let wanted = Webhooks.Request(
        url: url, statements: statements, arguments: arguments, secret: secret,
        position: start?.position(in: feed.parts.store))
      return try await making.carryOut(in: feed.parts.store, Self.made) {
        Self.bytes(
          try await feed.webhooks.add(wanted) { try making.keep(Self.bytes($0.fieldsWithSecret), in: $1) }
            .fieldsWithSecret)
      }
    }

    private static func made(_ answer: [UInt8]) throws -> Response {
      guard case .map(let fields) = try JSON.parse(answer), let id = fields["id"]?.stringValue else {
        throw Problem(.internalServerError, "corrupt", "the answer that was kept is not a webhook")
      }
      return json(answer, status: .created, headers: [.location: "/api/v4/webhooks/\(id)"])
    }
  }

  extension Webhooks.Entry {
    /// The fields with the secret; they are sent only once, when the webhook is created.
    fileprivate var fieldsWithSecret: [TextKey: Value] {
      fields.merging(["secret": .string(webhook.secret)]) { $1 }
    }
  }
#endif
