#if Server
  import CRDTCore
  import Facade
  import HTTPTypes
  import Hummingbird

  extension FeedRoutes {
    func addWebhooks(to group: RouterGroup<ServerContext>) {
      group.post("webhooks") { request, context in
        let feed = try await authorize(request, context, .write)
        return try await translating {
          var request = request
          return try await addWebhook(to: feed, FeedBody(&request))
        }
      }
      group.get("webhooks") { request, context in
        let feed = try await authorize(request, context, .write)
        return Self.json(["webhooks": .array(feed.webhooks.all.map { .map($0.fields) })])
      }
      group.get("webhooks/:id") { request, context in
        let feed = try await authorize(request, context, .write)
        guard let entry = feed.webhooks[try context.parameters.require("id")] else { throw Self.noWebhook }
        return Self.json(entry.fields)
      }
      group.patch("webhooks/:id") { request, context in
        let feed = try await authorize(request, context, .write)
        return try await translating {
          var request = request
          var body = try await FeedBody(&request)
          let isPaused = try body.flag("paused")
          try body.finish()
          guard let isPaused else {
            throw Problem(.badRequest, "argument", "\"paused\" is missing: true or false")
          }
          let id = try context.parameters.require("id")
          guard let entry = try await feed.webhooks.setPaused(isPaused, id) else { throw Self.noWebhook }
          return Self.json(entry.fields)
        }
      }
      group.delete("webhooks/:id") { request, context in
        let feed = try await authorize(request, context, .write)
        return try await translating {
          guard try await feed.webhooks.remove(context.parameters.require("id")) else { throw Self.noWebhook }
          return Response(status: .noContent)
        }
      }
    }

    private static var noWebhook: Problem { .notFound("webhook of this id") }

    private func addWebhook(to feed: ApplicationFeed, _ body: FeedBody) async throws -> Response {
      var body = body
      guard let url = try body.text("url") else {
        throw Problem(.badRequest, "argument", "\"url\" is missing: https://host/path")
      }
      let statements = try body.statements()
      let arguments = try body.object("args") ?? [:]
      let secret = try body.text("secret")
      let start = try body.text("after").map { text throws(DunlinError) in try FeedQuery.Start(text) }
      try body.finish()
      let entry = try await feed.webhooks.add(
        Webhooks.Request(
          url: url, statements: statements, arguments: arguments, secret: secret,
          position: start?.position(in: feed.store)))
      // The secret is told this once.
      var fields = entry.fields
      fields["secret"] = .string(entry.webhook.secret)
      return Self.json(
        fields, status: .created, headers: [.location: "/api/v4/webhooks/\(entry.webhook.id)"])
    }
  }
#endif
