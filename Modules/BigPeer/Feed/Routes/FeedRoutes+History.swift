#if Server
  import CRDTCore
  import Facade
  import Foundation
  import HTTPTypes
  import Hummingbird

  extension FeedRoutes {
    func addHistory(to group: RouterGroup<ServerContext>) {
      group.get("history") { request, context in
        let feed = try await authorize(request, context, .read)
        return try await translating {
          let collections = try feed.history.policies.sorted { $0.key < $1.key }.map { name, policy in
            try Value.map(Self.fields(policy, of: name, feed.history))
          }
          return Self.json(["collections": .array(collections)])
        }
      }
      group.get("history/:collection") { request, context in
        let feed = try await authorize(request, context, .read)
        return try await translating {
          let name = try Self.collection(context)
          let page = try HistoryQuery(request).read(feed.history, name)
          var fields: [TextKey: Value] = ["versions": .array(page.versions.map { .map($0.object) })]
          if let next = page.next { fields["cursor"] = .string(HistoryQuery.cursor(next)) }
          return Self.json(fields)
        }
      }
      group.put("history/:collection") { request, context in
        let feed = try await authorize(request, context, .write)
        return try await translating {
          var request = request
          var body = try await FeedBody(&request)
          var policy = HistoryPolicy()
          if let seconds = try body.integer("ageSeconds") { policy.age = .seconds(seconds) }
          if let bytes = try body.integer("bytes") { policy.byteLimit = Int(clamping: bytes) }
          try body.finish()
          let name = try Self.collection(context)
          try await feed.history.keep(policy, of: name)
          return try Self.json(Self.fields(policy, of: name, feed.history))
        }
      }
      group.delete("history/:collection") { request, context in
        let feed = try await authorize(request, context, .write)
        return try await translating {
          let name = try Self.collection(context)
          guard feed.history.policies[name] != nil else {
            throw Problem.notFound("history of this collection")
          }
          try await feed.history.keep(nil, of: name)
          return Response(status: .noContent)
        }
      }
    }

    private static func collection(_ context: ServerContext) throws -> String {
      let text = try context.parameters.require("collection")
      guard let name = text.removingPercentEncoding else {
        throw Problem(.badRequest, "invalidCollectionName", "the collection's name is no text")
      }
      return name
    }

    private static func fields(
      _ policy: HistoryPolicy, of name: String, _ history: HistoryKeeper
    ) throws -> [TextKey: Value] {
      let totals = try history.totals(of: name)
      return [
        "collection": .string(name), "ageSeconds": .int(policy.age.components.seconds),
        "bytes": .count(policy.byteLimit), "versions": .count(totals.versions),
        "usedBytes": .count(totals.bytes),
      ]
    }
  }
#endif
