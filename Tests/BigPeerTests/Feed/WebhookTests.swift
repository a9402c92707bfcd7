#if Server
  import BigPeer
  import CRDTCore
  import Crypto
  import DocStore
  import DunlinFeed
  import Facade
  import Foundation
  import Links
  import LoginKit
  import NIOCore
  import NIOHTTP1
  import Synchronization
  import TestKit
  import Testing

  /// Changes that are delivered to web addresses.
  @Suite(.timeLimit(.minutes(15))) struct WebhookTests {
    /// A receiver on this machine, and settings that allow it.
    private static func receiver(
      _ security: HTTPSServer.Security? = nil,
      _ answer: @escaping @Sendable (HTTPSServer.Request) -> HTTPSServer.Reply = { _ in .answer(204, [], "") }
    ) async throws -> (HTTPSServer, FeedSettings) {
      let server = try await HTTPSServer(security, answer: answer)
      var settings = FeedSettings()
      settings.allowsPrivateAddresses = true
      settings.webhookAuthorities = server.authorityFile
      (settings.retryTime, settings.longestRetryTime) = (.milliseconds(20), .milliseconds(100))
      return (server, settings)
    }

    private static func body(_ url: String, _ more: String = "") -> String {
      #"{"url":"\#(url)","statement":"SELECT * FROM cars"\#(more)}"#
    }

    private static func events(_ request: HTTPSServer.Request) -> [String] {
      guard case .map(let fields)? = try? JSON.parse(request.body) else { return [] }
      return fields.objects("events").map { event in
        "\(event.members("change")?.string("method") ?? event.string("type") ?? "?") \(event.string("documentId") ?? "")"
      }
    }

    private static func header(_ name: String, _ request: HTTPSServer.Request) -> String? {
      request.head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ": ") }
        .map { String($0.dropFirst(name.count + 2)) }
    }

    private static func wait(until condition: () throws -> Bool) async throws {
      while try !condition() { await pause() }
    }

    /// Registers a webhook.
    private static func add(
      _ server: FeedServer, _ body: String
    ) async throws -> (id: String, secret: String) {
      let answer = try await server.ask("POST", "/api/v4/webhooks", body)
      expectEqual(answer.status, 201, "\(answer.text)")
      let id = try #require(answer.fields.string("id"))
      expectEqual(answer.headers.first(name: "location"), "/api/v4/webhooks/\(id)")
      return (id, try #require(answer.fields.string("secret")))
    }

    // MARK: - Delivering

    @Test func `changes are delivered in order, signed, and no more once they are acknowledged`() async throws
    {
      let (receiver, settings) = try await Self.receiver()
      try await FeedServer.with(settings) { server in
        let url = "https://localhost:\(receiver.port)/hook?key=7"
        let (id, secret) = try await Self.add(server, Self.body(url))
        for n in 0..<20 { try await server.store["cars"].upsert(["_id": "\(n)"]) }
        try await Self.wait { receiver.requests.flatMap { Self.events($0) }.count >= 20 }
        let requests = receiver.requests
        #expect(requests.flatMap { Self.events($0) } == (0..<20).map { "upsert \($0)" })
        for request in requests {
          expectEqual(request.path, "/hook?key=7")
          expectEqual(Self.header("Content-Type", request), "application/json")
          expectEqual(Self.header("Dunlin-Webhook-Id", request), id)
          let signature = try #require(Self.header("Dunlin-Signature", request))
          let parts = signature.split(separator: ",").map { $0.split(separator: "=").map(String.init) }
          let time = try #require(parts.first { $0[0] == "t" }?[1])
          let mac = HMAC<SHA256>.authenticationCode(
            for: Data("\(time).".utf8) + Data(request.body), using: SymmetricKey(data: Data(secret.utf8)))
          let digits = mac.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
          expectEqual(parts.first { $0[0] == "v1" }?[1], digits)
          expect(abs(Date().timeIntervalSince1970 - (Double(time) ?? 0)) < 60)
        }
        let deliveries = requests.compactMap { Self.header("Dunlin-Delivery-Id", $0) }
        #expect(Set(deliveries).count == requests.count)
        try await Self.wait {
          try server.feed.webhooks[id]?.progress.position == FeedPosition.now(server.parts.store)
        }
        let told = try await server.ask("GET", "/api/v4/webhooks/\(id)")
        #expect(told.fields.string("state") == "active")
        #expect(told.fields.integer("failures") == 0)
        #expect(told.fields["secret"] == nil)
      }
    }

    @Test func `a delivery that fails comes again, and those behind it wait`() async throws {
      let count = Mutex(0)
      let (receiver, settings) = try await Self.receiver { _ in
        let attempt = count.withLock {
          $0 += 1
          return $0
        }
        return attempt < 4 ? .answer(500, [], "no") : .answer(200, [], "yes")
      }
      try await FeedServer.with(settings) { server in
        let (id, _) = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
        try await server.store["cars"].upsert(["_id": "a"])
        try await Self.wait { receiver.requests.count >= 2 }
        try await server.store["cars"].upsert(["_id": "b"])
        try await Self.wait { receiver.requests.flatMap { Self.events($0) }.last == "upsert b" }
        let requests = receiver.requests
        #expect(requests.prefix(4).map { Self.events($0) } == Array(repeating: ["upsert a"], count: 4))
        #expect(Set(requests.prefix(4).map { Self.header("Dunlin-Delivery-Id", $0) }).count == 1)
        #expect(requests.count == 5)
        try await Self.wait { server.feed.webhooks[id]?.progress.deliveries == 2 }
        #expect(server.feed.webhooks[id]?.progress.state == .active)
      }
    }

    @Test func `after a restart delivery goes on behind what was acknowledged`() async throws {
      let (receiver, settings) = try await Self.receiver()
      let folder = try TemporaryDirectory()
      let id = Mutex("")
      try await FeedServer.with(settings, at: folder.file("db")) { server in
        let added = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
        id.withLock { $0 = added.id }
        try await server.store["cars"].upsert(["_id": "a", "n": 1])
        try await Self.wait { server.feed.webhooks[added.id]?.progress.deliveries == 1 }
        receiver.answer { _ in .end }
        try await server.store["cars"].upsert(["_id": "a", "n": 2])
        try await server.store["cars"].upsert(["_id": "b", "n": 2])
        try await Self.wait { server.feed.webhooks[added.id]?.progress.state == .retrying }
      }
      receiver.answer { _ in .answer(200, [], "") }
      let before = receiver.requests.count
      try await FeedServer.with(settings, at: folder.file("db")) { server in
        try await server.store["cars"].upsert(["_id": "c"])
        try await Self.wait { receiver.requests.dropFirst(before).flatMap { Self.events($0) }.count >= 3 }
        let events = receiver.requests.dropFirst(before).flatMap { Self.events($0) }
        #expect(events == ["upsert a", "upsert b", "upsert c"])
        let known = id.withLock { $0 }
        try await Self.wait { server.feed.webhooks[known]?.progress.state == .active }
        #expect(server.feed.webhooks.all.map(\.webhook.id) == [known])
      }
      withExtendedLifetime(folder) {}
    }

    @Test func `a webhook that is registered twice with one key is one, with one secret`() async throws {
      let (receiver, settings) = try await Self.receiver()
      try await FeedServer.with(settings) { server in
        let url = "https://localhost:\(receiver.port)/"
        let key = [("Idempotency-Key", "one")]
        let answers = try await [
          server.ask("POST", "/api/v4/webhooks", Self.body(url), key),
          server.ask("POST", "/api/v4/webhooks", Self.body(url), key),
        ]
        for answer in answers {
          expectEqual(answer.status, 201, "\(answer.text)")
          expectEqual(answer.text, answers[0].text)
          expectEqual(answer.headers.first(name: "location"), answers[0].headers.first(name: "location"))
        }
        #expect(answers.map { $0.headers.first(name: "idempotency-replayed") } == [nil, "true"])
        #expect(answers[0].fields.string("secret") != nil)
        #expect(server.feed.webhooks.all.count == 1)
        let other = try await server.ask("POST", "/api/v4/webhooks", Self.body(url + "other"), key)
        #expect(other.status == 422)
        #expect(other.text.contains("idempotencyKey"))
        _ = try await Self.add(server, Self.body(url))
        #expect(server.feed.webhooks.all.count == 2)
        // A request that fails is not kept.
        let bad = try await server.ask("POST", "/api/v4/webhooks", "{}", [("Idempotency-Key", "two")])
        #expect(bad.status == 400)
        let mended = try await server.ask(
          "POST", "/api/v4/webhooks", Self.body(url), [("Idempotency-Key", "two")])
        #expect(mended.status == 201)
      }
    }

    @Test func `a webhook can begin at a position`() async throws {
      let (receiver, settings) = try await Self.receiver()
      try await FeedServer.with(settings) { server in
        try await server.store["cars"].upsert(["_id": "a"])
        let position = try FeedPosition.now(server.parts.store).token
        try await server.store["cars"].upsert(["_id": "b"])
        let url = "https://localhost:\(receiver.port)/"
        _ = try await Self.add(server, Self.body(url, #","after":"\#(position)""#))
        try await Self.wait { !receiver.requests.isEmpty }
        #expect(receiver.requests.flatMap { Self.events($0) } == ["upsert b"])
        _ = try await Self.add(server, Self.body(url, #","after":"beginning""#))
        try await Self.wait { receiver.requests.flatMap { Self.events($0) }.count == 3 }
      }
    }

    @Test func `many changes are divided into deliveries of a bounded size`() async throws {
      let (receiver, settings) = try await Self.receiver()
      try await FeedServer.with(settings) { server in
        let text = String(repeating: "x", count: 5_000)
        try await server.store.write { transaction in
          for n in 0..<400 {
            try transaction.scoped(toCollectionNamed: "cars").upsert([
              "_id": "\(n)", "text": n < 200 ? "" : text,
            ])
          }
        }
        _ = try await Self.add(
          server, Self.body("https://localhost:\(receiver.port)/", #","after":"beginning""#))
        try await Self.wait { receiver.requests.flatMap { Self.events($0) }.count >= 400 }
        let requests = receiver.requests
        #expect(Set(requests.flatMap { Self.events($0) }).count == 400)
        #expect(requests.allSatisfy { Self.events($0).count <= 128 && $0.body.count < 300 << 10 })
        #expect(requests.count >= 6)
      }
    }

    @Test func `deliveries of one large transaction have ids and the position behind them`() async throws {
      let (receiver, settings) = try await Self.receiver()
      try await FeedServer.with(settings) { server in
        let (id, _) = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
        try await server.store.write { transaction in
          for n in 0..<700 {
            try transaction.scoped(toCollectionNamed: "cars").upsert(["_id": "\(n)"])
          }
        }
        try await Self.wait { receiver.requests.flatMap { Self.events($0) }.count >= 700 }
        let requests = receiver.requests
        #expect(requests.count >= 6)
        #expect(Set(requests.compactMap { Self.header("Dunlin-Delivery-Id", $0) }).count == requests.count)
        let last = try #require(requests.last)
        guard case .map(let fields)? = try? JSON.parse(last.body) else {
          Issue.record("A delivery is no object")
          return
        }
        #expect(fields.string("deliveryId") == Self.header("Dunlin-Delivery-Id", last))
        #expect(fields.string("position") == (try FeedPosition.now(server.parts.store).token))
        try await Self.wait {
          server.feed.webhooks[id]?.progress.position.token == fields.string("position")
        }
      }
    }

    // MARK: - What is large

    private static func objects(_ request: HTTPSServer.Request) -> [[TextKey: Value]] {
      guard case .map(let fields)? = try? JSON.parse(request.body) else { return [] }
      return fields.objects("events")
    }

    @Test func `an event that is too large comes without its values, and those behind it follow`()
      async throws
    {
      let (receiver, settings) = try await Self.receiver()
      try await FeedServer.with(settings) { server in
        _ = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
        for (id, count) in [("a", 700_000), ("b", 1_200_000), ("c", 1)] {
          try await server.store["cars"].upsert(["_id": id, "text": String(repeating: "x", count: count)])
        }
        try await Self.wait { receiver.requests.flatMap { Self.events($0) }.last == "upsert c" }
        let events = receiver.requests.flatMap { Self.objects($0) }
        #expect(events.map { $0.string("documentId") } == ["a", "b", "c"])
        #expect(events.map { $0.boolean("valuesOmitted") } == [nil, true, nil])
        #expect(events.map { $0.members("change")?["newValue"] == nil } == [false, true, false])
        #expect(events[1].members("change") == ["method": .string("upsert")])
      }
    }

    @Test func `a receiver that takes little gets events in smaller parts, and at last without values`()
      async throws
    {
      let (receiver, settings) = try await Self.receiver { request in
        .answer(request.body.count > 2_000 ? 413 : 200, [], "")
      }
      try await FeedServer.with(settings) { server in
        let (id, _) = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
        try await server.store.write { transaction in
          for (id, count) in [("a", 500), ("b", 500), ("c", 500), ("d", 5_000), ("e", 500)] {
            try transaction.scoped(toCollectionNamed: "cars").upsert([
              "_id": id, "text": String(repeating: "x", count: count),
            ])
          }
        }
        try await Self.wait {
          try server.feed.webhooks[id]?.progress.position == FeedPosition.now(server.parts.store)
        }
        let taken = receiver.requests.filter { $0.body.count <= 2_000 }
        let events = taken.flatMap { Self.objects($0) }
        #expect(events.map { $0.string("documentId") } == ["a", "b", "c", "d", "e"])
        #expect(events.map { $0.boolean("valuesOmitted") } == [nil, nil, nil, true, nil])
        #expect(Set(taken.compactMap { Self.header("Dunlin-Delivery-Id", $0) }).count == taken.count)
        #expect(server.feed.webhooks[id]?.progress.failures == 0)
      }
    }

    @Test func `a receiver that takes nothing at all fails`() async throws {
      let (receiver, settings) = try await Self.receiver { _ in .answer(413, [], "") }
      try await FeedServer.with(settings) { server in
        let (id, _) = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
        try await server.store["cars"].upsert(["_id": "a"])
        try await Self.wait { server.feed.webhooks[id]?.progress.state == .retrying }
        #expect(server.feed.webhooks[id]?.progress.lastFailure?.contains("413") == true)
      }
    }

    // MARK: - What is asked at once

    private struct Stop: Error {}

    /// Refuses all transactions while it says so.
    private static func refuseWrites(
      _ server: FeedServer, while isRefusing: @escaping @Sendable () -> Bool
    ) -> CommitListener {
      server.parts.store.beforeCommit { _ in if isRefusing() { throw Stop() } }
    }

    @Test func `a pause and its end that are asked for at once leave it as it says it is`() async throws {
      let (receiver, settings) = try await Self.receiver()
      try await FeedServer.with(settings) { server in
        let (id, _) = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
        for round in 0..<20 {
          try await withThrowingTaskGroup(of: Void.self) { group in
            for isPaused in [true, false, true, false] {
              group.addTask { _ = try await server.feed.webhooks.setPaused(isPaused, id) }
            }
            try await group.waitForAll()
          }
          let isPaused = server.feed.webhooks[id]?.progress.pause != nil
          let count = receiver.requests.count
          try await server.store["cars"].upsert(["_id": "\(round)"])
          if isPaused {
            try await Task.sleep(for: .milliseconds(50))
            expectEqual(receiver.requests.count, count)
          }
          _ = try await server.feed.webhooks.setPaused(false, id)
          try await Self.wait {
            try server.feed.webhooks[id]?.progress.position == FeedPosition.now(server.parts.store)
          }
        }
        #expect(receiver.requests.flatMap { Self.events($0) } == (0..<20).map { "upsert \($0)" })
      }
    }

    @Test func `a removal wins over pauses that are asked for meanwhile`() async throws {
      let (receiver, settings) = try await Self.receiver()
      try await FeedServer.with(settings) { server in
        for _ in 0..<20 {
          let (id, _) = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
          let removals = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<2 {
              group.addTask {
                _ = try await server.feed.webhooks.setPaused(false, id)
                return false
              }
              group.addTask { try await server.feed.webhooks.remove(id) }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
          }
          expectEqual(removals, 1)
          expect(server.feed.webhooks[id] == nil)
        }
        try await server.store["cars"].upsert(["_id": "a"])
        try await Task.sleep(for: .milliseconds(200))
        #expect(receiver.requests.isEmpty)
        #expect(server.parts.feeds.readerCount == 0)
      }
    }

    @Test func `a pause or a removal that cannot be written down is none`() async throws {
      let (receiver, settings) = try await Self.receiver()
      try await FeedServer.with(settings) { server in
        let (id, _) = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
        let isRefusing = Mutex(true)
        let listener = Self.refuseWrites(server) { isRefusing.withLock { $0 } }
        await #expect(throws: (any Error).self) { try await server.feed.webhooks.setPaused(true, id) }
        await #expect(throws: (any Error).self) { try await server.feed.webhooks.remove(id) }
        isRefusing.withLock { $0 = false }
        #expect(server.feed.webhooks[id]?.progress.state == .active)
        try await server.store["cars"].upsert(["_id": "a"])
        try await Self.wait { !receiver.requests.isEmpty }
        #expect(try await server.feed.webhooks.remove(id))
        listener.cancel()
      }
    }

    @Test func `one that has paused itself delivers no more, also where that cannot be written down at once`()
      async throws
    {
      let isRefusing = Mutex(false)
      let (receiver, settings) = try await Self.receiver { _ in
        isRefusing.withLock { $0 = true }
        return .answer(410, [], "")
      }
      try await FeedServer.with(settings) { server in
        let (id, _) = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
        let listener = Self.refuseWrites(server) { isRefusing.withLock { $0 } }
        try await server.store["cars"].upsert(["_id": "a"])
        try await Self.wait { server.feed.webhooks[id]?.progress.pause == .gone }
        try await Task.sleep(for: .milliseconds(400))
        #expect(receiver.requests.count == 1)
        isRefusing.withLock { $0 = false }
        try await Self.wait {
          let stored = try server.store.read {
            try $0.sideValue(SideTable("feed.positions"), key: Array(id.utf8))
          }
          return String(decoding: stored ?? [], as: UTF8.self).contains(#""pause":"gone""#)
        }
        listener.cancel()
      }
    }

    // MARK: - Failing

    @Test(
      arguments: [
        (HTTPSServer.Reply.answer(301, ["Location: https://localhost/other"], ""), "redirects (status 301)"),
        (.answer(404, [], "no"), "status 404"), (.bytes("nonsense\r\n\r\n"), "does not answer as HTTP says"),
        (.end, "ended the connection"),
      ] as [(HTTPSServer.Reply, String)])
    func `what is no acknowledgement is a failure that says why`(_ reply: HTTPSServer.Reply, _ why: String)
      async throws
    {
      let (receiver, settings) = try await Self.receiver { _ in reply }
      try await FeedServer.with(settings) { server in
        let (id, _) = try await Self.add(
          server, Self.body("https://localhost:\(receiver.port)/hidden/path?secret=1"))
        try await server.store["cars"].upsert(["_id": "a"])
        try await Self.wait { server.feed.webhooks[id]?.progress.failures ?? 0 > 1 }
        let answer = try await server.ask("GET", "/api/v4/webhooks/\(id)")
        #expect(answer.fields.string("state") == "retrying")
        let failure = try #require(answer.fields.string("lastFailure"))
        #expect(failure.contains(why), "\(failure)")
        #expect(failure.contains("https://localhost:\(receiver.port) "), "\(failure)")
        // The log has the failure, too.
        #expect(!failure.contains("secret=1") && !failure.contains("hidden"))
        #expect(answer.fields.integer("failingSince") != nil)
        // Nobody goes where a redirect leads.
        #expect(receiver.requests.allSatisfy { $0.path == "/hidden/path?secret=1" })
      }
    }

    @Test func `a receiver that does not answer in time has failed, and one that asks to wait is waited for`()
      async throws
    {
      let (receiver, base) = try await Self.receiver { _ in .silence }
      var settings = base
      settings.deliveryTime = .milliseconds(200)
      try await FeedServer.with(settings) { server in
        let (id, _) = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
        try await server.store["cars"].upsert(["_id": "a"])
        // Beside load the connection itself may take too long at first.
        try await Self.wait { server.feed.webhooks[id]?.progress.lastFailure?.contains("in time") == true }
        receiver.answer { _ in .answer(429, ["Retry-After: 3600"], "") }
        try await Self.wait { server.feed.webhooks[id]?.progress.lastFailure?.contains("429") == true }
        // Not by the requests that the receiver sees: one that was given up may come late.
        let failures = server.feed.webhooks[id]?.progress.failures
        try await Task.sleep(for: .milliseconds(400))
        #expect(server.feed.webhooks[id]?.progress.failures == failures)
      }
    }

    @Test func `a receiver whose certificate is not trusted gets nothing`() async throws {
      let (receiver, settings) = try await Self.receiver()
      let other = try await HTTPSServer { _ in .answer(200, [], "") }
      try await FeedServer.with(settings) { server in
        let (id, _) = try await Self.add(server, Self.body("https://localhost:\(other.port)/"))
        try await server.store["cars"].upsert(["_id": "a"])
        try await Self.wait { server.feed.webhooks[id]?.progress.failures ?? 0 > 0 }
        #expect(server.feed.webhooks[id]?.progress.lastFailure?.contains("is not trusted") == true)
        #expect(other.requests.isEmpty)
      }
      try await receiver.stop()
    }

    @Test func `a key does not learn where the server has the file with the authorities`() async throws {
      let (receiver, base) = try await Self.receiver()
      let folder = try TemporaryDirectory()
      let path = folder.file("authorities.pem")
      var changed = base
      try FileManager.default.copyItem(atPath: try #require(base.webhookAuthorities), toPath: path)
      changed.webhookAuthorities = path
      let settings = changed
      try await FeedServer.with(settings) { server in
        try FileManager.default.removeItem(atPath: path)
        let (id, _) = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
        try await server.store["cars"].upsert(["_id": "a"])
        try await Self.wait { server.feed.webhooks[id]?.progress.failures ?? 0 > 0 }
        let answer = try await server.ask("GET", "/api/v4/webhooks/\(id)")
        let failure = try #require(answer.fields.string("lastFailure"))
        #expect(failure.hasSuffix(" cannot be verified: the authorities cannot be read"), "\(failure)")
        #expect(!answer.text.contains(folder.path), "\(answer.text)")
      }
      try await receiver.stop()
    }

    @Test func `a webhook that fails for too long is paused, says so, and goes on when it is asked to`()
      async throws
    {
      let (receiver, base) = try await Self.receiver { _ in .answer(500, [], "") }
      var settings = base
      settings.pauseTime = .milliseconds(300)
      try await FeedServer.with(settings) { server in
        let (id, _) = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
        try await server.store["cars"].upsert(["_id": "a"])
        try await Self.wait { server.feed.webhooks[id]?.progress.state == .paused }
        let told = try await server.ask("GET", "/api/v4/webhooks")
        #expect(told.fields.objects("webhooks").map { $0.string("pause") } == ["failing"])
        let count = receiver.requests.count
        try await server.store["cars"].upsert(["_id": "b"])
        receiver.answer { _ in .answer(200, [], "") }
        try await Task.sleep(for: .milliseconds(200))
        #expect(receiver.requests.count == count)
        let resumed = try await server.ask("PATCH", "/api/v4/webhooks/\(id)", #"{"paused":false}"#)
        #expect(resumed.fields.string("state") == "active")
        try await Self.wait { receiver.requests.dropFirst(count).flatMap { Self.events($0) }.count >= 2 }
        #expect(receiver.requests.dropFirst(count).flatMap { Self.events($0) } == ["upsert a", "upsert b"])
      }
    }

    @Test func `one that is gone is paused at once`() async throws {
      let (receiver, settings) = try await Self.receiver { _ in .answer(410, [], "") }
      try await FeedServer.with(settings) { server in
        let (id, _) = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
        try await server.store["cars"].upsert(["_id": "a"])
        try await Self.wait { server.feed.webhooks[id]?.progress.pause == .gone }
        #expect(receiver.requests.count == 1)
      }
    }

    // MARK: - Where webhooks may be

    @Test func `a private address is refused unless it is allowed, and plain HTTP is for those alone`()
      async throws
    {
      let (receiver, settings) = try await Self.receiver(.plain)
      var strict = settings
      strict.allowsPrivateAddresses = false
      try await FeedServer.with(strict) { server in
        let plain = try await server.ask(
          "POST", "/api/v4/webhooks", Self.body("http://127.0.0.1:\(receiver.port)/"))
        #expect(plain.status == 422)
        #expect(plain.text.contains("feed.allowPrivateAddresses"), "\(plain.text)")
        for host in ["127.0.0.1", "[::1]", "10.0.0.1", "[fd00::1]"] {
          let refused = try await server.ask(
            "POST", "/api/v4/webhooks", Self.body("https://\(host):\(receiver.port)/"))
          expectEqual(refused.status, 422, "\(host)")
          expect(refused.text.contains("needs the setting feed.allowPrivateAddresses"), "\(refused.text)")
        }
        // Where a name leads is seen at each delivery.
        let (id, _) = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
        try await server.store["cars"].upsert(["_id": "a"])
        try await Self.wait { server.feed.webhooks[id]?.progress.failures ?? 0 > 0 }
        let failure = server.feed.webhooks[id]?.progress.lastFailure ?? ""
        #expect(failure.contains("with feed.allowPrivateAddresses alone"), "\(failure)")
        #expect(receiver.requests.isEmpty)
      }
      try await FeedServer.with(settings) { server in
        _ = try await Self.add(server, Self.body("http://127.0.0.1:\(receiver.port)/"))
        try await server.store["cars"].upsert(["_id": "a"])
        try await Self.wait { !receiver.requests.isEmpty }
        #expect(receiver.requests.flatMap { Self.events($0) } == ["upsert a"])
        // A public address needs TLS, whatever is allowed.
        let open = try await server.ask("POST", "/api/v4/webhooks", Self.body("http://8.8.8.8:9/"))
        #expect(open.status == 422)
        #expect(open.text.contains("where https:// is needed"), "\(open.text)")
      }
    }

    @Test(arguments: [
      ("127.0.0.1", false), ("10.1.2.3", false), ("172.16.0.1", false), ("172.32.0.1", true),
      ("192.168.1.1", false), ("169.254.169.254", false), ("100.64.0.1", false), ("100.128.0.1", true),
      ("0.0.0.0", false), ("224.0.0.1", false), ("255.255.255.255", false), ("198.18.0.1", false),
      ("192.0.2.1", false), ("203.0.113.9", false), ("8.8.8.8", true), ("1.1.1.1", true), ("::1", false),
      ("::", false), ("fe80::1", false), ("fc00::1", false), ("fd12::1", false), ("ff02::1", false),
      ("::ffff:127.0.0.1", false), ("::ffff:8.8.8.8", true), ("64:ff9b::7f00:1", false),
      ("2002:7f00:1::", false), ("2002:808:808::", true), ("2001:db8::1", false), ("2001::1", false),
      ("2606:4700::1111", true), ("2a00:1450::1", true),
    ])
    func `only addresses of the public internet are public`(_ text: String, _ isPublic: Bool) throws {
      #expect(AddressPolicy.isPublic(try SocketAddress(ipAddress: text, port: 443)) == isPublic)
    }

    @Test(arguments: [
      ("https://example.org", "example.org", 443, "/", "example.org"),
      ("https://Example.org:8443/a/b?c=d", "example.org", 8_443, "/a/b?c=d", "example.org:8443"),
      ("http://[::1]:3000/x", "::1", 3_000, "/x", "[::1]:3000"),
      ("https://10.0.0.1?x", "10.0.0.1", 443, "/?x", "10.0.0.1"),
      ("https://example.org/a/", "example.org", 443, "/a/", "example.org"),
      ("http://10.0.0.1:80/", "10.0.0.1", 80, "/", "10.0.0.1"),
    ])
    func `an address is read into its parts`(
      _ text: String, _ host: String, _ port: Int, _ target: String, _ authority: String
    ) throws {
      let address = try WebhookAddress(text, allowsPlain: true)
      #expect(address.web.host == host && address.web.port == port)
      #expect(address.web.target == target && address.web.authority == authority)
      #expect(!"\(address.web)".contains("?"))
    }

    @Test(arguments: [
      "", "example.org", "ftp://example.org", "http://example.org", "https://", "https://user@example.org",
      "https://user:secret@example.org", "https://example.org/#part", "https://example.org#part",
      "https://example.org:0/",
      "https://exämple.org/", "https://example.org/ x",
      "https://example.org/" + String(repeating: "x", count: 2_100),
    ])
    func `what is no address of a webhook is refused`(_ text: String) {
      let error = #expect(throws: DunlinError.self) { try WebhookAddress(text, allowsPlain: false) }
      #expect(error?.code == .argument)
    }

    // MARK: - The API

    @Test func `webhooks are listed, paused and removed`() async throws {
      let (receiver, settings) = try await Self.receiver()
      try await FeedServer.with(settings) { server in
        let url = "https://localhost:\(receiver.port)/"
        let (first, _) = try await Self.add(server, Self.body(url))
        let (second, secret) = try await Self.add(
          server, Self.body(url, #","secret":"a secret of ours!","args":{"n":1}"#.replacing(" ", with: "-")))
        #expect(secret == "a-secret-of-ours!")
        let list = try await server.ask("GET", "/api/v4/webhooks")
        #expect(Set(list.fields.objects("webhooks").compactMap { $0.string("id") }) == [first, second])
        #expect(!list.text.contains("secret"))
        let paused = try await server.ask("PATCH", "/api/v4/webhooks/\(first)", #"{"paused":true}"#)
        #expect(paused.fields.string("state") == "paused" && paused.fields.string("pause") == "requested")
        let removed = try await server.ask("DELETE", "/api/v4/webhooks/\(second)")
        #expect(removed.status == 204)
        try await server.store["cars"].upsert(["_id": "a"])
        try await Task.sleep(for: .milliseconds(200))
        #expect(receiver.requests.isEmpty)
        for (method, path, body) in [
          ("GET", "/api/v4/webhooks/\(second)", nil), ("DELETE", "/api/v4/webhooks/\(second)", nil),
          ("PATCH", "/api/v4/webhooks/\(second)", #"{"paused":true}"#),
        ] as [(String, String, String?)] {
          let answer = try await server.ask(method, path, body)
          expectEqual(answer.status, 404)
        }
      }
    }

    @Test func `a webhook gets another address and another secret, and goes on where it was`() async throws {
      let (receiver, settings) = try await Self.receiver()
      let other = try await HTTPSServer(.plain) { _ in .answer(204, [], "") }
      try await FeedServer.with(settings) { server in
        let (id, secret) = try await Self.add(server, Self.body("https://localhost:\(receiver.port)/"))
        try await server.store["cars"].upsert(["_id": "a"])
        try await Self.wait { receiver.requests.count == 1 }
        let path = "/api/v4/webhooks/\(id)"
        let (next, last) = ("a-new-secret-of-ours", "another-secret-of-ours")
        let changed = try await server.ask(
          "PATCH", path,
          #"{"url":"http://localhost:\#(other.port)/new","secret":"\#(next)","overlapSeconds":3600}"#)
        #expect(changed.status == 200, "\(changed.text)")
        #expect(changed.fields.string("url")?.hasSuffix("/new") == true)
        #expect(!changed.text.contains(next) && !changed.text.contains(secret))
        #expect(changed.fields["formerSecretEnds"] != nil)
        try await server.store["cars"].upsert(["_id": "b"])
        try await Self.wait { other.requests.count == 1 }
        let request = try #require(other.requests.first)
        // Nothing comes twice, and nothing is left out.
        #expect(Self.events(request) == ["upsert b"])
        let signature = try #require(Self.header("Dunlin-Signature", request))
        let seconds = try #require(
          signature.split(separator: ",").first.flatMap { Double($0.dropFirst(2)) })
        let time = Date(timeIntervalSince1970: seconds)
        #expect(
          signature == WebhookSignature.value(Array(request.body), secrets: [next, secret], at: time))
        let third = try await server.ask("PATCH", path, #"{"secret":"\#(last)"}"#)
        #expect(third.status == 409, "\(third.text)")
        let at = try await server.ask(
          "PATCH", path, #"{"secret":"\#(last)","overlapSeconds":0,"paused":true}"#)
        #expect(at.fields.string("state") == "paused")
        #expect(at.fields["formerSecretEnds"] == nil)
        _ = try await server.ask("PATCH", path, #"{"paused":false}"#)
        try await server.store["cars"].upsert(["_id": "c"])
        try await Self.wait { other.requests.count == 2 }
        let later = try #require(other.requests.last)
        let only = try #require(Self.header("Dunlin-Signature", later))
        let then = try #require(only.split(separator: ",").first.flatMap { Double($0.dropFirst(2)) })
        #expect(
          only
            == WebhookSignature.value(
              Array(later.body), secret: last, at: Date(timeIntervalSince1970: then)))
        #expect(receiver.requests.count == 1)
        for (body, status) in [
          ("{}", 400), (#"{"overlapSeconds":1}"#, 422), (#"{"url":"ftp://x"}"#, 422),
          (#"{"secret":"short"}"#, 422), (#"{"statement":"SELECT * FROM cars"}"#, 400),
          (#"{"secret":"\#(next)","overlapSeconds":-1}"#, 400),
        ] { try await expectEqual(server.ask("PATCH", path, body).status, status, "\(body)") }
        let gone = try await server.ask("PATCH", "/api/v4/webhooks/wh_0", #"{"secret":"\#(next)"}"#)
        #expect(gone.status == 404)
      }
    }

    @Test(arguments: [
      ("{}", "url"), (#"{"url":"ftp://x","statement":"SELECT * FROM cars"}"#, "url"),
      (#"{"url":"https://example.org"}"#, "statement"),
      (#"{"url":"https://example.org","statement":"SELECT n FROM cars"}"#, "wildcard"),
      (#"{"url":"https://example.org","statement":"SELECT * FROM cars","secret":"short"}"#, "secret"),
      (#"{"url":"https://example.org","statement":"SELECT * FROM cars","more":1}"#, "more"),
    ])
    func `a webhook that cannot be is refused by what is wrong`(_ body: String, _ word: String) async throws {
      try await FeedServer.with { server in
        let answer = try await server.ask("POST", "/api/v4/webhooks", body)
        #expect([400, 422].contains(answer.status))
        #expect(answer.text.contains(word), "\(answer.text)")
        #expect(server.feed.webhooks.all.isEmpty)
      }
    }

    @Test func `an application has so many webhooks and no more, and a key that reads makes none`()
      async throws
    {
      var settings = FeedSettings()
      settings.webhooks = 2
      try await FeedServer.with(settings) { server in
        let body = Self.body("https://example.org/")
        for status in [201, 201, 422] {
          let answer = try await server.ask("POST", "/api/v4/webhooks", body)
          expectEqual(answer.status, status)
        }
        let reading = try await server.readingKey()
        let refused = try await server.ask("POST", "/api/v4/webhooks", body, [reading])
        #expect(refused.status == 403)
      }
    }
  }
#endif
