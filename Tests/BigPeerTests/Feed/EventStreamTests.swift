#if Server
  import BigPeer
  import CRDTCore
  import DunlinFeed
  import Facade
  import NIOHTTP1
  import TestKit
  import Testing

  /// Changes as server-sent events.
  @Suite(.timeLimit(.minutes(15))) struct EventStreamTests {
    private static let cars = "query=" + "SELECT * FROM cars".escaped

    @Test func `changes come as they are committed, with the values before and now`() async throws {
      try await FeedServer.with { server in
        try await server.follow(Self.cars) { stream in
          #expect(stream.status == 200)
          #expect(stream.headers.first(name: "content-type") == "text/event-stream")
          #expect(stream.headers.first(name: "cache-control") == "no-store")
          let first = try #require(try await stream.event())
          #expect(first.data == nil && first.retry == "2000")
          #expect(try FeedPosition(token: #require(first.id)) == FeedPosition.now(server.parts.store))
          try await server.store["cars"].upsert(["_id": "a", "n": 1])
          try await server.store["boats"].upsert(["_id": "b"])
          try await server.store.execute(query: "UPDATE cars SET n = 2 WHERE _id = 'a'")
          try await server.store.execute(query: "DELETE FROM cars WHERE _id = 'a'")
          let events = try await stream.changes(3)
          #expect(events.map(\.words) == ["upsert a", "update a", "remove a"])
          #expect(
            events[1].fields.members("change")
              == [
                "method": .string("update"), "oldValue": .map(["_id": .string("a"), "n": .int(1)]),
                "newValue": .map(["_id": .string("a"), "n": .int(2)]),
              ])
          #expect(events[2].id == (try FeedPosition.now(server.parts.store).token))
          let transaction = server.application.transactions.newest.description
          #expect(events[2].fields.string("txnId") == transaction)
        }
      }
    }

    @Test func `a client that comes back says what it has, and gets what came since`() async throws {
      try await FeedServer.with { server in
        let id = try await server.follow(Self.cars) { stream in
          _ = try await stream.event()
          try await server.store["cars"].upsert(["_id": "a", "n": 1])
          return try #require(try await stream.changes(1).first?.id)
        }
        try await server.store["cars"].upsert(["_id": "a", "n": 2])
        try await server.store["cars"].upsert(["_id": "b", "n": 3])
        // The header counts more than the address of the first request.
        try await server.follow("\(Self.cars)&after=beginning", [("Last-Event-ID", id)]) { stream in
          let events = try await stream.changes(2)
          #expect(events.map(\.words) == ["upsert a", "upsert b"])
          #expect(events.allSatisfy { $0.fields.boolean("isResumed") == true })
          #expect(events[0].fields.members("change")?["oldValue"] == nil)
        }
        try await server.follow("\(Self.cars)&after=beginning") { stream in
          let events = try await stream.changes(2)
          #expect(events.map(\.words) == ["upsert a", "upsert b"])
        }
        try await server.follow("\(Self.cars)&after=\(id)") { stream in
          let events = try await stream.changes(2)
          #expect(events.count == 2)
        }
      }
    }

    @Test func `a stream filters by its queries and their arguments`() async throws {
      try await FeedServer.with { server in
        let body = #"{"statements":["SELECT * FROM cars WHERE n > :n","SELECT * FROM boats"],"args":{"n":5}}"#
        try await server.open("POST", "/api/v4/changes", body) { stream in
          #expect(stream.status == 200)
          _ = try await stream.event()
          for n in [4, 6, 5, 7] { try await server.store["cars"].upsert(["_id": "\(n)", "n": n]) }
          try await server.store["boats"].upsert(["_id": "b"])
          #expect(try await stream.changes(3).map(\.words) == ["upsert 6", "upsert 7", "upsert b"])
        }
        let query = "query=" + "SELECT * FROM cars WHERE n = :n".escaped + "&args=" + #"{"n":9}"#.escaped
        try await server.follow("\(query)&query=\("SELECT * FROM planes".escaped)") { stream in
          _ = try await stream.event()
          try await server.store["cars"].upsert(["_id": "x", "n": 8])
          try await server.store["cars"].upsert(["_id": "y", "n": 9])
          try await server.store["planes"].upsert(["_id": "z"])
          #expect(try await stream.changes(2).map(\.words) == ["upsert y", "upsert z"])
        }
      }
    }

    @Test func `without changes the server says that it is there, and where it stands`() async throws {
      var settings = FeedSettings()
      settings.heartbeat = .milliseconds(300)
      try await FeedServer.with(settings) { server in
        try await server.follow(Self.cars) { stream in
          _ = try await stream.event()
          try await server.store["boats"].upsert(["_id": "b"])
          let position = try FeedPosition.now(server.parts.store).token
          var event = try #require(try await stream.event())
          #expect(event.isHeartbeat && event.data == nil)
          while event.id != position { event = try #require(try await stream.event()) }
        }
      }
    }

    @Test func `a stream that is left counts no more`() async throws {
      var settings = FeedSettings()
      settings.streams = 1
      try await FeedServer.with(settings) { server in
        try await server.follow(Self.cars) { stream in
          _ = try await stream.event()
          #expect(server.feed.streams == 1)
          let refused = try await server.ask("GET", "/api/v4/changes?\(Self.cars)")
          #expect(refused.status == 503)
          #expect(refused.headers.first(name: "retry-after") == "1")
          #expect(refused.fields.string("code") == "busy")
        }
        // The server notices without having anything to write.
        while server.feed.streams > 0 { await pause() }
        try await server.follow(Self.cars) { stream in _ = try await stream.event() }
      }
    }

    @Test func `one key takes a quarter of the streams, and others have the rest`() async throws {
      var settings = FeedSettings()
      settings.streams = 8
      try await FeedServer.with(settings) { server in
        let other = try await server.readingKey()
        try await server.follow(Self.cars) { first in
          _ = try await first.event()
          try await server.follow(Self.cars) { second in
            _ = try await second.event()
            let refused = try await server.ask("GET", "/api/v4/changes?\(Self.cars)")
            #expect(refused.status == 503)
            #expect(refused.text.contains("of one key"), "\(refused.text)")
            try await server.follow(Self.cars, [other]) { stream in #expect(stream.status == 200) }
          }
        }
        while server.feed.streams > 0 { await pause() }
        try await server.follow(Self.cars) { stream in #expect(stream.status == 200) }
      }
    }

    @Test func `streams take three quarters of the connections at most, and requests go on`() async throws {
      var limits = HTTPLimits()
      limits.connections = 3
      try await FeedServer.with(limits: limits) { server in
        try await server.follow(Self.cars) { first in
          _ = try await first.event()
          try await server.follow(Self.cars) { second in
            _ = try await second.event()
            let refused = try await server.ask("GET", "/api/v4/changes?\(Self.cars)")
            #expect(refused.status == 503 && refused.fields.string("code") == "busy")
            #expect(try await server.ask("GET", "/api/v4/history").status == 200)
          }
        }
        while server.feed.streams > 0 { await pause() }
        try await server.follow(Self.cars) { stream in #expect(stream.status == 200) }
      }
    }

    @Test func `a stream that has ended holds nothing, also while its connection stays`() async throws {
      var settings = FeedSettings()
      settings.heartbeat = .milliseconds(100)
      try await FeedServer.with(settings) { server in
        let client = try RawClient("http://127.0.0.1:\(server.port)")
        try client.send(
          "GET /api/v4/changes?\(Self.cars) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(server.key.token)\r\n\r\n"
        )
        #expect(try await client.read(until: "\n\n").contains("200 OK"))
        #expect(server.parts.feeds.readerCount == 1)
        #expect(try await server.application.keys.revoke(server.key.id))
        // The last chunk; the connection is open still.
        _ = try await client.read(until: "0\r\n\r\n")
        while server.parts.feeds.readerCount > 0 { await pause() }
        withExtendedLifetime(client) {}
      }
    }

    @Test func `a client that takes nothing is cut off, and holds up nobody`() async throws {
      let folder = try TemporaryDirectory()
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.http.limits.stallTime = .seconds(1)
      configuration.applications[0].feed.streams = 1
      try await RunningBigPeer.with(configuration) { running in
        let api = try await running.api()
        let client = try RawClient(running.addresses.http)
        try client.send(
          "GET /api/v4/changes?\(Self.cars) HTTP/1.1\r\nHost: x\r\nAuthorization: \(api.headers["Authorization"] ?? "")\r\n\r\n"
        )
        #expect(try await client.read(until: "\n\n").contains("200 OK"))
        // More than all buffers on the way take, and none of it is read.
        let text = String(repeating: "x", count: 1_000_000)
        for n in 0..<40 {
          let answer = try await api.execute(
            "INSERT INTO cars DOCUMENTS ({'_id': \(n), 'text': :t})", args: "{\"t\":\"\(text)\"}")
          expectEqual(answer.status, 200)
        }
        // The one stream that there may be is free again.
        while try await api.send("GET", "/api/v4/changes?query=nonsense").status != 422 {}
        var status = 503
        while status == 503 {
          let other = try RawClient(running.addresses.http)
          try other.send(
            "GET /api/v4/changes?\(Self.cars) HTTP/1.1\r\nHost: x\r\nAuthorization: \(api.headers["Authorization"] ?? "")\r\n\r\n"
          )
          // A connection that is refused may be reset before its answer is read.
          status = (try? await other.read(until: "\r\n"))?.contains("200") == true ? 200 : 503
          await pause()
        }
      }
      withExtendedLifetime(folder) {}
    }

    @Test func `the log says why a client that takes nothing was cut off`() async throws {
      let folder = try TemporaryDirectory()
      let lines = LogLines()
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.http.limits.stallTime = .seconds(1)
      try await RunningBigPeer.with(configuration, logger: lines.logger) { running in
        let api = try await running.api()
        let client = try RawClient(running.addresses.http)
        try client.send(
          "GET /api/v4/changes?\(Self.cars) HTTP/1.1\r\nHost: x\r\nAuthorization: \(api.headers["Authorization"] ?? "")\r\n\r\n"
        )
        #expect(try await client.read(until: "\n\n").contains("200 OK"))
        let text = String(repeating: "x", count: 1_000_000)
        // It has not read for too long, or others need the room for text.
        func isOver() -> Bool { lines.all.contains { $0.contains("stalled") || $0.contains("streamMemory") } }
        var round = 0
        while !isOver() {
          round += 1
          let answer = try await api.execute(
            "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'text': :t}) ON ID CONFLICT DO UPDATE",
            args: "{\"t\":\"\(round) \(text)\"}")
          expectEqual(answer.status, 200)
        }
        withExtendedLifetime(client) {}
      }
      withExtendedLifetime(folder) {}
    }

    @Test func `an event that is too large comes without its values`() async throws {
      try await FeedServer.with { server in
        try await server.follow(Self.cars) { stream in
          _ = try await stream.event()
          // A character of one byte takes six in JSON.
          let text = String(repeating: "\u{1}", count: 1_500_000)
          try await server.store["cars"].upsert(["_id": "a", "text": text])
          try await server.store["cars"].upsert(["_id": "b"])
          let events = try await stream.changes(2)
          #expect(events.map(\.words) == ["upsert a", "upsert b"])
          #expect(events[0].fields.boolean("valuesOmitted") == true)
          #expect(events[1].fields["valuesOmitted"] == nil)
        }
      }
    }

    @Test func `the whole server streams changes to a key that reads, and to nobody else`() async throws {
      let folder = try TemporaryDirectory()
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        let (writing, reading) = (try await running.api(), try await running.api("read"))
        let client = try RawClient(running.addresses.http)
        let key = reading.headers["Authorization"] ?? ""
        try client.send(
          "GET /api/v4/changes?\(Self.cars) HTTP/1.1\r\nHost: x\r\nAuthorization: \(key)\r\n\r\n")
        #expect(try await client.read(until: "\n\n").contains("text/event-stream"))
        let written = try await writing.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        let event = try await client.read(until: "documentChanged")
        // The transaction has the name that the write's answer gave it.
        let transaction = try #require(written.fields["transactionId"]?.text)
        #expect(event.contains("\"txnId\":\"\(transaction)\""))
        #expect(try await reading.send("GET", "/api/v4/webhooks").status == 403)
        let nobody = try APIClient(running.addresses.http, token: nil)
        #expect(try await nobody.send("GET", "/api/v4/changes?\(Self.cars)").status == 401)
      }
      withExtendedLifetime(folder) {}
    }

    @Test func `a stream ends once its key is revoked`() async throws {
      var settings = FeedSettings()
      settings.heartbeat = .milliseconds(200)
      try await FeedServer.with(settings) { server in
        try await server.follow(Self.cars) { stream in
          _ = try await stream.event()
          #expect(try await server.application.keys.revoke(server.key.id))
          try await server.store["cars"].upsert(["_id": "a"])
          while let event = try await stream.event() { expect(event.data == nil) }
        }
      }
    }

    @Test func `a stop ends streams behind a whole event`() async throws {
      try await FeedServer.with { server in
        try await server.follow(Self.cars) { stream in
          _ = try await stream.event()
          try await server.store["cars"].upsert(["_id": "a"])
          #expect(try await stream.changes(1).map(\.words) == ["upsert a"])
          await server.stop()
          while let event = try await stream.event() { expect(event.data == nil) }
        }
      }
    }

    @Test(arguments: [
      ("", "request"), ("query=nonsense", "syntax"), ("query=DELETE%20FROM%20cars", "unsupported"),
      ("query=SELECT%20*%20FROM%20cars%20WHERE%20n%20%3D%20%3An", "argument"),
      ("query=SELECT%20*%20FROM%20cars&after=nonsense", "request"),
      ("query=SELECT%20*%20FROM%20cars&args=7", "request"),
      ("query=SELECT%20*%20FROM%20cars&limit=7", "request"),
    ])
    func `a stream that cannot be is refused by what is wrong`(_ query: String, _ code: String) async throws {
      try await FeedServer.with { server in
        let answer = try await server.ask("GET", "/api/v4/changes?\(query)")
        #expect(answer.status == (code == "request" ? 400 : 422))
        #expect(answer.fields.string("code") == code)
        #expect(answer.headers.first(name: "content-type") == "application/problem+json")
      }
    }

    @Test(arguments: [
      "{", "[]", "{}", #"{"statement":7}"#, #"{"statements":[]}"#, #"{"statements":[1]}"#,
      #"{"statement":"SELECT * FROM cars","statements":["SELECT * FROM cars"]}"#,
      #"{"statement":"SELECT * FROM cars","else":1}"#, #"{"statement":"SELECT * FROM cars","after":"x"}"#,
    ])
    func `a body that cannot be is refused by what is wrong`(_ body: String) async throws {
      try await FeedServer.with { server in
        let answer = try await server.ask("POST", "/api/v4/changes", body)
        #expect(answer.status == 400)
        #expect(answer.fields.string("code") == "request")
      }
    }

    @Test func `a thousand streams are told of one change`() async throws {
      var settings = FeedSettings()
      settings.streams = 2_000
      try await FeedServer.with(settings) { server in
        let filter = try FeedFilter(dql: ["SELECT * FROM cars"])
        let readers = try (0..<1_000).map { _ in try server.parts.feeds.read(filter) }
        try await server.store["cars"].upsert(["_id": "a"])
        try await withThrowingTaskGroup(of: Int.self) { group in
          for reader in readers { group.addTask { try await reader.next()?.items.count ?? 0 } }
          for try await count in group { expectEqual(count, 1) }
        }
      }
    }
  }
#endif
