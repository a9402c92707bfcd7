#if Server
  import BigPeer
  import CRDTCore
  import TestKit
  import Testing

  @Suite struct WriteTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func with(
      _ body: @escaping @Sendable (RunningBigPeer, APIClient) async throws -> Void
    ) async throws {
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        try await body(running, try await running.api())
      }
    }

    private let path = "/api/v4/store/write"

    @Test func `commands upsert, update and remove documents in one transaction`() async throws {
      try await with { _, api in
        let written = try await api.post(
          self.path,
          """
          {"commands":[
            {"method":"upsert","collection":"cars","id":"a","value":{"color":"red","n":5,"deep":{"m":1}},
             "valueTypeOverrides":{"n":"counter","deep.m":"counter"}},
            {"method":"upsert","collection":"cars","value":{"_id":"b","color":"blue"}},
            {"method":"upsert","collection":"cars","value":{"color":"green"}},
            {"method":"update","collection":"cars","id":"a","value":{"size":2},
             "commands":[{"method":"increment","path":"n","value":2},{"method":"increment","path":"deep.m","value":1},
                         {"method":"set","path":"deep.k","value":{"$bytes":"AQI="}}]},
            {"method":"update","collection":"cars","query":"color == $args.c","args":{"c":"blue"},
             "commands":[{"method":"remove","path":"color"},{"method":"replaceWithCounter","path":"k","value":9}]}
          ]}
          """)
        #expect(written.status == 200, "\(written.fields)")
        let results = try #require(written.fields["results"]?.list)
        #expect(results.count == 5)
        #expect(written.fields["unconfirmedCount"] == nil)
        #expect(results[3]["mutatedDocumentIds"] == .array([.string("a")]))
        #expect(results[4]["mutatedDocumentIds"] == .array([.string("b")]))
        #expect(written.fields["mutatedDocumentIds"]?.list?.count == 3)
        let found = try await api.post(
          "/api/v4/store/findbyid", "{\"collection\":\"cars\",\"id\":\"a\",\"describe\":true}")
        let fields = try #require(found.fields["documents"]?.list?.first?["fields"])
        #expect(fields["n"] == .map(["$counter": .int(7)]))
        #expect(fields["deep"]?["m"] == .map(["$counter": .int(2)]))
        #expect(fields["deep"]?["k"] == .map(["$bytes": .string("AQI=")]))
        #expect(fields["size"] == .int(2))
        let removed = try await api.post(
          self.path, "{\"commands\":[{\"method\":\"remove\",\"collection\":\"cars\",\"query\":\"k == 9\"}]}")
        #expect(removed.fields["mutatedDocumentIds"] == .array([.string("b")]))
        let count = try await api.post("/api/v4/store/count", "{\"collection\":\"cars\"}")
        #expect(count.fields["count"] == .int(2))
      }
    }

    @Test func `documents are erased by id, in the transaction of the other commands`() async throws {
      let lines = LogLines()
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder), logger: lines.logger) {
        running in
        let api = try await running.api()
        _ = try await api.execute("INSERT INTO people DOCUMENTS ({'_id': 'p-secret', 'name': 'canary'})")
        let erased = try await api.post(
          self.path,
          """
          {"commands":[{"method":"erase","collection":"people","id":"p-secret"},
            {"method":"erase","collection":"people","id":"p-unknown"},
            {"method":"upsert","collection":"people","id":"p3","value":{"n":1}}]}
          """)
        #expect(erased.status == 200, "\(erased.fields)")
        #expect(erased.fields["mutatedDocumentIds"]?.list?.count == 3)
        #expect(erased.fields["unconfirmedCount"] == .int(0))
        let count = try await api.post("/api/v4/store/count", #"{"collection":"people"}"#)
        #expect(count.fields["count"] == .int(1))
        for (command, status) in [
          (#"{"method":"erase","collection":"people","query":"true"}"#, 400),
          (#"{"method":"erase","collection":"people"}"#, 400),
          (#"{"method":"erase","collection":"people","id":1.5}"#, 422),
        ] {
          let answer = try await api.post(self.path, "{\"commands\":[\(command)]}")
          expectEqual(answer.status, status, "\(command)")
        }
      }
      #expect(lines.all.contains { $0.contains("Documents were erased") && $0.contains("documents=2") })
      #expect(!lines.all.contains { $0.contains("p-secret") })
    }

    @Test func `one command that fails leaves nothing written, and is named`() async throws {
      try await with { _, api in
        let answer = try await api.post(
          self.path,
          """
          {"commands":[{"method":"upsert","collection":"cars","id":"a","value":{"n":{"$counter":1}}},
                       {"method":"update","collection":"cars","id":"a","commands":[{"method":"increment","path":"s","value":1}]},
                       {"method":"update","collection":"cars","id":"a","value":{"n":1}}]}
          """)
        #expect(answer.status == 422)
        #expect(answer.fields["place"] == .string("commands[2]"))
        #expect(
          try await api.post("/api/v4/store/count", "{\"collection\":\"cars\"}").fields["count"] == .int(0))
      }
    }

    @Test(arguments: [
      "{\"commands\":[]}", "{\"commands\":[{}]}",
      "{\"commands\":[{\"method\":\"upsert\",\"collection\":\"c\"}]}",
      "{\"commands\":[{\"method\":\"put\",\"collection\":\"c\"}]}",
      "{\"commands\":[{\"method\":\"remove\",\"collection\":\"c\"}]}",
      "{\"commands\":[{\"method\":\"remove\",\"collection\":\"c\",\"id\":1,\"query\":\"true\"}]}",
      "{\"commands\":[{\"method\":\"update\",\"collection\":\"c\",\"id\":1}]}",
      "{\"commands\":[{\"method\":\"update\",\"collection\":\"c\",\"id\":1,\"commands\":[{\"method\":\"add\",\"path\":\"a\"}]}]}",
      "{\"commands\":[{\"method\":\"update\",\"collection\":\"c\",\"id\":1,\"commands\":[{\"method\":\"set\",\"path\":\"..\"}]}]}",
      "{\"commands\":[{\"method\":\"upsert\",\"collection\":\"c\",\"value\":{},\"writeStrategy\":\"no\"}]}",
      "{\"commands\":[{\"method\":\"upsert\",\"collection\":\"c\",\"value\":{},\"more\":1}]}",
    ])
    func `a command that is not as described is refused`(body: String) async throws {
      try await with { _, api in
        let answer = try await api.post(self.path, body)
        #expect(answer.status == 400, "\(answer.fields)")
        #expect(answer.fields["code"] == .string("request"))
      }
    }

    @Test(arguments: [
      "{\"method\":\"update\",\"collection\":\"c\",\"id\":1,\"commands\":[{\"method\":\"increment\",\"path\":\"a\"}]}",
      "{\"method\":\"update\",\"collection\":\"c\",\"id\":1,\"commands\":[{\"method\":\"remove\",\"path\":\"a\",\"value\":1}]}",
      "{\"method\":\"upsert\",\"collection\":\"c\",\"value\":{\"a\":\"x\"},\"valueTypeOverrides\":{\"a\":\"counter\"}}",
      "{\"method\":\"upsert\",\"collection\":\"c\",\"id\":1.5,\"value\":{}}",
    ])
    func `a value that does not fit is told apart from a request that is wrong`(command: String) async throws
    {
      try await with { _, api in
        let answer = try await api.post(self.path, "{\"commands\":[\(command)]}")
        #expect(answer.status == 422, "\(answer.fields)")
        #expect(answer.fields["place"] == .string("commands[0]"))
      }
    }

    // MARK: - Sending again

    @Test func `a write that is sent again with its key is done once and answered the same`() async throws {
      let configuration = RunningBigPeer.configuration(in: folder)
      let body = "{\"statement\":\"UPDATE cars APPLY n PN_INCREMENT BY 1 WHERE _id = 'a'\"}"
      let execute = "/api/v4/store/execute"
      let (first, token): ([UInt8], String) = try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        _ = try await api.post(
          self.path,
          "{\"commands\":[{\"method\":\"upsert\",\"collection\":\"cars\",\"value\":{\"_id\":\"a\",\"n\":{\"$counter\":0}}}]}"
        )
        let first = try await api.send("POST", execute, body, headers: ["Idempotency-Key": "k1"])
        #expect(first.status == 200, "\(first.text)")
        #expect(first.headers["idempotency-replayed"] == nil)
        let all = try await withThrowingTaskGroup(of: [UInt8].self) { group in
          for _ in 0..<8 {
            group.addTask {
              try await api.send("POST", execute, body, headers: ["Idempotency-Key": "k1"]).body
            }
          }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(all.allSatisfy { $0 == first.body })
        let other = try await api.post(
          execute, "{\"statement\":\"DELETE FROM cars\"}", headers: ["Idempotency-Key": "k1"])
        #expect(other.status == 422)
        #expect(other.fields["code"] == .string("idempotencyKey"))
        // The same text of another API key is another key.
        let second = try await running.api().send("POST", execute, body, headers: ["Idempotency-Key": "k1"])
        #expect(second.headers["idempotency-replayed"] == nil)
        return (first.body, api.headers["Authorization"] ?? "")
      }
      try await RunningBigPeer.with(configuration) { running in
        var api = try APIClient(running.addresses.http, token: nil)
        api.headers["Authorization"] = token
        // It holds over a restart.
        let again = try await api.send("POST", execute, body, headers: ["Idempotency-Key": "k1"])
        #expect(again.body == first)
        #expect(again.headers["idempotency-replayed"] == "true")
        let read = try await api.execute("SELECT n FROM cars")
        #expect(read.fields["items"]?.list?.first?["n"] == .int(2))
      }
    }

    @Test func `a write that failed is not kept, and a key must be a key`() async throws {
      try await with { _, api in
        let body = "{\"statement\":\"INSERT INTO cars DOCUMENTS ({'_id': 'a'})\"}"
        _ = try await api.post("/api/v4/store/execute", body)
        let failed = try await api.post("/api/v4/store/execute", body, headers: ["Idempotency-Key": "k"])
        #expect(failed.status == 409)
        _ = try await api.execute("DELETE FROM cars")
        let done = try await api.post("/api/v4/store/execute", body, headers: ["Idempotency-Key": "k"])
        #expect(done.status == 200)
        let wrong = try await api.post(
          "/api/v4/store/execute", body, headers: ["Idempotency-Key": String(repeating: "k", count: 300)])
        #expect(wrong.status == 400)
        let spaced = try await api.post("/api/v4/store/execute", body, headers: ["Idempotency-Key": "a b"])
        #expect(spaced.status == 400)
        let index = try await api.execute("CREATE INDEX i ON cars (n)", headers: ["Idempotency-Key": "k"])
        #expect(index.status == 400)
        #expect(try await api.execute("CREATE INDEX i ON cars (n)").status == 200)
      }
    }

    /// Sends a write with a key of its own.
    private func keyed(
      _ api: APIClient, _ key: String, _ statement: String = "UPDATE cars APPLY n PN_INCREMENT BY 1"
    ) async throws -> (status: Int, code: Value?, headers: [String: String]) {
      let answer = try await api.execute(statement, headers: ["Idempotency-Key": key])
      return (answer.status, answer.fields["code"], answer.headers)
    }

    @Test func `answers that are kept are bounded in number, and none is dropped early`() async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.http.limits.keptAnswers = 6
      let authorization = try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        _ = try await api.execute(
          "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': :n})", args: "{\"n\":{\"$counter\":0}}")
        for key in ["1", "2", "3"] {
          let done = try await self.keyed(api, key)
          expectEqual(done.status, 200)
        }
        let refused = try await self.keyed(api, "4")
        #expect(refused.status == 429)
        #expect(refused.code == .string("keptAnswers"))
        let wait = try #require(refused.headers["retry-after"].flatMap { Int($0) })
        #expect(1...25 * 3_600 ~= wait)
        // It is refused before it writes; what is kept is answered, and other writes are carried out.
        #expect(try await api.execute("SELECT n FROM cars").fields["items"]?.list?.first?["n"] == .int(3))
        #expect(try await self.keyed(api, "1").headers["idempotency-replayed"] == "true")
        #expect(try await api.execute("UPDATE cars APPLY n PN_INCREMENT BY 1").status == 200)
        // Another key has room of its own, until all have as much as they may.
        let other = try await running.api()
        for key in ["1", "2", "3"] {
          let done = try await self.keyed(other, key)
          expectEqual(done.status, 200)
        }
        let full = try await self.keyed(try await running.api(), "1")
        #expect(full.status == 503)
        #expect(full.code == .string("keptAnswers"))
        return api.headers["Authorization"] ?? ""
      }
      try await RunningBigPeer.with(configuration) { running in
        var api = try APIClient(running.addresses.http, token: nil)
        api.headers["Authorization"] = authorization
        #expect(try await self.keyed(api, "4").status == 429)
        #expect(try await self.keyed(api, "3").headers["idempotency-replayed"] == "true")
      }
    }

    @Test func `a write whose answer is too large to be kept leaves nothing written`() async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.http.limits.keptAnswerBytes = 8_000
      try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        let documents = (0..<1_000).map { "{\"_id\":\($0),\"n\":0}" }.joined(separator: ",")
        _ = try await api.execute("INSERT INTO cars DOCUMENTS (:d)", args: "{\"d\":[\(documents)]}")
        let refused = try await self.keyed(api, "1", "UPDATE cars SET n = 1")
        #expect(refused.status == 429)
        #expect(refused.code == .string("keptAnswers"))
        let changed = try await api.execute("SELECT COUNT(*) AS c FROM cars WHERE n = 1")
        #expect(changed.fields["items"]?.list?.first?["c"] == .int(0))
        #expect(try await self.keyed(api, "1", "UPDATE cars SET n = 1 WHERE _id < 10").status == 200)
        #expect(try await api.execute("UPDATE cars SET n = 1").status == 200)
      }
    }

    // MARK: - Reading

    @Test func `documents are found by query, in an order, by parts`() async throws {
      try await with { _, api in
        let commands = (0..<20).map {
          "{\"method\":\"upsert\",\"collection\":\"c\",\"value\":{\"_id\":\($0),\"n\":\($0 % 5)}}"
        }
        _ = try await api.post(self.path, "{\"commands\":[\(commands.joined(separator: ","))]}")
        let found = try await api.post(
          "/api/v4/store/find",
          "{\"collection\":\"c\",\"query\":\"n > $args.low\",\"args\":{\"low\":2},\"sort\":[{\"property\":\"n\",\"direction\":\"desc\"},{\"property\":\"_id\"}],\"limit\":3,\"offset\":1}"
        )
        #expect(found.status == 200, "\(found.fields)")
        #expect(found.fields["documents"]?.list?.compactMap { $0["id"] } == [.int(9), .int(14), .int(19)])
        #expect(found.fields["documents"]?.list?.first?["fields"] == .map(["n": .int(4)]))
        let counted = try await api.post("/api/v4/store/count", "{\"collection\":\"c\",\"query\":\"n == 4\"}")
        #expect(counted.fields["count"] == .int(4))
        let one = try await api.post("/api/v4/store/findbyid", "{\"collection\":\"c\",\"_id\":7}")
        #expect(one.fields["documents"]?.list?.first?["id"] == .int(7))
        let none = try await api.post("/api/v4/store/findbyid", "{\"collection\":\"none\",\"id\":\"x\"}")
        #expect(none.status == 200)
        #expect(none.fields["documents"] == .array([]))
        let wrong = try await api.post("/api/v4/store/find", "{\"collection\":\"c\",\"query\":\"n = 1\"}")
        #expect(wrong.status == 422)
        let virtual = try await api.post("/api/v4/store/find", "{\"collection\":\"system:indexes\"}")
        #expect(virtual.status == 422)
        for name in ["", "__c", "a\u{0}b"] {
          let body = "{\"collection\":\(JSON.text(of: .string(name)))}"
          try await expectEqual(
            api.post("/api/v4/store/count", body).fields["code"], .string("invalidCollectionName"))
        }
        let order = try await api.post(
          "/api/v4/store/find", "{\"collection\":\"c\",\"sort\":[{\"property\":\"n\",\"direction\":\"up\"}]}")
        #expect(order.status == 400)
      }
    }
  }
#endif
