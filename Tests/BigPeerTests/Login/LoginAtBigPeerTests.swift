#if Server
  import BigPeer
  import CRDTCore
  import Facade
  import Foundation
  import Links
  import LoginKit
  import Logging
  import TestKit
  import Testing
  import Transports

  /// Devices that log in at a running big peer, over real sockets.
  @Suite(.timeLimit(.minutes(15))) struct LoginAtBigPeerTests {
    private let folder: TemporaryDirectory
    private let webhook: HTTPSServer
    private let authority: DunlinAuthority
    private let web: WebAuthority
    private let configuration: BigPeerConfiguration
    private let url: String

    init() async throws {
      folder = try TemporaryDirectory()
      webhook = try await HTTPSServer(.plain) { request in
        guard case .map(let fields)? = try? JSON.parse(request.body),
          case .string(let token)? = fields["token"],
          token.hasSuffix("'s token")
        else { return .answer(200, ["Content-Type: application/json"], "{\"authenticated\": false}") }
        let user = token.dropLast("'s token".count)
        return .answer(
          200, ["Content-Type: application/json"],
          LoginRig.grant.replacing("\"ann\"", with: "\"\(user)\"").replacing(
            "\"userID\"",
            with:
              "\"clientInfo\": {\"hello\": \"\(user)\"}, \"identityServiceMetadata\": {\"van\": 7}, \"userID\""
          ))
      }
      let validity = Date(timeIntervalSinceNow: -3_600)..<Date(timeIntervalSinceNow: 86_400)
      authority = try DunlinAuthority(appID: "default", validity: validity)
      try LoginRig.write(
        try authority.makeIntermediate(validity: validity).text, to: folder.file("server.pem"))
      web = try WebAuthority()
      let (certificate, key) = try web.issue()
      try LoginRig.write(certificate, to: folder.file("web.pem"))
      try LoginRig.write(key, to: folder.file("web.key"))
      try LoginRig.write(web.certificate, to: folder.file("roots.pem"))
      // Devices are told it.
      let port = try await RunningBigPeer.freePort()
      url = "https://localhost:\(port)/login/default"
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.http.listen = ListenAddress(host: "127.0.0.1", port: port)
      configuration.http.tls = BigPeerConfiguration.TLS(
        certificate: folder.file("web.pem"), key: folder.file("web.key"))
      configuration.applications[0].identity = .intermediate
      configuration.applications[0].subscriptions = ["orders"]
      configuration.applications[0].login = BigPeerConfiguration.Login(
        url: url, webhook: "http://127.0.0.1:\(webhook.port)/verify",
        authority: .file(folder.file("server.pem")))
      self.configuration = configuration
    }

    private func open(_ user: String, token: String? = nil) throws -> Dunlin {
      var options = DunlinConfiguration(peerName: user, logger: quietLogger, mapBytes: 1 << 30)
      options.webAuthority = folder.file("roots.pem")
      let dunlin = try Dunlin(
        path: folder.file("devices/\(user)"),
        identity: .online(appID: "default", url: url, authority: try authority.certificate) { authenticator in
          _ = try await authenticator.login(token: token ?? "\(user)'s token", provider: "tests")
        }, configuration: options)
      return dunlin
    }

    private func connect(_ dunlin: Dunlin, _ running: RunningBigPeer) throws {
      let address = try #require(running.addresses.devices["default"]?.first)
      let port = try #require(address.split(separator: ":").last.flatMap { Int($0) })
      dunlin.connect(host: "127.0.0.1", port: port)
      try dunlin.startSync()
    }

    private func wait(_ dunlin: Dunlin, forUsers users: [String]) async {
      for await graph in dunlin.presence.graphs where graph.remotePeers.compactMap(\.user).sorted() == users {
        return
      }
    }

    private func wait(_ dunlin: Dunlin, forOrders count: Int) async throws {
      for await diff in try dunlin.store.changes(of: "SELECT * FROM orders") where diff.items.count == count {
        return
      }
    }

    @Test func `logins of an application that cannot be served are asked to wait`() async throws {
      var configuration = configuration
      var second = RunningBigPeer.configuration(in: folder).applications[0]
      second.id = "second"
      second.folder = folder.file("applications/second")
      configuration.applications.append(second)
      let store = folder.file("applications/default/store")
      try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: true)
      try Data(repeating: 0x5A, count: 1 << 16).write(to: URL(filePath: "\(store)/data.mdb"))
      try await RunningBigPeer.with(configuration) { [self] running in
        #expect(running.addresses.devices.keys.sorted() == ["second"])
        let client = HTTPSClient(authorityFile: folder.file("roots.pem"))
        for step in ["challenge", "login"] {
          let answer = try await client.post(Array("{}".utf8), to: HTTPSAddress("\(url)/\(step)"))
          expectEqual(answer.status, 503)
          expectEqual(answer.retryAfter, .seconds(30))
        }
        let other = try await client.post(Array("{}".utf8), to: HTTPSAddress("\(url)/other"))
        #expect(other.status == 404)
      }
    }

    @Test func `logins go to another webhook after a reload, and devices stay connected`() async throws {
      let other = try await HTTPSServer(.plain) { _ in
        .answer(200, ["Content-Type: application/json"], LoginRig.grant)
      }
      var changed = configuration
      changed.applications[0].login?.webhook = "http://127.0.0.1:\(other.port)/verify"
      let next = changed
      let ann = try open("ann")
      try await RunningBigPeer.with(configuration) { [self] running in
        let application = try #require(running.bigPeer.applications?["default"])
        try connect(ann, running)
        await wait(application.dunlin, forUsers: ["ann"])
        await #expect(throws: DunlinError.self) {
          try await ann.auth?.login(token: "of the other", provider: "tests")
        }
        let outcome = try await running.bigPeer.reload(next)
        #expect(outcome.reopened == [])
        #expect(running.bigPeer.applications?["default"] === application)
        _ = try await ann.auth?.login(token: "of the other", provider: "tests")
        #expect(application.dunlin.presence.graph.remotePeers.compactMap(\.user) == ["ann"])
      }
      withExtendedLifetime(other) {}
      try ann.close()
    }

    @Test func `a device logs in, syncs, is revoked, and is cut, also after a restart`() async throws {
      let (ann, bob) = (try open("ann"), try open("bob"))
      let subscriptions = try [ann, bob].map {
        try $0.sync.registerSubscription(query: "SELECT * FROM orders")
      }
      let annsKey = try PeerKey(
        hexadecimal: try DunlinDevice.publicKey(path: folder.file("devices/ann")))
      try await RunningBigPeer.with(configuration) { [self] running in
        let application = try #require(running.bigPeer.applications?["default"])
        let hub = application.dunlin
        try connect(ann, running)
        try connect(bob, running)
        await wait(hub, forUsers: ["ann", "bob"])
        #expect(ann.auth?.status.userID == "ann")
        let peer = try #require(hub.presence.graph.remotePeers.first { $0.user == "ann" })
        #expect(peer.identityMetadata["van"] as? Int == 7)
        #expect(try await ann.auth?.login(token: "ann's token", provider: "tests") == "{\"hello\":\"ann\"}")
        try await ann.collection("orders").upsert(["_id": "from ann"])
        try await wait(bob, forOrders: 1)
        try await hub.collection("orders").upsert(["_id": "from the hub"])
        try await wait(ann, forOrders: 2)

        let admin = try running.admin()
        let path = "/admin/applications/default"
        let devices = try JSON.parse(try await admin.send("GET", "\(path)/devices").body)["devices"]?.list
        let device = devices?.first { $0["user"]?.text == "ann" }
        #expect(device?["identityMetadata"]?["van"] == .int(7))
        for (body, status) in [
          ("{\"deviceKey\": \"\(annsKey)\", \"reason\": \"stolen\"}", 201),
          ("{\"deviceKey\": \"\(annsKey)\"}", 200), ("{}", 400), ("{\"deviceKey\": \"00\"}", 400),
          ("{\"deviceKey\": \"\(annsKey)\", \"why\": 1}", 400),
        ] {
          try await expectEqual(admin.send("POST", "\(path)/revocations", body).status, status, "\(body)")
        }
        let listed = try JSON.parse(try await admin.send("GET", "\(path)/revocations").body)
        #expect(listed["revocations"]?.list?.count == 1)
        #expect(listed["revocations"]?.list?.first?["reason"]?.text == "stolen")
        await wait(hub, forUsers: ["bob"])
        await #expect(throws: DunlinError.self) {
          try await ann.auth?.login(token: "ann's token", provider: "tests")
        }
        try await ann.collection("orders").upsert(["_id": "from ann, revoked"])
        try await bob.collection("orders").upsert(["_id": "from bob"])
        try await wait(hub, forOrders: 3)
        try await wait(bob, forOrders: 3)
        #expect(hub.presence.graph.remotePeers.compactMap(\.user) == ["bob"])
        let events = try #require(
          try application.logins.audit.events(.issues, after: nil, count: 100)
        ).events
        #expect(events.filter { $0.kind == .issued }.compactMap(\.user).sorted() == ["ann", "ann", "bob"])
        #expect(events.last?.kind == .revoked)
        #expect(events.last?.deviceKey == "\(annsKey)")
        // Other devices have learned of it.
        while bob.revocations.lists.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        #expect(bob.revocations.lists.map(\.entryCount) == [1])
        #expect(bob.revocations.lists.map(\.isIntermediate) == [true])
        #expect(bob.parts.network.revocations.contains(annsKey))
        let refusals = try #require(
          try application.logins.audit.events(.refusals, after: nil, count: 100)
        ).events
        #expect(refusals.contains { $0.reason == "this device's key is revoked" && $0.source == "127.0.0.1" })
        let audit = try JSON.parse(try await admin.send("GET", "\(path)/audit?count=2").body)
        #expect(audit["events"]?.list?.count == 2)
        #expect(audit["events"]?.list?.last?["event"]?.text == "revoked")
        let next = try #require(audit["next"]?.text)
        let rest = try JSON.parse(try await admin.send("GET", "\(path)/audit?after=\(next)").body)
        #expect(rest["events"]?.list?.isEmpty == true)
        let refused = try JSON.parse(try await admin.send("GET", "\(path)/audit?list=refusals").body)
        #expect(refused["events"]?.list?.first?["event"]?.text == "refused")
        for query in ["list=all", "count=0", "count=1001", "count=x", "after=%20"] {
          try await expectEqual(admin.send("GET", "\(path)/audit?\(query)").status, 400, "\(query)")
        }
        let nobody = try APIClient(running.addresses.admin, token: "wrong")
        let metrics = try await nobody.send("GET", "/metrics").text
        for (outcome, isCounted) in [("granted", true), ("revoked", true), ("fault", false)] {
          let none = "bigpeer_login_requests_total{application=\"default\",outcome=\"\(outcome)\"} 0\n"
          expect(metrics.contains("outcome=\"\(outcome)\""))
          expectEqual(metrics.contains(none), !isCounted, "\(outcome)")
        }
        for what in ["audit", "revocations"] {
          try await expectEqual(nobody.send("GET", "\(path)/\(what)").status, 401)
        }
      }
      try await RunningBigPeer.with(configuration) { [self] running in
        let application = try #require(running.bigPeer.applications?["default"])
        #expect(application.logins.revocations.all.map(\.peerKey) == [annsKey])
        #expect(application.dunlin.revocations.lists.map(\.number) == [1])
        // The device that was not connected since the start is named by its login; the other one is revoked.
        let erasure = try JSON.parse(
          try await running.admin().send(
            "POST", "/admin/applications/default/erase", #"{"collection":"people","ids":["p1"]}"#
          ).body)
        #expect(erasure["unconfirmedCount"] == .int(1), "\(erasure)")
        #expect(erasure["unconfirmed"]?.list?.first?["user"]?.text == "bob")
        #expect(erasure["unconfirmed"]?.list?.first?["isConnected"] == .bool(false))
        // The port of devices is another one now.
        try connect(ann, running)
        try connect(bob, running)
        await wait(application.dunlin, forUsers: ["bob"])
        try await bob.collection("orders").upsert(["_id": "from bob again"])
        try await wait(application.dunlin, forOrders: 4)
        #expect(application.dunlin.presence.graph.remotePeers.compactMap(\.user) == ["bob"])
      }
      for subscription in subscriptions { subscription.cancel() }
      try ann.close()
      try bob.close()
    }

    @Test func `a renewed intermediate authority issues from a reload on, and sessions go on`() async throws {
      let ann = try open("ann")
      try await RunningBigPeer.with(configuration) { [self] running in
        let hub = try #require(running.bigPeer.applications?["default"])
        try connect(ann, running)
        await wait(hub.dunlin, forUsers: ["ann"])
        let connections = Set(hub.dunlin.parts.network.connections.map(\.id))
        let end = Date(timeIntervalSinceNow: 1_800)
        let renewed = try authority.makeIntermediate(validity: Date(timeIntervalSinceNow: -3_600)..<end)
        try LoginRig.write("nothing", to: folder.file("server.pem"))
        let error = await #expect(throws: ConfigurationError.self) { try await running.bigPeer.reload() }
        #expect(error?.description.hasPrefix("applications[0].login.authority: ") == true)
        try LoginRig.write(renewed.text, to: folder.file("server.pem"))
        try await running.bigPeer.reload()
        let bob = try open("bob")
        try connect(bob, running)
        await wait(hub.dunlin, forUsers: ["ann", "bob"])
        #expect(connections.isSubset(of: Set(hub.dunlin.parts.network.connections.map(\.id))))
        let events = try #require(try hub.logins.audit.events(.issues, after: nil, count: 10)).events
        // Certificates have whole seconds.
        #expect(try #require(events.first?.validUntil) > end + 60)
        #expect(try #require(events.last?.validUntil) <= end + 1)
        try bob.close()
      }
      try ann.close()
    }

    @Test func `a device with a wrong token is told so`() async throws {
      let eve = try open("eve", token: "nonsense")
      try await RunningBigPeer.with(configuration) { _ in
        let error = await #expect(throws: DunlinError.self) {
          try await eve.auth?.login(token: "nonsense", provider: "tests")
        }
        #expect(error?.code == .authentication)
        #expect(error?.message.contains("the token is refused") == true)
      }
      try eve.close()
    }

    @Test func `an intermediate authority that is not right keeps the big peer from starting`() async throws {
      for (change, part) in [
        ({ $0.applications[0].login?.authority = .file("/nowhere/server.pem") }, "no file /nowhere"),
        ({ $0.applications[0].id = "another" }, "for default, and not for another"),
        (
          { [folder] in
            $0.applications[0].identity = .certificate(
              authority: folder.file("roots.pem"), certificate: folder.file("roots.pem"))
          }, "not that of an application's authority"
        ),
      ] as [((inout BigPeerConfiguration) -> Void, String)] {
        var changed = configuration
        change(&changed)
        let error = await #expect(throws: ConfigurationError.self) {
          try await BigPeer(changed, logger: quietLogger).run()
        }
        expectEqual(error?.description.contains(part), true, "\(String(describing: error))")
        expectEqual(error?.description.hasPrefix("applications[0]."), true)
      }
      // Nothing is left open.
      try await RunningBigPeer.with(configuration) { _ in }
    }

    // MARK: - The route

    /// Sends bytes to the plain listener, and returns all that comes back.
    private func ask(_ port: Int, _ text: String) async throws -> String {
      let link = try await TCPConnector(host: "127.0.0.1", port: port).connect()
      try await link.send([Array(text.utf8)])
      var answer: [UInt8] = []
      while let bytes = try await link.receive() { answer += bytes }
      link.close(LinkError(.closed, "done"))
      return String(decoding: answer, as: UTF8.self)
    }

    private func post(
      _ path: String, _ body: String, type: String = "application/json", method: String = "POST",
      lines: [String] = []
    ) -> String {
      ([
        "\(method) \(path) HTTP/1.1", "Host: localhost", "Connection: close", "Content-Type: \(type)",
        "Content-Length: \(body.utf8.count)",
      ] + lines).joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    @Test func `behind a proxy the endpoint answers without TLS, and believes where requests come from`()
      async throws
    {
      var configuration = configuration
      configuration.http.tls = nil
      configuration.http.listen = ListenAddress(host: "127.0.0.1", port: 0)
      configuration.http.proxies = ["127.0.0.1"]
      configuration.applications[0].login?.url = "https://login.example.com/login/default"
      configuration.applications[0].login?.limits.requestsByAddress = 2
      configuration.applications[0].login?.limits.requestsPerSecondByAddress = 1
      let key = DeviceKey()
      let question = JSON.text(
        of: .map([
          "version": .int(1), "application": .string("default"), "deviceKey": .string("\(key.peerKey)"),
        ]))
      try await RunningBigPeer.with(configuration) { [self] running in
        let http = try #require(running.addresses.http)
        let port = try #require(http.split(separator: ":").last.flatMap { Int($0) })
        let challenge = "/login/default/challenge"
        let right = try await ask(port, post(challenge, question))
        #expect(right.hasPrefix("HTTP/1.1 200"), "\(right)")
        #expect(right.contains("\"challenge\":\""))
        #expect(right.lowercased().contains("\r\ndate: "), "\(right)")
        #expect(right.lowercased().contains("content-type: application/json\r\n"))
        for (request, status) in [
          (post(challenge, question, type: "text/plain"), "415"),
          (post("/login/default/other", question), "404"),
          (post("/login/another/challenge", question), "404"), (post("/challenge", question), "404"),
          (post("/login/default/login", "{}", lines: ["X-Forwarded-For: 192.0.2.1"]), "400"),
          (
            post(
              "/login/default/login", String(repeating: " ", count: 70_000),
              lines: ["X-Forwarded-For: 192.0.2.2"]), "413"
          ),
        ] {
          let answer = try await ask(port, request)
          expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(answer)")
        }
        // Of one address behind the proxy too many come at once, and of others not.
        @Sendable func statuses(_ address: String, _ count: Int) async throws -> [String] {
          let request = post(challenge, question, lines: ["X-Forwarded-For: 10.1.1.1, \(address), 127.0.0.1"])
          return try await withThrowingTaskGroup(of: String.self) { tasks in
            for _ in 0..<count { tasks.addTask { try await self.ask(port, request) } }
            return try await tasks.reduce(into: []) { statuses, answer in
              let status = String(answer.dropFirst("HTTP/1.1 ".count).prefix(3))
              expectEqual(answer.lowercased().contains("retry-after: 1\r\n"), status == "429")
              statuses.append(status)
            }
          }
        }
        let many = try await statuses("192.0.2.7", 12)
        #expect(Set(many) == ["200", "429"], "\(many)")
        #expect(try await statuses("192.0.2.8", 1) == ["200"])
        let audit = try #require(running.bigPeer.applications?["default"]?.logins.audit)
        let refusals = try #require(try audit.events(.refusals, after: nil, count: 100)).events
        #expect(refusals.map(\.source) == ["192.0.2.7"])
      }
    }
  }
#endif
