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
          let all = admission.application.feed.webhooks.all
          return try await Self.json(["webhooks": .array(all.map { .map($0.fields) })], admission)
        }
      }
      group.get("webhooks/:id") { request, context in
        try await answer(request, context, needing: .write) { admission in
          let id = try context.parameters.require("id")
          guard let entry = admission.application.feed.webhooks[id] else { throw Self.noWebhook }
          return Self.json(entry.fields)
        }
      }
      group.patch("webhooks/:id") { request, context in
        try await answer(request, context, needing: .write) { admission in
          var fields = try RequestFields(try await request.json(admission).value)
          let isPaused = try fields.flag("paused")
          try fields.finish()
          guard let isPaused else { throw Problem.request("paused is missing: true or false") }
          let id = try context.parameters.require("id")
          guard let entry = try await admission.application.feed.webhooks.setPaused(isPaused, id) else {
            throw Self.noWebhook
          }
          return Self.json(entry.fields)
        }
      }
      group.delete("webhooks/:id") { request, context in
        try await answer(request, context, needing: .write) { admission in
          let id = try context.parameters.require("id")
          guard try await admission.application.feed.webhooks.remove(id) else { throw Self.noWebhook }
          return Response(status: .noContent)
        }
      }
    }

    private static var noWebhook: Problem { Problem(.notFound, "notFound", "there is no webhook of this id") }

    private func addWebhook(_ request: Request, _ admission: Admission) async throws -> Response {
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
