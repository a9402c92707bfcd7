#if Server
  import BigPeer
  import CRDTCore
  import Facade
  import Foundation
  import TestKit
  import Testing

  @Suite struct StatementTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func with(
      _ change: (inout BigPeerConfiguration) -> Void = { _ in },
      _ body: @escaping @Sendable (RunningBigPeer, APIClient) async throws -> Void
    ) async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      change(&configuration)
      try await RunningBigPeer.with(configuration) { running in
        try await body(running, try await running.api())
      }
    }

    @Test func `PROFILE gathers no more rows than a statement may take memory`() async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.http.limits.statementBytes = 1 << 20
      try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        for start in [0, 1_000, 2_000] {
          let rows = (start..<start + 1_000).map {
            "{\"_id\":\($0),\"text\":\"\(String(repeating: "x", count: 500))\"}"
          }
          let inserted = try await api.execute(
            "INSERT INTO logs DOCUMENTS (:d)", args: "{\"d\":[\(rows.joined(separator: ","))]}")
          expectEqual(inserted.status, 200, "\(inserted.fields)")
        }
        #expect(try await api.execute("SELECT * FROM logs").status == 200)
        #expect(try await api.execute("PROFILE SELECT * FROM logs LIMIT 3").fields["items"]?.list?.count == 4)
        let profiled = try await api.execute("PROFILE SELECT * FROM logs")
        #expect(profiled.status == 422)
        #expect(profiled.fields["code"] == .string("limit"))
      }
    }

    @Test func `a document that is too large to be sent is named in the answer to its write`() async throws {
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        let api = try await running.api()
        let store = try #require(running.bigPeer.applications?["default"]?.dunlin.store)
        _ = try await store.execute(query: "ALTER SYSTEM SET DOCUMENT_SIZE_SOFT_LIMIT_BYTES = 1000")
        _ = try await store.execute(query: "ALTER SYSTEM SET DOCUMENT_SIZE_HARD_LIMIT_BYTES = 2000")
        let text = String(repeating: "x", count: 3_000)
        let expected = "the document \"big\" of the collection logs takes "
        let inserted = try await api.execute(
          "INSERT INTO logs DOCUMENTS ({'_id': 'big', 'text': :t}), ({'_id': 'small'})",
          args: "{\"t\":\"\(text)\"}")
        let warnings = try #require(inserted.fields["warnings"]?.list).compactMap { $0.text }
        #expect(warnings.count == 1 && warnings[0].hasPrefix(expected), "\(inserted.fields)")
        let body =
          "{\"commands\":[{\"method\":\"update\",\"collection\":\"logs\",\"id\":\"big\",\"value\":{\"n\":1}}]}"
        let updated = try await api.post("/api/v4/store/write", body)
        #expect(
          updated.fields["warnings"]?.list?.first?.text?.hasPrefix(expected) == true, "\(updated.fields)")
        #expect(try await api.execute("DELETE FROM logs").fields["warnings"]?.list?.isEmpty == true)
      }
    }

    @Test func `a statement writes and reads, and each answer has the members of the model`() async throws {
      try await with { _, api in
        let inserted = try await api.execute(
          "INSERT INTO cars DOCUMENTS (:car)",
          args: "{\"car\":{\"_id\":\"a\",\"color\":\"red\",\"n\":{\"$counter\":3}}}")
        #expect(inserted.status == 200)
        #expect(inserted.fields["queryType"] == .string("mutation"))
        #expect(inserted.fields["mutatedDocumentIds"] == .array([.string("a")]))
        #expect(inserted.fields["items"] == .array([]))
        #expect(inserted.fields["warnings"] == .array([]))
        #expect(inserted.fields["totalWarningsCount"] == .int(0))
        let token = try #require(inserted.fields["transactionId"]?.text)
        #expect(inserted.headers["dunlin-transaction"] == token)
        let read = try await api.execute(
          "SELECT * FROM cars WHERE color = :c", args: "{\"c\":\"red\"}", headers: ["X-DITTO-TXN-ID": token])
        #expect(read.fields["queryType"] == .string("select"))
        #expect(
          read.fields["items"]
            == .array([.map(["_id": .string("a"), "color": .string("red"), "n": .int(3)])]))
        #expect(read.fields["mutatedDocumentIds"] == .array([]))
        let again = try await api.post("/api/v5/store/execute", "{\"statement\":\"SELECT color FROM cars\"}")
        #expect(again.fields["items"]?.list?.count == 1)
        let plan = try await api.execute("EXPLAIN SELECT * FROM cars")
        #expect(plan.status == 200)
        #expect(try await api.execute("CREATE INDEX IF NOT EXISTS c ON cars (color)").status == 200)
        #expect(try await api.execute("SHOW ALL").status == 200)
      }
    }

    @Test func `a map that looks like a tag comes back as it was, by every way`() async throws {
      try await with { _, api in
        let car = #"{"_id":"a","n":{"$$counter":3}}"#
        _ = try await api.execute("INSERT INTO cars DOCUMENTS (:car)", args: "{\"car\":\(car)}")
        let selected = try await api.execute("SELECT * FROM cars").fields["items"]?.list?.first?["n"]
        let found = [
          try await api.post("/api/v4/store/findbyid", #"{"collection":"cars","id":"a"}"#),
          try await api.post("/api/v4/store/find", #"{"collection":"cars","query":"true"}"#),
        ]
        .map { $0.fields["documents"]?.list?.first?["fields"]?["n"] }
        #expect([selected] + found == Array(repeating: .map(["$$counter": .int(3)]), count: 3))
      }
    }

    @Test func `what the author may have got wrong is told, ten times at most`() async throws {
      try await with { _, api in
        _ = try await api.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'red'})")
        let condition = (0..<12).map { "fault\($0) = 1" }.joined(separator: " AND ")
        let read = try await api.execute("SELECT * FROM cars WHERE \(condition)")
        #expect(read.fields["warnings"]?.list?.count == 10)
        #expect(read.fields["totalWarningsCount"] == .int(12))
      }
    }

    @Test(arguments: [
      ("SELEC * FROM cars", 422, "syntax"), ("SELECT * FROM cars WHERE a = :x", 422, "argument"),
      ("INSERT INTO cars DOCUMENTS ({'_id': null})", 422, "argument"),
      ("INSERT INTO cars DOCUMENTS ({'_id': 'here'})", 409, "conflict"),
      ("DROP INDEX none ON cars", 404, "indexNotFound"), ("EVICT FROM cars", 403, "unsupported"),
      ("ALTER SYSTEM SET DQL_STRICT_TYPES = true", 403, "unsupported"),
      ("INSERT INTO __cars DOCUMENTS ({'a': 1})", 422, "invalidCollectionName"),
    ])
    func `a statement that is wrong has a status and a code`(statement: String, status: Int, code: String)
      async throws
    {
      try await with { _, api in
        _ = try await api.execute("INSERT INTO cars DOCUMENTS ({'_id': 'here'})")
        let answer = try await api.execute(statement)
        #expect(answer.status == status, "\(answer.fields)")
        #expect(answer.fields["code"] == .string(code), "\(answer.fields)")
        #expect(answer.fields["status"] == .int(Int64(status)))
        #expect(answer.headers["content-type"] == "application/problem+json")
        #expect(answer.fields["detail"]?.text?.isEmpty == false)
      }
    }

    @Test func `a syntax error has its line and column, and nothing of the arguments`() async throws {
      try await with { _, api in
        let answer = try await api.execute("SELECT *\nFRM cars", args: "{\"secret\":\"s3cret\"}")
        #expect(answer.fields["line"] == .int(2))
        #expect(answer.fields["column"] == .int(1))
        #expect(!JSON.text(of: .map(answer.fields)).contains("s3cret"))
      }
    }

    @Test(arguments: [
      ("", 400), ("{", 400), ("[]", 400), ("{}", 400), ("{\"statement\":7}", 400),
      ("{\"statement\":\"SELECT * FROM a\",\"args\":[]}", 400),
      ("{\"statement\":\"SELECT * FROM a\",\"more\":1}", 400),
      ("{\"statement\":\"a\",\"statement\":\"b\"}", 400),
      ("{\"statement\":\"\\ud800\"}", 400),
    ])
    func `a body that is not as described is refused`(body: String, status: Int) async throws {
      try await with { _, api in
        let answer = try await api.post(
          "/api/v4/store/execute", body, headers: ["Content-Type": "application/json"])
        #expect(answer.status == status)
        #expect(answer.fields["code"] == .string("request"))
      }
    }

    @Test func `the content type, the length and the path decide too`() async throws {
      try await with {
        $0.http.limits.bodyBytes = 1_024
      } _: { _, api in
        let path = "/api/v4/store/execute"
        let body = "{\"statement\":\"SELECT * FROM a\"}"
        #expect(try await api.send("POST", path, body, headers: ["Content-Type": "text/plain"]).status == 415)
        #expect(
          try await api.send(
            "POST", path, body, headers: ["Content-Type": "application/json; charset=latin1"]
          ).status
            == 415)
        #expect(
          try await api.send("POST", path, body, headers: ["Content-Type": "application/json; charset=utf-8"])
            .status
            == 200)
        #expect(try await api.send("POST", path, body, headers: ["Content-Encoding": "gzip"]).status == 415)
        let large = try await api.send(
          "POST", path, "{\"statement\":\"\(String(repeating: "x", count: 2_000))\"}")
        #expect(large.status == 413)
        let missing = try await api.send("GET", "/api/v4/store/nothing")
        #expect(missing.status == 404)
        #expect(missing.headers["content-type"] == "application/problem+json")
        let method = try await api.send("GET", path)
        #expect(method.status == 405)
        #expect(method.headers["allow"] == "POST")
      }
    }

    @Test func `a result of many rows is sent as it is read`() async throws {
      try await with { _, api in
        let documents = (0..<2_000).map {
          "{\"_id\":\($0),\"text\":\"\(String(repeating: "x", count: 500))\"}"
        }
        let commands = documents.map { "{\"method\":\"upsert\",\"collection\":\"c\",\"value\":\($0)}" }
        let written = try await api.post(
          "/api/v4/store/write", "{\"commands\":[\(commands.joined(separator: ","))]}")
        #expect(written.status == 200)
        let answer = try await api.send(
          "POST", "/api/v4/store/execute", "{\"statement\":\"SELECT * FROM c\"}")
        #expect(answer.headers["transfer-encoding"] == "chunked")
        guard case .map(let fields) = try JSON.parse(answer.body) else { return }
        #expect(fields["items"]?.list?.count == 2_000)
      }
    }

    @Test func `an answer that cannot be completed has no end`() async throws {
      try await with {
        $0.http.limits.rows = 1_000
      } _: { running, api in
        let commands = (0..<1_100).map {
          "{\"method\":\"upsert\",\"collection\":\"c\",\"value\":{\"_id\":\($0),\"t\":\"\(String(repeating: "x", count: 300))\"}}"
        }
        _ = try await api.post("/api/v4/store/write", "{\"commands\":[\(commands.joined(separator: ","))]}")
        await #expect(throws: BigPeerError.self) {
          try await api.send("POST", "/api/v4/store/execute", "{\"statement\":\"SELECT * FROM c\"}")
        }
        let part = try await api.execute("SELECT * FROM c LIMIT 1000")
        #expect(part.fields["items"]?.list?.count == 1_000)
        // What is too much from the beginning has a status.
        let few = try await api.execute("SELECT * FROM (c) LIMIT 5")
        #expect(few.status == 200 || few.status == 422)
      }
    }

    @Test func `a statement that takes too long ends`() async throws {
      try await with { _, api in
        let commands = (0..<3_000).map {
          "{\"method\":\"upsert\",\"collection\":\"c\",\"value\":{\"_id\":\($0),\"n\":\($0)}}"
        }
        let written = try await api.post(
          "/api/v4/store/write", "{\"commands\":[\(commands.joined(separator: ","))]}")
        #expect(written.status == 200)
      }
      try await with {
        $0.http.limits.statementTime = .milliseconds(50)
      } _: { _, api in
        let answer = try await api.execute("SELECT COUNT(*) FROM c a JOIN c b USE INDEX '' ON a.n < b.n")
        #expect(answer.status == 503, "\(answer.fields)")
        #expect(answer.fields["code"] == .string("timeout"))
      }
    }

    /// Writes documents with numbers, and texts of so many bytes.
    private func fill(_ api: APIClient, _ count: Int, bytes: Int = 0) async throws {
      for start in stride(from: 0, to: count, by: 1_000) {
        let commands = (start..<min(start + 1_000, count)).map {
          "{\"method\":\"upsert\",\"collection\":\"c\",\"value\":{\"_id\":\($0),\"n\":\($0),\"t\":\"\(String(repeating: "x", count: bytes))\"}}"
        }
        let written = try await api.post(
          "/api/v4/store/write", "{\"commands\":[\(commands.joined(separator: ","))]}")
        expectEqual(written.status, 200)
      }
    }

    /// A statement that goes on for as long as it may.
    private let endless =
      "SELECT COUNT(*) FROM c a JOIN c b USE INDEX '' ON a.n < b.n JOIN c d USE INDEX '' ON b.n < d.n"

    @Test func `rows that are gathered take of a statement's memory, and those of a stream and ids do not`()
      async throws
    {
      try await with {
        $0.http.limits.statementBytes = 1 << 20
      } _: { _, api in
        try await self.fill(api, 3_000, bytes: 1_000)
        for statement in [
          "PROFILE SELECT * FROM c", "SELECT * FROM c UNION ALL SELECT * FROM c",
          "SELECT * FROM c ORDER BY n LIMIT 2900",
          "INSERT INTO d SELECT * FROM c", "UPDATE c SET m = t", "DELETE FROM c RETURNING *",
        ] {
          let answer = try await api.execute(statement)
          expectEqual(answer.status, 422, "\(statement): \(answer.fields["detail"]?.text ?? "")")
          expectEqual(answer.fields["code"], .string("limit"))
        }
        #expect(try await api.execute("SELECT * FROM c").fields["items"]?.list?.count == 3_000)
        let profile = try await api.execute("PROFILE SELECT COUNT(*) FROM c")
        #expect(profile.fields["queryType"] == .string("unknown"))
        #expect(profile.fields["items"]?.list?.count == 2)
        let removed = try await api.post(
          "/api/v4/store/write",
          "{\"commands\":[{\"method\":\"remove\",\"collection\":\"c\",\"query\":\"n < 1500\"}]}")
        #expect(removed.fields["mutatedDocumentIds"]?.list?.count == 1_500)
        let deleted = try await api.execute("DELETE FROM c")
        #expect(deleted.fields["mutatedDocumentIds"]?.list?.count == 1_500)
      }
    }

    @Test func `statements that count take no thread of the others`() async throws {
      try await with {
        $0.http.limits.statementTime = .seconds(5)
      } _: { running, api in
        try await self.fill(api, 2_000)
        let statement = "PROFILE \(self.endless)"
        // More than the pool of tasks has threads.
        let count = min(ProcessInfo.processInfo.activeProcessorCount + 2, 14)
        let answers = (0..<count).map { _ in Task { try await api.execute(statement).status } }
        let nobody = try APIClient(running.addresses.admin, token: nil)
        var areRunning = false
        for _ in 0..<200 where !areRunning {
          areRunning = try await nobody.send("GET", "/metrics").text.contains(
            "bigpeer_http_requests_in_flight \(count)\n")
        }
        #expect(areRunning)
        for answer in answers { try await expectEqual(answer.value, 503) }
      }
    }

    @Test func `one key reads so many results at once, and they end when their clients go`() async throws {
      try await with {
        $0.http.limits.readersByKey = 2
      } _: { running, api in
        try await self.fill(api, 2_000)
        let other = try await running.api("read")
        let nobody = try APIClient(running.addresses.admin, token: nil)
        func areInFlight(_ count: Int) async throws -> Bool {
          for _ in 0..<400 {
            let metrics = try await nobody.send("GET", "/metrics").text
            if metrics.contains("bigpeer_http_requests_in_flight \(count)\n") { return true }
            try await Task.sleep(for: .milliseconds(25))
          }
          return false
        }
        let (client, authorization) = (api.client, api.headers["Authorization"] ?? "")
        let body = "{\"statement\":\(JSON.text(of: .string(self.endless)))}"
        let head =
          "POST /api/v4/store/execute HTTP/1.1\r\nHost: a\r\nAuthorization: \(authorization)\r\n"
          + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        var connections = try await offTasks {
          try (0..<4).map { _ in
            let connection = try client.connect()
            connection.write(Array((head + body).utf8))
            return connection
          }
        }
        #expect(try await areInFlight(4))
        let refused = try await api.execute("SELECT * FROM c LIMIT 1")
        #expect(refused.status == 503)
        #expect(refused.fields["code"] == .string("busy"))
        #expect(refused.headers["retry-after"] == "1")
        #expect(try await api.post("/api/v4/store/count", "{\"collection\":\"c\"}").status == 503)
        #expect(try await other.execute("SELECT * FROM c LIMIT 1").status == 200)
        connections.removeAll()
        #expect(try await areInFlight(0))
        #expect(try await api.execute("SELECT * FROM c LIMIT 1").status == 200)
      }
    }

    @Test func `a demand is met, or told apart from one of another store and one that never comes`()
      async throws
    {
      try await with { _, api in
        let token = try #require(
          try await api.execute("INSERT INTO c DOCUMENTS ({'_id': 1})").fields["transactionId"]?.text)
        #expect(
          try await api.execute("SELECT * FROM c", headers: ["Dunlin-Transaction": token]).status == 200)
        let unknown = try await api.execute("SELECT * FROM c", headers: ["Dunlin-Transaction": "1-1"])
        #expect(unknown.status == 409)
        #expect(unknown.fields["code"] == .string("unknownTransaction"))
        let none = try await api.execute("SELECT * FROM c", headers: ["Dunlin-Transaction": "latest"])
        #expect(none.status == 409)
        let long = try await api.execute(
          "SELECT * FROM c", headers: ["Dunlin-Transaction": String(repeating: "1", count: 300)])
        #expect(long.status == 400)
        let parts = token.split(separator: "-")
        let later = "\(parts[0])-\(String((UInt64(parts[1], radix: 16) ?? 0) + 1, radix: 16))"
        let start = ContinuousClock.now
        let behind = try await api.execute("SELECT * FROM c", headers: ["Dunlin-Transaction": later])
        #expect(behind.status == 503)
        #expect(behind.fields["code"] == .string("transactionBehind"))
        #expect(.now - start < .seconds(30))
        // Once it has come, whoever waits goes on.
        async let waiting = api.execute("SELECT * FROM c", headers: ["Dunlin-Transaction": later])
        try await Task.sleep(for: .milliseconds(200))
        _ = try await api.execute("INSERT INTO c DOCUMENTS ({'_id': 2})")
        let met = try await waiting
        #expect(met.status == 200)
        #expect(met.fields["items"]?.list?.count == 2)
      }
    }
  }
#endif
