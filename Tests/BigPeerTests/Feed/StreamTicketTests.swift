#if Server
  @testable import BigPeer
  import CRDTCore
  import DunlinFeed
  import Facade
  import TestKit
  import Testing

  /// Streams that a browser opens: `EventSource` sends no header of its own but `Last-Event-ID`.
  @Suite(.timeLimit(.minutes(15))) struct StreamTicketTests {
    private static let nobody = ("Authorization", "")
    private static let body = #"{"statement":"SELECT * FROM cars WHERE n > :n","args":{"n":5}}"#

    @Test func `a ticket opens the stream of its query without a key, and again`() async throws {
      try await FeedServer.with { server in
        let made = try await server.ask("POST", "/api/v4/changes/ticket", Self.body)
        #expect(made.status == 201)
        let path = try #require(made.fields.string("path"))
        // What comes between the call and the first opening is not lost.
        try await server.store["cars"].upsert(["_id": "a", "n": 6])
        try await server.store["cars"].upsert(["_id": "b", "n": 4])
        let id = try await server.open("GET", path, nil, [Self.nobody]) { stream in
          #expect(stream.status == 200)
          let events = try await stream.changes(1)
          #expect(events.map(\.words) == ["upsert a"])
          return try #require(events.last?.id)
        }
        try await server.store["cars"].upsert(["_id": "c", "n": 7])
        try await server.open("GET", path, nil, [Self.nobody, ("Last-Event-ID", id)]) { stream in
          // The log does not say that b has never matched.
          let events = try await stream.changes(2)
          #expect(events.map(\.words) == ["remove b", "upsert c"])
        }
        let more = try await server.ask("GET", "\(path)&after=beginning", nil, [Self.nobody])
        #expect(more.status == 400)
        let other = try await server.ask("GET", "/api/v4/webhooks", nil, [Self.nobody])
        #expect(other.status == 401)
        _ = try await server.application.keys.revoke(server.key.id)
        #expect(try await server.ask("GET", path, nil, [Self.nobody]).status == 401)
      }
    }

    @Test func `a ticket ends after a minute unopened, and 24 hours after it was made`() async throws {
      try await FeedServer.with { server in
        let tickets = StreamTickets()
        let key = try #require(server.application.keys.all.first)
        let ticket = StreamTickets.Ticket(
          application: "tests", key: key, filter: try FeedFilter(dql: ["SELECT * FROM cars"], arguments: [:]),
          start: try .now(server.parts.store), made: 1_000)
        let (unopened, opened) = (try tickets.make(ticket), try tickets.make(ticket))
        _ = try tickets.open(opened, at: 60_999)
        #expect(throws: Problem.self) { try tickets.open(unopened, at: 61_000) }
        _ = try tickets.open(opened, at: 86_400_999)
        #expect(throws: Problem.self) { try tickets.open(opened, at: 86_401_000) }
        #expect(throws: Problem.self) { try tickets.open("no ticket", at: 1_000) }
        for _ in 0..<StreamTickets.limitByKey { _ = try tickets.make(ticket) }
        #expect(throws: Problem.self) { try tickets.make(ticket) }
      }
    }

    @Test func `parameters are read as a form writes them`() async throws {
      try await FeedServer.with { server in
        let query = "query=SELECT+*+FROM+cars+WHERE+name+%3D+%27a%2Bb%27"
        try await server.follow(query) { stream in
          #expect(stream.status == 200)
          _ = try await stream.event()
          try await server.store["cars"].upsert(["_id": "1", "name": "a b"])
          try await server.store["cars"].upsert(["_id": "2", "name": "a+b"])
          let events = try await stream.changes(1)
          #expect(events.map(\.words) == ["upsert 2"])
        }
        for wrong in ["query=%", "query=%4", "query=%zz", "query=%ff", "%ff=1"] {
          let answer = try await server.ask("GET", "/api/v4/changes?\(wrong)")
          expectEqual(answer.status, 400, "\(wrong)")
          expectEqual(answer.fields.string("detail")?.contains("encoded as in a form"), true, "\(wrong)")
        }
      }
    }

    @Test func `a position that cannot be read starts with requeryRequired`() async throws {
      try await FeedServer.with { server in
        let headers = [("Last-Event-ID", "of another server")]
        try await server.follow("query=SELECT+*+FROM+cars", headers) { stream in
          #expect(stream.status == 200)
          var event = try await stream.event()
          while event?.data == nil { event = try await stream.event() }
          #expect(event?.fields.string("type") == "requeryRequired")
        }
      }
    }
  }
#endif
