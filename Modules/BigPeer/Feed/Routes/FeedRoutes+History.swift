#if Server
  import CRDTCore
  import DunlinFeed
  import Foundation
  import HTTPTypes
  import Hummingbird

  extension FeedRoutes {
    func addHistory(to group: RouterGroup<ServerContext>) {
      group.get("history") { request, context in
        try await answer(request, context, needing: .read) { admission in
          let history = admission.application.feed.history
          let policies = try history.policies.filter { admission.key.covers(.read, in: $0.key) }
          let collections = try policies.sorted { $0.key < $1.key }.map { name, policy in
            try Value.map(Self.fields(policy, of: name, history))
          }
          return Self.json(["collections": .array(collections)])
        }
      }
      group.get("history/:collection") { request, context in
        try await answer(request, context, needing: .read) { admission in
          let history = admission.application.feed.history
          try admission.check(.read, in: Self.collection(context))
          let name = try Self.keptCollection(context, history)
          return try await Self.json(try HistoryQuery(request).fields(history, name), admission)
        }
      }
      group.put("history/:collection") { request, context in
        try await answer(request, context, needing: .write) { try await setPolicy(request, context, $0) }
      }
      group.delete("history/:collection") { request, context in
        try await answer(request, context, needing: .write) { admission in
          try admission.check(.write, in: Self.collection(context))
          let history = admission.application.feed.history
          // What misspells the request for one document's versions must not end the history.
          try QueryParameters(request).check(only: [])
          try await history.keep(nil, of: Self.keptCollection(context, history))
          return Response(status: .noContent)
        }
      }
      group.delete("history/:collection/versions") { request, context in
        try await answer(request, context, needing: .write) { admission in
          try admission.check(.write, in: Self.collection(context))
          let history = admission.application.feed.history
          let name = try Self.keptCollection(context, history)
          let id = try HistoryQuery.onlyID(request)
          return Self.json(["versions": .count(try await history.removeVersions(of: id, in: name))])
        }
      }
    }

    private func setPolicy(
      _ request: Request, _ context: ServerContext, _ admission: Admission
    ) async throws -> Response {
      let history = admission.application.feed.history
      let name = try Self.collection(context)
      try admission.check(.write, in: name)
      var fields = try RequestFields(try await request.json(admission).value)
      var policy = HistoryPolicy()
      let (ages, byteLimits) = (HistoryPolicy.ages, HistoryPolicy.byteLimits)
      let seconds = Int(ages.lowerBound.components.seconds)...Int(ages.upperBound.components.seconds)
      if let seconds = try fields.integer("ageSeconds", in: seconds) { policy.age = .seconds(seconds) }
      if let bytes = try fields.integer("bytes", in: byteLimits) { policy.byteLimit = bytes }
      try fields.finish()
      try await history.keep(policy, of: name)
      return try Self.json(Self.fields(policy, of: name, history))
    }

    private static func collection(_ context: ServerContext) throws -> String {
      let text = try context.parameters.require("collection")
      guard let name = text.removingPercentEncoding else {
        throw Problem.request("the collection's name in the path is no text")
      }
      return name
    }

    /// The collection of the path.
    ///
    /// - Throws: `notFound` if no history of the collection is kept.
    private static func keptCollection(_ context: ServerContext, _ history: HistoryKeeper) throws -> String {
      let name = try collection(context)
      guard try history.policy(of: name) != nil else {
        throw Problem(.notFound, "notFound", "no history of this collection is kept")
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
