#if Server
  import BigPeer
  import CRDTCore
  import DunlinFeed
  import Facade
  import TestKit
  import Testing

  /// Versions of documents over HTTP.
  @Suite(.timeLimit(.minutes(15))) struct HistoryRouteTests {
    private static func values(_ answer: FeedServer.Answer) -> [Int?] {
      answer.fields.objects("versions").map { $0.members("value")?.integer("n") }
    }

    private static func values(_ server: FeedServer, _ query: String = "") async throws -> [Int?] {
      values(try await server.ask("GET", "/api/v4/history/cars\(query)"))
    }

    @Test func `versions are read by document, by time and page by page`() async throws {
      try await FeedServer.with { server in
        let on = try await server.ask(
          "PUT", "/api/v4/history/cars", #"{"ageSeconds":3600,"bytes":1048576}"#)
        #expect(on.status == 200)
        #expect(on.fields.integer("ageSeconds") == 3_600)
        for n in 1...5 {
          try await server.store["cars"].upsert(["_id": "a", "n": n])
          try await server.store["cars"].upsert(["_id": 7, "n": -n])
        }
        try await server.store.execute(query: "DELETE FROM cars WHERE _id = 'a'")
        let all = try await server.ask("GET", "/api/v4/history/cars?id=a")
        #expect(Self.values(all) == [1, 2, 3, 4, 5, nil])
        #expect(all.fields.objects("versions").last?.string("kind") == "removed")
        #expect(all.fields["cursor"] == nil)
        #expect(
          try await Self.values(server, "?id=7") == [-1, -2, -3, -4, -5])
        #expect(try await Self.values(server, "?id=%227%22") == [])
        var pages: [[Int?]] = []
        var cursor = ""
        repeat {
          let page = try await server.ask("GET", "/api/v4/history/cars?limit=4\(cursor)")
          pages.append(Self.values(page))
          cursor = page.fields.string("cursor").map { "&cursor=\($0)" } ?? ""
        } while !cursor.isEmpty
        #expect(pages == [[1, -1, 2, -2], [3, -3, 4, -4], [5, -5, nil]])
        let now = try await server.ask("GET", "/api/v4/history/cars?id=a&at=2999-01-01T00:00:00Z")
        #expect(now.fields.objects("versions").map { $0.string("kind") } == ["removed"])
        // What it was before its oldest version nobody knows.
        let oldest = all.fields.objects("versions").first?.integer("time")
        #expect(oldest != nil && now.fields.integer("knownFrom") == oldest)
        let before = try await server.ask("GET", "/api/v4/history/cars?id=a&at=1000")
        #expect(Self.values(before) == [] && before.fields.integer("knownFrom") == oldest)
        let never = try await server.ask("GET", "/api/v4/history/cars?id=z&at=1000")
        #expect(never.fields["knownFrom"] == .null && all.fields["knownFrom"] == nil)
        #expect(try await Self.values(server, "?to=1000") == [])
        let list = try await server.ask("GET", "/api/v4/history")
        #expect(list.fields.objects("collections").map { $0.integer("versions") } == [11])
        // One document's versions alone, of which nothing can be asked but its id.
        for wrong in ["cars?id=a", "cars/versions", "cars/versions?ids=a", "cars/versions?id=a&at=1"] {
          let answer = try await server.ask("DELETE", "/api/v4/history/\(wrong)")
          expectEqual(answer.status, 400, "\(wrong)")
        }
        let one = try await server.ask("DELETE", "/api/v4/history/cars/versions?id=a")
        #expect(one.status == 200 && one.fields.integer("versions") == 6)
        #expect(try await Self.values(server, "?id=a") == [])
        #expect(try await Self.values(server, "?id=7") == [-1, -2, -3, -4, -5])
        for status in [204, 404] {
          let removed = try await server.ask("DELETE", "/api/v4/history/cars")
          expectEqual(removed.status, status)
        }
        // It is not there any more, nor is one that never was.
        for name in ["cars", "bikes"] {
          let gone = try await server.ask("GET", "/api/v4/history/\(name)")
          expect(gone.status == 404 && gone.fields.string("code") == "notFound")
        }
      }
    }

    @Test(arguments: [
      "limit=0", "limit=x", "at=now&id=a", "at=1000", "cursor=x", "id=null", "from=2026-13-01T00:00:00Z",
      "more=1", "to=\(String(repeating: "0", count: 65))", "cursor=+1-1",
    ])
    func `what cannot be asked is refused`(_ query: String) async throws {
      try await FeedServer.with { server in
        let kept = try await server.ask("PUT", "/api/v4/history/cars", #"{"bytes":null}"#)
        #expect(kept.status == 200)
        let answer = try await server.ask("GET", "/api/v4/history/cars?\(query)")
        #expect([400, 422].contains(answer.status), "\(answer.text)")
      }
    }

    @Test func `a policy that cannot be is refused, and a key that reads sets none`() async throws {
      try await FeedServer.with { server in
        for (path, body) in [
          ("cars", #"{"ageSeconds":0}"#), ("cars", #"{"bytes":1}"#), ("cars", #"{"age":1}"#),
          ("__system", "{}"), ("cars", ""),
        ] {
          let answer = try await server.ask("PUT", "/api/v4/history/\(path)", body)
          expect([400, 422].contains(answer.status), "\(path) \(body)")
        }
        let reading = try await server.readingKey()
        let refused = try await server.ask("PUT", "/api/v4/history/cars", "{}", [reading])
        #expect(refused.status == 403)
        #expect(try server.feed.history.policies.isEmpty)
        let kept = try await server.ask("PUT", "/api/v4/history/red%20cars", "{}")
        #expect(kept.status == 200)
        #expect(try server.feed.history.policies.keys.sorted() == ["red cars"])
        let long = try await server.ask("GET", "/api/v4/history/\(String(repeating: "x", count: 500))")
        #expect(long.status == 404)
      }
    }

    @Test func `what is committed between the end of the feed and that of the database has a version`()
      async throws
    {
      try await FeedServer.with { server in
        let on = try await server.ask("PUT", "/api/v4/history/cars", "{}")
        #expect(on.status == 200)
        await server.feed.stop()
        try await server.store["cars"].upsert(["_id": "a", "n": 1])
        #expect(try server.feed.history.totals(of: "cars").versions == 1)
      }
    }
  }
#endif
