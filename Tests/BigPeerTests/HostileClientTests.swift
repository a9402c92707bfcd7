#if Server
  import BigPeer
  import CRDTCore
  import Foundation
  import TestKit
  import Testing

  @Suite struct HostileClientTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func with(
      _ change: (inout HTTPLimits) -> Void,
      _ body: @escaping @Sendable (RunningBigPeer, APIClient) async throws -> Void
    ) async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      change(&configuration.http.limits)
      try await RunningBigPeer.with(configuration) { running in
        try await body(running, try await running.api())
      }
    }

    private func raw(_ api: APIClient, _ text: String) async throws -> PlainHTTPClient.Answer? {
      let client = api.client
      return try await offTasks {
        let connection = try client.connect()
        connection.write(Array(text.utf8))
        return PlainHTTPClient.parse(try connection.readAll(atMost: 1 << 20))
      }
    }

    private func head(_ api: APIClient, _ more: String) -> String {
      "POST /api/v4/store/execute HTTP/1.1\r\nHost: a\r\nAuthorization: \(api.headers["Authorization"] ?? "")\r\nContent-Type: application/json\r\n\(more)\r\n"
    }

    @Test func `headers that do not come in time end the connection`() async throws {
      try await with {
        $0.idleTime = .milliseconds(300)
      } _: { _, api in
        let start = ContinuousClock.now
        let client = api.client
        let ended = try await offTasks {
          let connection = try client.connect()
          // One byte now and then does not help.
          for byte in Array("POST /api/v4/store/execute HTTP/1.1\r\nX-Slow: aaaaaaaaaaaaaaaaaaaaaaaa".utf8) {
            guard connection.write([byte]) else { return true }
            usleep(20_000)
          }
          return try connection.readAll(atMost: 1_024).isEmpty
        }
        #expect(ended)
        #expect(.now - start < .seconds(20))
        #expect(try await api.execute("SELECT * FROM c").status == 200)
      }
    }

    @Test func `a body that does not come in time is answered, and ends the connection`() async throws {
      try await with {
        $0.bodyTime = .milliseconds(300)
      } _: { _, api in
        let answer = try await self.raw(api, self.head(api, "Content-Length: 100\r\n") + "{\"statement\"")
        #expect(answer?.status == 408)
        #expect(answer?.headers["connection"] == "close")
      }
    }

    @Test func `headers that are too large or too many are refused`() async throws {
      try await with {
        ($0.headerBytes, $0.headerCount) = (2_048, 20)
      } _: { _, api in
        let large = try await self.raw(
          api, self.head(api, "X-Large: \(String(repeating: "x", count: 4_000))\r\n"))
        #expect(large?.status == 431)
        let many = try await self.raw(api, self.head(api, (0..<40).map { "X-\($0): a\r\n" }.joined()))
        #expect(many?.status == 431)
        #expect(try await api.execute("SELECT * FROM c").status == 200)
      }
    }

    @Test(arguments: [
      "GARBAGE\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
      "\0\0\0\0\r\n\r\n",
    ])
    func `what is not HTTP costs its own connection`(text: String) async throws {
      try await with {
        $0.idleTime = .milliseconds(500)
      } _: { _, api in
        let answer = try? await self.raw(api, text)
        #expect(answer.map { 400..<500 ~= $0.status } ?? true)
        let next = try await api.execute("SELECT * FROM c")
        #expect(next.status == 200)
      }
    }

    @Test(arguments: [
      ("GET /api/openapi.json HTTP/1.1\r\n", 400),
      ("GET /api/openapi.json HTTP/1.1\r\nHost: a\r\nHost: a\r\n", 400),
      ("GET /api/openapi.json HTTP/1.1\r\nHost: a, b\r\n", 400),
      ("GET /api/openapi.json HTTP/1.1\r\nHost: a/b\r\n", 400),
      ("POST /api/v4/store/execute HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n", 501),
      ("POST /api/v4/store/execute HTTP/1.0\r\nTransfer-Encoding: chunked\r\n", 400),
      ("GET /api/openapi.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n", 200),
      ("GET /api/openapi.json HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\n", 200),
    ])
    func `a head that RFC 9112 does not allow is refused, and ends the connection`(head: String, status: Int)
      async throws
    {
      try await with { _ in
      } _: { _, api in
        // A request behind a refused one is not looked at.
        let next = status == 200 ? "" : "0\r\n\r\nGET /api/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n"
        let answer = try await self.raw(api, "\(head)\r\n\(next)")
        #expect(answer?.status == status)
        #expect(answer?.headers["connection"] == (status == 200 ? answer?.headers["connection"] : "close"))
        #expect(answer.map { !$0.text.contains("HTTP/1.1 200") } ?? false)
      }
    }

    @Test(arguments: ["", "Connection: keep-alive\r\n"])
    func `HTTP/1.0 gets answers without chunks, of which the end of the connection is the end`(field: String)
      async throws
    {
      try await with { _ in
      } _: { _, api in
        let commands = (0..<500).map {
          "{\"method\":\"upsert\",\"collection\":\"c\",\"value\":{\"_id\":\($0),\"t\":\"\(String(repeating: "x", count: 1_000))\"}}"
        }
        let written = try await api.post(
          "/api/v4/store/write", "{\"commands\":[\(commands.joined(separator: ","))]}")
        #expect(written.status == 200)
        // An answer of this size is streamed.
        let body = "{\"statement\":\"SELECT * FROM c\"}"
        let head = self.head(api, "Content-Length: \(body.utf8.count)\r\n\(field)")
          .replacing("HTTP/1.1", with: "HTTP/1.0").replacing("Host: a\r\n", with: "")
        let answer = try #require(try await self.raw(api, head + body + "GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
        #expect(answer.status == 200)
        #expect(answer.headers["transfer-encoding"] == nil)
        #expect(answer.headers["connection"] == "close")
        guard case .map(let fields) = try JSON.parse(answer.body) else {
          Issue.record("the answer is no JSON object")
          return
        }
        #expect(fields["items"]?.list?.count == 500)
      }
    }

    @Test func `a body that is too large is refused before it is read`() async throws {
      try await with {
        $0.bodyBytes = 10_000
      } _: { _, api in
        let answer = try await self.raw(
          api, self.head(api, "Content-Length: 100000000\r\nExpect: 100-continue\r\n"))
        #expect(answer?.status == 413)
        let chunk = "2710\r\n\(String(repeating: " ", count: 10_000))\r\n"
        let chunked = try await self.raw(
          api,
          self.head(api, "Transfer-Encoding: chunked\r\nConnection: close\r\n") + chunk + chunk + "0\r\n\r\n")
        #expect(chunked?.status == 413)
        let asked = try await self.raw(
          api,
          self.head(api, "Content-Length: 31\r\nExpect: 100-continue\r\nConnection: close\r\n")
            + "{\"statement\":\"SELECT * FROM c\"}")
        #expect(asked?.status == 200)
      }
    }

    @Test func `a body of many small values is refused, and one text is not`() async throws {
      try await with {
        ($0.bodyBytes, $0.allBodyBytes) = (1 << 20, 4 << 20)
      } _: { _, api in
        let zeros = String(repeating: "0,", count: 200_000) + "0"
        let many = try await api.execute("SELECT * FROM c", args: "{\"a\":[\(zeros)]}")
        #expect(many.status == 413)
        #expect(many.fields["code"] == .string("bodyTooLarge"))
        let text = String(repeating: "[,\\\"{", count: 50_000)
        #expect(try await api.execute("SELECT * FROM c", args: "{\"a\":\"\(text)\"}").status == 200)
      }
    }

    private func write(_ id: String) -> String {
      "{\"statement\":\"INSERT INTO c DOCUMENTS ({'_id': '\(id)'})\"}"
    }

    private func count(_ api: APIClient) async throws -> Int? {
      try await api.execute("SELECT * FROM c").fields["items"]?.list?.count
    }

    @Test func `what comes behind a complete write does not take its answer away, and is counted`()
      async throws
    {
      try await with { _ in
      } _: { running, api in
        let body = self.write("a")
        let answer = try await self.raw(
          api, self.head(api, "Content-Length: \(body.utf8.count)\r\n") + body + "GARBAGE\r\n\r\n")
        #expect(answer?.status == 200)
        #expect(answer?.headers["connection"] == "close")
        #expect(try await self.count(api) == 1)
        let nobody = try APIClient(running.addresses.admin, token: nil)
        #expect(
          try await nobody.send("GET", "/metrics").text.contains(
            "bigpeer_http_requests_total{method=\"OTHER\",route=\"unknown\",status=\"400\"} 1\n"))
      }
    }

    @Test func `requests that do not wait for answers are all answered, bodies of both kinds among them`()
      async throws
    {
      try await with { _ in
      } _: { _, api in
        var text = ""
        for number in 0..<300 {
          let body = self.write("\(number)")
          text +=
            number % 3 == 0
            ? self.head(api, "Transfer-Encoding: chunked\r\n")
              + "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
            : self.head(api, "Content-Length: \(body.utf8.count)\r\n") + body
          // A request without a body, and an empty line that some clients send behind a body.
          text += "\r\nGET /nothing HTTP/1.1\r\nHost: a\r\n\r\n"
        }
        text += "GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        let (client, sent) = (api.client, text)
        let answers = try await offTasks {
          let connection = try client.connect()
          connection.write(Array(sent.utf8))
          return String(decoding: try connection.readAll(atMost: 1 << 20), as: UTF8.self)
        }
        let statuses = answers.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
        #expect(statuses == (0..<300).flatMap { _ in ["200", "404"] } + ["404"])
        #expect(try await self.count(api) == 300)
      }
    }

    @Test func `of requests that are refused without a key, few stand in the log`() async throws {
      let lines = LogLines()
      let configuration = RunningBigPeer.configuration(in: folder)
      try await RunningBigPeer.with(configuration, logger: lines.logger) { running in
        let api = try await running.api()
        let text = String(repeating: "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", count: 500)
        let client = api.client
        let answers = try await offTasks {
          let connection = try client.connect()
          connection.write(Array("\(text)GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
          return try connection.readAll(atMost: 1 << 20)
        }
        #expect(String(decoding: answers, as: UTF8.self).split(separator: "HTTP/1.1 404").count == 501)
        let refused = lines.all.count { $0.contains("status=404") }
        #expect(50...200 ~= refused)
      }
    }

    @Test func `nothing that comes behind an answer before the end of a body is carried out`() async throws {
      try await with { _ in
      } _: { _, api in
        let body = self.write("a")
        let first = "POST /api/v4/store/execute HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"
        let second = self.head(api, "Content-Length: \(body.utf8.count)\r\n") + body
        let client = api.client
        let text = try await offTasks {
          let connection = try client.connect()
          connection.write(Array(first.utf8))
          let answer = try connection.read()
          connection.write(Array("12345\(second)".utf8))
          return String(decoding: answer + (try connection.readAll(atMost: 1 << 16)), as: UTF8.self)
        }
        #expect(text.hasPrefix("HTTP/1.1 401 "))
        #expect(text.contains("HTTP/1.1 ") && !text.contains("HTTP/1.1 200 "))
        #expect(try await self.count(api) == 0)
      }
    }

    @Test func `a body that is cut off is not carried out, even if it looks whole`() async throws {
      try await with {
        $0.bodyTime = .milliseconds(300)
      } _: { running, api in
        let body = self.write("a")
        let cut =
          self.head(api, "Transfer-Encoding: chunked\r\n")
          + "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n"
        #expect(try await self.raw(api, cut)?.status == 408)
        let client = api.client
        _ = try await offTasks { try client.connect().write(Array(cut.utf8)) }
        let nobody = try APIClient(running.addresses.admin, token: nil)
        var isOver = false
        for _ in 0..<200 where !isOver {
          try await Task.sleep(for: .milliseconds(20))
          let metrics = try await nobody.send("GET", "/metrics").text
          let isCounted = metrics.contains("status=\"408\"} 2\n") || metrics.contains("status=\"400\"} 1\n")
          isOver = isCounted && metrics.contains("bigpeer_http_requests_in_flight 0\n")
        }
        #expect(isOver)
        #expect(try await self.count(api) == 0)
      }
    }

    /// Opens so many connections that have each had an answer to a request with the key.
    private func known(_ api: APIClient, _ count: Int) async throws -> [PlainConnection] {
      let body = "{\"statement\":\"SELECT * FROM c\"}"
      let request = Array((head(api, "Content-Length: \(body.utf8.count)\r\n") + body).utf8)
      let client = api.client
      return try await offTasks {
        try (0..<count).map { _ in
          let connection = try client.connect()
          connection.write(request)
          _ = try connection.read()
          return connection
        }
      }
    }

    @Test func `one address has so many connections with a key, and no more`() async throws {
      try await with {
        $0.connectionsByAddress = 4
      } _: { running, api in
        let held = try await self.known(api, 4)
        let client = api.client
        try await offTasks {
          // The system accepts a fifth, and it is closed at once.
          let fifth = try client.connect()
          #expect(((try? fifth.read()) ?? []).isEmpty)
          withExtendedLifetime(held) {}
        }
        let nobody = try APIClient(running.addresses.admin, token: nil)
        let metrics = try await nobody.send("GET", "/metrics").text
        #expect(metrics.contains("bigpeer_http_connections_refused_total "))
        #expect(!metrics.contains("bigpeer_http_connections_refused_total 0\n"))
      }
    }

    @Test func `connections of one address that do nothing make room for others of the address`() async throws
    {
      try await with {
        $0.connectionsByAddress = 4
      } _: { running, api in
        let client = api.client
        let held = try await offTasks { try (0..<12).map { _ in try client.connect() } }
        // Several threads accept: one of the twelve may be counted after this one, and take its place.
        var answer = try? await api.execute("SELECT * FROM c")
        if answer == nil { answer = try await api.execute("SELECT * FROM c") }
        #expect(answer?.status == 200)
        let first = try await offTasks { try held[0].read() }
        #expect(first.isEmpty)
        let nobody = try APIClient(running.addresses.admin, token: nil)
        let metrics = try await nobody.send("GET", "/metrics").text
        #expect(metrics.contains("bigpeer_http_connections_refused_total 0\n"))
        withExtendedLifetime(held) {}
      }
    }

    @Test func `one key does not keep all places`() async throws {
      try await with {
        $0.connections = 4
      } _: { running, api in
        let other = try await running.api()
        let held = try await self.known(api, 4)
        #expect(try await other.execute("SELECT * FROM c").status == 200)
        withExtendedLifetime(held) {}
      }
    }

    @Test func `the health of a server can be asked for while all places of its listener are idle`()
      async throws
    {
      try await with { _ in
      } _: { running, _ in
        let nobody = try APIClient(running.addresses.admin, token: nil)
        let client = nobody.client
        let held = try await offTasks { try (0..<100).map { _ in try client.connect() } }
        #expect(try await nobody.send("GET", "/healthz").status == 200)
        withExtendedLifetime(held) {}
      }
    }

    @Test func `connections that do nothing make room for others, and one that has shown a key stays`()
      async throws
    {
      try await with {
        $0.connections = 4
      } _: { _, api in
        let client = api.client
        let body = "{\"statement\":\"SELECT * FROM c\"}"
        let request = Array((self.head(api, "Content-Length: \(body.utf8.count)\r\n") + body).utf8)
        let held = try await offTasks {
          let known = try client.connect()
          known.write(request)
          _ = try known.read()
          let idle = try (0..<8).map { _ in try client.connect() }
          usleep(200_000)
          return (known, idle)
        }
        #expect(try await api.execute("SELECT * FROM c").status == 200)
        let (again, first) = try await offTasks {
          held.0.write(request)
          return try (String(decoding: held.0.read(), as: UTF8.self), held.1[0].read())
        }
        #expect(again.hasPrefix("HTTP/1.1 200"))
        // The first one was closed for a later one.
        #expect(first.isEmpty)
      }
    }

    @Test(arguments: [
      ("localhost:1", 200), ("LOCALHOST", 200), ("127.0.0.1:80", 200), ("[::1]:80", 200),
      ("rebound.example", 421), ("127.0.0.1.rebound.example:80", 421), ("", 421),
      ("a\r\nHost: localhost", 400),
      ("rebound.example/localhost", 400),
    ])
    func `the listener for administration answers no name of a web page`(host: String, status: Int)
      async throws
    {
      try await with { _ in
      } _: { running, _ in
        let client = try APIClient(running.addresses.admin, token: nil).client
        let answer = try await offTasks {
          let connection = try client.connect()
          connection.write(Array("GET /metrics HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n".utf8))
          return PlainHTTPClient.parse(try connection.readAll(atMost: 1 << 20))
        }
        #expect(answer?.status == status)
      }
    }

    /// Asks so often at once, and tells which statuses there were.
    private static func statuses(of api: APIClient, _ count: Int) async throws -> Set<Int> {
      try await withThrowingTaskGroup(of: Int.self) { tasks in
        for _ in 0..<count { tasks.addTask { try await api.execute("SELECT * FROM c").status } }
        return try await tasks.reduce(into: []) { $0.insert($1) }
      }
    }

    @Test func `a key that asks too often is slowed down, and another is not`() async throws {
      try await with {
        $0.requestsPerSecondByKey = 1
      } _: { running, api in
        let other = try await running.api()
        let statuses = try await Self.statuses(of: api, 24)
        #expect(statuses.contains(200))
        #expect(statuses.contains(429))
        let refused = try await api.execute("SELECT * FROM c")
        if refused.status == 429 {
          #expect(refused.headers["retry-after"].flatMap { Int($0) } ?? 0 >= 1)
          #expect(refused.fields["code"] == .string("rateLimit"))
        }
        #expect(try await other.execute("SELECT * FROM c").status == 200)
      }
    }

    @Test func `an address that asks too often is slowed down without a key`() async throws {
      try await with {
        $0.requestsPerSecondByAddress = 1
      } _: { running, _ in
        let nobody = try APIClient(running.addresses.http, token: nil)
        #expect(try await Self.statuses(of: nobody, 24) == [401, 429])
      }
    }

    @Test func `a client that takes nothing of an answer is left`() async throws {
      try await with {
        $0.stallTime = .milliseconds(500)
      } _: { running, api in
        let commands = (0..<4_000).map {
          "{\"method\":\"upsert\",\"collection\":\"c\",\"value\":{\"_id\":\($0),\"t\":\"\(String(repeating: "x", count: 1_000))\"}}"
        }
        for start in stride(from: 0, to: 4_000, by: 1_000) {
          let some = commands[start..<start + 1_000].joined(separator: ",")
          try await expectEqual(api.post("/api/v4/store/write", "{\"commands\":[\(some)]}").status, 200)
        }
        let body = "{\"statement\":\"SELECT * FROM c AS a JOIN c AS b ON a._id < b._id\"}"
        let text = self.head(api, "Content-Length: \(body.utf8.count)\r\n") + body
        let client = api.client
        let connection = try await offTasks {
          let connection = try client.connect()
          connection.write(
            Array(
              text.replacing(
                body,
                with: "{\"statement\":\"SELECT * FROM c\"}"
                  + String(repeating: " ", count: body.utf8.count - 31)
              ).utf8))
          return connection
        }
        let nobody = try APIClient(running.addresses.admin, token: nil)
        var isFree = false
        for _ in 0..<200 where !isFree {
          try await Task.sleep(for: .milliseconds(50))
          isFree = try await nobody.send("GET", "/metrics").text.contains(
            "bigpeer_http_requests_in_flight 0\n")
        }
        #expect(isFree)
        withExtendedLifetime(connection) {}
        #expect(try await api.execute("SELECT * FROM c LIMIT 1").status == 200)
      }
    }

    @Test func `a page of another origin gets nothing unless it is listed`() async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.http.origins = ["https://shop.example"]
      try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        let listed = try await api.execute("SELECT * FROM c", headers: ["Origin": "https://shop.example"])
        #expect(listed.headers["access-control-allow-origin"] == "https://shop.example")
        #expect(listed.headers["vary"] == "Origin")
        let other = try await api.execute("SELECT * FROM c", headers: ["Origin": "https://evil.example"])
        #expect(other.headers["access-control-allow-origin"] == nil)
        let question = ["Access-Control-Request-Method": "POST"]
        let allowed = try await api.send(
          "OPTIONS", "/api/v4/store/execute",
          headers: question.merging(["Origin": "https://shop.example"]) { $1 })
        #expect(allowed.status == 204)
        #expect(allowed.headers["access-control-allow-methods"] == "POST")
        let denied = try await api.send(
          "OPTIONS", "/api/v4/store/execute",
          headers: question.merging(["Origin": "https://evil.example"]) { $1 })
        #expect(denied.status == 405)
      }
    }
  }
#endif
