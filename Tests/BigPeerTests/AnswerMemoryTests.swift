#if Server
  import BigPeer
  import CRDTCore
  import Foundation
  import TestKit
  import Testing

  /// The memory that answers and bodies may take, by key and in all.
  @Suite struct AnswerMemoryTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func with(
      _ change: (inout HTTPLimits) -> Void = { _ in },
      _ body: @escaping @Sendable (RunningBigPeer, APIClient) async throws -> Void
    ) async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      change(&configuration.http.limits)
      try await RunningBigPeer.with(configuration) { running in
        try await body(running, try await running.api())
      }
    }

    private func fill(_ api: APIClient, _ count: Int) async throws {
      let documents = (0..<count).map { "{\"_id\":\($0)}" }.joined(separator: ",")
      let made = try await api.execute("INSERT INTO c DOCUMENTS (:d)", args: "{\"d\":[\(documents)]}")
      #expect(made.status == 200)
    }

    /// What a figure of `/metrics` says.
    private func bytes(of use: String, _ running: RunningBigPeer) async throws -> Int {
      let name = "bigpeer_http_memory_bytes{use=\"\(use)\"} "
      let page = try await APIClient(running.addresses.admin, token: nil).send("GET", "/metrics").text
      let line = try #require(page.split(separator: "\n").first { $0.hasPrefix(name) }, "\(page)")
      return Int(try #require(Double(line.dropFirst(name.count)), "\(line)"))
    }

    private func head(_ api: APIClient, _ length: Int) -> String {
      "POST /api/v4/store/execute HTTP/1.1\r\nHost: a\r\nAuthorization: \(api.headers["Authorization"] ?? "")\r\n"
        + "Content-Type: application/json\r\nContent-Length: \(length)\r\nConnection: close\r\n\r\n"
    }

    @Test func `rows that nobody reads stop being made, and others are answered`() async throws {
      try await with {
        ($0.rowBytes, $0.answerBytes, $0.allAnswerBytes) = (256 << 10, 256 << 10, 8 << 20)
      } _: { running, api in
        try await self.fill(api, 150)
        let body = "{\"statement\":\"SELECT repeat('x', 200000) AS x FROM c\"}"
        let (client, request) = (api.client, self.head(api, body.utf8.count) + body)
        var connections = try await offTasks {
          try (0..<6).map { _ in
            let connection = try client.connect()
            connection.write(Array(request.utf8))
            return connection
          }
        }
        // One row and four megabytes are the least that a key has.
        let limit = (256 << 10) + (4 << 20)
        var most = 0
        for _ in 0..<200 where most < 1 << 20 {
          most = max(most, try await self.bytes(of: "answers", running))
          try await Task.sleep(for: .milliseconds(20))
        }
        #expect(most >= 1 << 20)
        for _ in 0..<20 {
          let held = try await self.bytes(of: "answers", running)
          expect(held <= limit)
        }
        let other = try await running.api("read")
        #expect(try await other.execute("SELECT COUNT(*) AS n FROM c").status == 200)
        #expect(try await other.execute("SELECT repeat('x', 200000) AS x FROM c LIMIT 2").status == 200)
        // Who reads gets all of it.
        let first = connections.removeFirst()
        let answer = try await offTasks { PlainHTTPClient.parse(try first.readAll(atMost: 256 << 20)) }
        let whole = try #require(answer?.body)
        #expect(whole.count > 150 * 200_000)
        #expect(String(decoding: whole.suffix(23), as: UTF8.self) == "\"totalWarningsCount\":0}")
        connections.removeAll()
        var left = Int.max
        for _ in 0..<400 where left > 0 {
          left = try await self.bytes(of: "answers", running)
          try await Task.sleep(for: .milliseconds(20))
        }
        #expect(left == 0)
      }
    }

    @Test func `large rows arrive whole`() async throws {
      try await with { _, api in
        try await self.fill(api, 3)
        let answer = try await api.execute("SELECT _id, repeat('x', 5000000) AS x FROM c ORDER BY _id")
        #expect(answer.status == 200)
        let items = try #require(answer.fields["items"]?.list)
        #expect(items.map { $0["_id"] } == [.int(0), .int(1), .int(2)])
        #expect(items.allSatisfy { $0["x"]?.text?.utf8.count == 5_000_000 })
      }
    }

    @Test func `an answer that is not streamed arrives whole, too`() async throws {
      try await with { _, api in
        try await self.fill(api, 20_000)
        let answer = try await api.send(
          "POST", "/api/v4/store/execute", "{\"statement\":\"UPDATE c SET n = 1\"}",
          headers: ["Idempotency-Key": "a"])
        #expect(answer.status == 200)
        #expect(answer.headers["content-length"] == "\(answer.body.count)")
        #expect(answer.body.count > 100_000)
        #expect(try JSON.parse(answer.body)["mutatedDocumentIds"]?.list?.count == 20_000)
        let again = try await api.send(
          "POST", "/api/v4/store/execute", "{\"statement\":\"UPDATE c SET n = 1\"}",
          headers: ["Idempotency-Key": "a"])
        #expect(again.body == answer.body)
        let text = String(repeating: "y", count: 1_000_000)
        _ = try await api.execute(
          "INSERT INTO d DOCUMENTS (:d)", args: "{\"d\":{\"_id\":1,\"t\":\"\(text)\"}}")
        let found = try await api.post("/api/v4/store/findbyid", "{\"collection\":\"d\",\"id\":1}")
        #expect(found.fields["documents"]?.list?.first?["fields"]?["t"]?.text == text)
      }
    }

    @Test func `a row beyond the bound is an error that says so`() async throws {
      try await with {
        $0.rowBytes = 100_000
      } _: { _, api in
        func insert(_ id: Int, _ text: String) async throws {
          let document = "{\"d\":{\"_id\":\(id),\"t\":\"\(text)\"}}"
          let made = try await api.execute("INSERT INTO c DOCUMENTS (:d)", args: document)
          expectEqual(made.status, 200)
        }
        try await insert(1, String(repeating: "y", count: 90_000))
        try await insert(2, String(repeating: "y", count: 100_000))
        // As JSON it takes six times as much.
        try await insert(3, String(repeating: "\\u0001", count: 20_000))
        for (id, status) in [(1, 200), (2, 422), (3, 422)] {
          let read = try await api.execute("SELECT * FROM c WHERE _id = \(id)")
          let found = try await api.post("/api/v4/store/findbyid", "{\"collection\":\"c\",\"id\":\(id)}")
          let listed = try await api.post(
            "/api/v4/store/find", "{\"collection\":\"c\",\"query\":\"_id == \(id)\"}")
          expectEqual([read.status, found.status, listed.status], [status, status, status])
          guard status == 422 else { continue }
          for answer in [read, found, listed] {
            expectEqual(answer.fields["code"], .string("limit"))
            expect(answer.fields["detail"]?.text?.contains("more than 100000 bytes as JSON") == true)
          }
        }
        let made = try await api.execute("SELECT repeat('x', 8388609) AS x FROM c")
        #expect(made.status == 422)
        #expect(
          made.fields["detail"]?.text?.contains(
            "the function 'repeat' makes more than 8388608 bytes for one row") == true)
      }
    }

    @Test func `a body waits for memory that another one of its key has`() async throws {
      try await with {
        ($0.bodyBytes, $0.allBodyBytes, $0.bodyTime) = (1 << 20, 8 << 20, .seconds(2))
      } _: { running, api in
        try await self.fill(api, 1)
        let (client, request) = (api.client, self.head(api, 1_040_000))
        let first = Task {
          try await offTasks {
            let connection = try client.connect()
            connection.write(Array((request + "{\"statement\"").utf8))
            return PlainHTTPClient.parse(try connection.readAll(atMost: 1 << 20))?.status
          }
        }
        var held = 0
        for _ in 0..<400 where held < 2_080_000 {
          held = try await self.bytes(of: "bodies", running)
          try await Task.sleep(for: .milliseconds(5))
        }
        #expect(held >= 2_080_000)
        let text = String(repeating: "x", count: 100_000)
        let other = try await running.api("read")
        #expect(try await other.execute("SELECT * FROM c", args: "{\"a\":\"\(text)\"}").status == 200)
        // It goes on when the first one has had its time.
        #expect(try await api.execute("SELECT * FROM c", args: "{\"a\":\"\(text)\"}").status == 200)
        #expect(try await first.value == 408)
        for _ in 0..<400 where held > 0 {
          held = try await self.bytes(of: "bodies", running)
          try await Task.sleep(for: .milliseconds(5))
        }
        #expect(held == 0)
      }
    }

    @Test func `a body with very many names is refused`() async throws {
      try await with { _, api in
        let names = (0..<500_000).map { "\"\($0)\":1" }.joined(separator: ",")
        let many = try await api.execute("SELECT 1 AS n", args: "{\"a\":{\(names)}}")
        #expect(many.status == 413)
        #expect(many.fields["code"] == .string("bodyTooLarge"))
        let some = (0..<100_000).map { "\"\($0)\":1" }.joined(separator: ",")
        #expect(try await api.execute("SELECT 1 AS n", args: "{\"a\":{\(some)}}").status == 200)
      }
    }
  }
#endif
