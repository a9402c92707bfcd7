#if TLS
  import DunlinKit
  import Facade
  import Foundation
  import Logging
  import LoginKit
  import TestKit
  import Testing
  import Transports

  /// The life of databases whose devices log in.
  @Suite(.timeLimit(.minutes(15))) struct LoginTests {
    private let service: LoginService
    private let ann: LoginDevice
    private let bob: LoginDevice

    init() async throws {
      service = try await LoginService()
      ann = try LoginDevice("ann")
      bob = try LoginDevice("bob")
    }

    private func mode(_ path: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    // MARK: - A whole life

    @Test func `two devices log in at their first start, sync, and do so again without the service`()
      async throws
    {
      let (tablet, phone) = (try ann.open(service), try bob.open(service))
      // Sync may be started before anybody is logged in.
      let subscription = try phone.sync.registerSubscription(query: "SELECT * FROM cars")
      try await tablet.collection("cars").upsert(["_id": "a"])
      try phone.connect(to: tablet)
      try await phone.wait(for: "cars", count: 1)
      #expect(phone.presence.graph.remotePeers.map(\.user) == ["ann"])
      await tablet.wait(forUsers: ["bob"])
      #expect(tablet.auth?.status.isAuthenticated == true)
      #expect(tablet.auth?.status.userID == "ann")
      #expect(tablet.auth?.status.validUntil == service.issued.first { $0.user == "ann" }?.validUntil)
      #expect(ann.delegate.questions == [.required])
      subscription.cancel()
      for dunlin in [tablet, phone] { try dunlin.close() }

      try await service.server.stop()
      let asked = service.server.requests.count
      let (tablet2, phone2) = (try ann.open(service), try bob.open(service))
      #expect(tablet2.auth?.status.userID == "ann")
      let subscription2 = try phone2.sync.registerSubscription(query: "SELECT * FROM cars")
      try await tablet2.collection("cars").upsert(["_id": "b"])
      try phone2.connect(to: tablet2)
      try await phone2.wait(for: "cars", count: 2)
      #expect(ann.delegate.questions == [.required])
      #expect(service.server.requests.count == asked)
      subscription2.cancel()
      for dunlin in [tablet2, phone2] { try dunlin.close() }
    }

    @Test func `logged in and certified by hand, peers of one authority meet`() async throws {
      let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600)
      let deviceKey = try DunlinDevice.publicKey(path: bob.path)
      let authority = try DunlinAuthority(text: try service.authority.pem)
      let server = try Dunlin(
        path: bob.path,
        identity: .certificate(
          appID: "tests", authority: try authority.certificate,
          certificate: try authority.issue(deviceKey: deviceKey, user: "the server", validity: validity)),
        configuration: .init(logger: bob.log.logger))
      let tablet = try ann.open(service, authority: try authority.certificate)
      try tablet.connect(to: server)
      await server.wait(forUsers: ["ann"])
      await tablet.wait(forUsers: ["the server"])
      for dunlin in [tablet, server] { try dunlin.close() }
    }

    @Test func `certificates of an intermediate authority meet those of its parent, and carry information`()
      async throws
    {
      let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600)
      let root = try DunlinAuthority(text: try service.authority.pem)
      let intermediate = try root.makeIntermediate(validity: validity)
      #expect(intermediate.isIntermediate)
      #expect(try intermediate.certificate == root.certificate)
      let online = try await LoginService(try PeerAuthority(pem: try intermediate.text)) {
        $0.information = ["role": .string("driver"), "vans": .array([.int(3), .int(4)])]
      }
      let deviceKey = try DunlinDevice.publicKey(path: bob.path)
      let server = try Dunlin(
        path: bob.path,
        identity: .certificate(
          appID: "tests", authority: try root.certificate,
          certificate: try root.issue(deviceKey: deviceKey, user: "the server", validity: validity)),
        configuration: .init(logger: bob.log.logger))
      let tablet = try ann.open(online, authority: try root.certificate)
      try tablet.connect(to: server)
      await server.wait(forUsers: ["ann"])
      await tablet.wait(forUsers: ["the server"])
      struct Information: Codable, Equatable {
        var role: String
        var vans: [Int]
      }
      let peer = try #require(server.presence.graph.remotePeers.first)
      #expect(try peer.identityMetadata(as: Information.self) == Information(role: "driver", vans: [3, 4]))
      #expect(peer.identityMetadata["role"] as? String == "driver")
      #expect(tablet.presence.graph.remotePeers.first?.identityMetadata.isEmpty == true)
      #expect(tablet.presence.graph.localPeer.identityMetadata["role"] as? String == "driver")
      for dunlin in [tablet, server] { try dunlin.close() }
      // What was kept of the login is taken at the next start.
      let again = try ann.open(online, authority: try root.certificate)
      #expect(again.auth?.status.userID == "ann")
      try again.close()
    }

    @Test func `a certificate is renewed before it ends, and sessions go on`() async throws {
      let clock = WallClock()
      service.change { $0.now = { clock.now } }
      let (tablet, phone) = (try ann.open(service, clock: clock), try bob.open(service, clock: clock))
      try await tablet.wait()
      try await phone.wait()
      let subscription = try phone.sync.registerSubscription(query: "SELECT * FROM cars")
      try phone.connect(to: tablet)
      await phone.wait(forUsers: ["ann"])
      let connections = phone.parts.network.connections.map(\.id)
      await ann.delegate.next()
      clock.advance(by: 2_600)
      #expect(await ann.delegate.next() == [.expiringSoon])
      #expect(service.issued.filter { $0.user == "ann" }.count == 2)
      #expect(tablet.auth?.status.validUntil == service.issued.filter { $0.user == "ann" }.last?.validUntil)
      try await tablet.collection("cars").upsert(["_id": "a"])
      try await phone.wait(for: "cars", count: 1)
      #expect(phone.parts.network.connections.map(\.id) == connections)
      subscription.cancel()
      for dunlin in [tablet, phone] { try dunlin.close() }
    }

    @Test
    func `a certificate that cannot be renewed serves until its end, and sync goes on after a later login`()
      async throws
    {
      let clock = WallClock()
      service.change { $0.now = { clock.now } }
      let (tablet, phone) = (try ann.open(service, clock: clock), try bob.open(service, clock: clock))
      try await tablet.wait()
      try await phone.wait()
      try phone.connect(to: tablet)
      await phone.wait(forUsers: ["ann"])
      for device in [ann, bob] { await device.delegate.next() }
      service.change { $0.instead = { _ in .json(503, [:], ["Retry-After: 1"]) } }
      clock.advance(by: 2_600)
      #expect(await ann.delegate.next() == [.expiringSoon])
      #expect(tablet.auth?.status.userID == "ann")
      #expect(!ann.log.lines(with: "the certificate from the last login holds until").isEmpty)
      #expect(phone.presence.graph.remotePeers.map(\.user) == ["ann"])
      clock.advance(by: 1_100)
      try await tablet.wait(untilAuthenticated: false)
      await phone.wait(forUsers: [])
      #expect(tablet.isSyncActive)
      #expect(!ann.log.lines(with: "sync waits for another login").isEmpty)
      // Local work goes on.
      try await tablet.collection("cars").upsert(["_id": "a"])
      service.change { $0.instead = { _ in nil } }
      clock.advance(by: 600)
      try await tablet.wait()
      clock.advance(by: 600)
      try await phone.wait()
      await phone.wait(forUsers: ["ann"])
      for dunlin in [tablet, phone] { try dunlin.close() }
    }

    @Test func `what has ended while the database was closed is not taken`() async throws {
      let clock = WallClock()
      service.change { $0.now = { clock.now } }
      let tablet = try ann.open(service, clock: clock)
      try await tablet.wait()
      try tablet.close()
      try await service.server.stop()
      clock.advance(by: 3_700)
      let again = try ann.open(service, clock: clock)
      #expect(again.auth?.status.isAuthenticated == false)
      #expect(!ann.log.lines(with: "This device's certificate was valid until").isEmpty)
      await ann.delegate.next(2)
      #expect(ann.delegate.questions == [.required, .required])
      // Sync may be started; it waits for a login, and meets nobody.
      try again.startSync()
      #expect(again.isSyncActive)
      try again.close()
    }

    @Test func `a device whose clock has lost weeks logs in and syncs by its certificate's start`()
      async throws
    {
      let clock = WallClock(Date(timeIntervalSinceNow: -30 * 86_400))
      // The service says the time together with its answer.
      service.change { $0.saysDate = true }
      // A peer whose certificate starts later than its own would be refused.
      let phone = try bob.open(service)
      try await phone.wait()
      let tablet = try ann.open(service, clock: clock)
      try await tablet.wait()
      try phone.connect(to: tablet)
      await phone.wait(forUsers: ["ann"])
      await tablet.wait(forUsers: ["bob"])
      for dunlin in [tablet, phone] { try dunlin.close() }
    }

    // MARK: - Logout and users

    @Test func `a logout stops sync, forgets the certificate and keeps the data`() async throws {
      let (tablet, phone) = (try ann.open(service), try bob.open(service))
      try await tablet.collection("cars").upsert(["_id": "a"])
      try tablet.connect(to: phone)
      await phone.wait(forUsers: ["ann"])
      await ann.delegate.next()
      #expect(await ann.delegate.nextStatus() == true)
      let certificate = try #require(service.issued.first { $0.user == "ann" }).pem
      #expect(try String(contentsOfFile: ann.loginFile, encoding: .utf8).contains(inJSON(certificate)))
      var cleaned: Dunlin?
      try tablet.auth?.logout { cleaned = $0 }
      #expect(cleaned === tablet)
      #expect(!tablet.isSyncActive)
      #expect(tablet.auth?.status.isAuthenticated == false && tablet.auth?.status.userID == nil)
      #expect(await ann.delegate.nextStatus() == false)
      await phone.wait(forUsers: [])
      #expect(try tablet.collection("cars").findAll().exec().count == 1)
      #expect(try !String(contentsOfFile: ann.loginFile, encoding: .utf8).contains(inJSON(certificate)))
      // Nobody is asked for a login before sync is wanted again.
      #expect(ann.delegate.questions == [.required])
      try tablet.startSync()
      await ann.delegate.next()
      await phone.wait(forUsers: ["ann"])
      #expect(await ann.delegate.nextStatus() == true)
      for dunlin in [tablet, phone] { try dunlin.close() }
    }

    @Test func `another user's login makes sessions anew`() async throws {
      let (tablet, phone) = (try ann.open(service), try bob.open(service))
      try await tablet.collection("cars").upsert(["_id": "a"])
      try phone.connect(to: tablet)
      await phone.wait(forUsers: ["ann"])
      await ann.delegate.next()
      let info = try await tablet.auth?.login(token: "bob's token", provider: "tests")
      #expect(info == #"{"greeting":"hello bob"}"#)
      await phone.wait(forUsers: ["bob"])
      #expect(tablet.auth?.status.userID == "bob")
      #expect(try tablet.collection("cars").findAll().exec().count == 1)
      for dunlin in [tablet, phone] { try dunlin.close() }
    }

    @Test func `a device believes the authority of its first login, until it is told to forget it`()
      async throws
    {
      let tablet = try ann.open(service)
      await ann.delegate.next()
      try tablet.auth?.logout()
      try tablet.close()
      let other = try await LoginService()
      let again = try ann.open(other)
      await ann.delegate.next()
      #expect(again.auth?.status.isAuthenticated == false)
      let error = await #expect(throws: DunlinError.self) {
        try await again.auth?.login(token: "ann's token", provider: "tests")
      }
      #expect(error?.code == .identity)
      #expect(error?.message.contains("another one than the application's") == true)
      try again.auth?.logout(forgetsAuthority: true)
      #expect(!FileManager.default.fileExists(atPath: ann.loginFile))
      try await again.auth?.login(token: "ann's token", provider: "tests")
      #expect(again.auth?.status.userID == "ann")
      try again.close()
    }

    @Test func `a configured authority is the only one`() async throws {
      let other = try PeerAuthority(
        application: "tests", validity: Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 600))
      let tablet = try ann.open(service, authority: try other.trusted.pem)
      await ann.delegate.next()
      #expect(tablet.auth?.status.isAuthenticated == false)
      #expect(!FileManager.default.fileExists(atPath: ann.loginFile))
      try tablet.close()
      let right = try ann.open(service, authority: try service.authority.trusted.pem)
      try await right.wait()
      try right.close()
      // What was kept is of no use under another one.
      ann.delegate.token = nil
      let wrong = try ann.open(service, authority: try other.trusted.pem)
      #expect(wrong.auth?.status.isAuthenticated == false)
      #expect(!ann.log.lines(with: "What is kept of the last login is of no use").isEmpty)
      try wrong.close()
    }

    // MARK: - Failures

    @Test func `a token that is refused keeps from syncing and not from the data`() async throws {
      let mallory = try LoginDevice("mallory")
      let tablet = try mallory.open(service)
      await mallory.delegate.next()
      try await tablet.collection("cars").upsert(["_id": "a"])
      try tablet.startSync()
      let error = await #expect(throws: DunlinError.self) {
        try await tablet.auth?.login(token: "mallory's token", provider: "tests")
      }
      #expect(error?.code == .authentication)
      #expect(error?.message.contains(service.url) == true)
      #expect(tablet.auth?.status.isAuthenticated == false)
      #expect(mallory.log.lines(with: "mallory's token", from: .trace).isEmpty)
      try await tablet.auth?.login(token: "ann's token", provider: "tests")
      #expect(tablet.auth?.status.userID == "ann")
      try tablet.close()
    }

    @Test func `each kind of failure has its code`() async throws {
      ann.delegate.token = nil
      let tablet = try ann.open(service)
      await ann.delegate.next()
      let auth = try #require(tablet.auth)
      func code(_ reply: HTTPSServer.Reply?, token: String = "ann's token") async -> DunlinError? {
        service.change { $0.instead = { _ in reply } }
        return await #expect(throws: DunlinError.self) {
          try await auth.login(token: token, provider: "tests")
        }
      }
      #expect(await code(nil, token: "")?.code == .argument)
      #expect(await code(nil, token: "nobody's token")?.code == .authentication)
      #expect(await code(.answer(200, [], "hello"))?.code == .identity)
      #expect(await code(.end)?.code == .unreachable)
      let busy = await code(.json(503, [:], ["Retry-After: 9"]))
      #expect(busy?.code == .unavailable)
      #expect(busy?.context["retryAfter"] == "9")
      try await service.server.stop()
      #expect(await code(nil)?.code == .unreachable)
      try tablet.close()
      #expect(await code(nil)?.code == .closed)
    }

    @Test(arguments: ["http://login.example.com", "login.example.com", "https://"])
    func `an address that is none is refused when the database is opened`(_ url: String) throws {
      let identity = DunlinIdentity.online(appID: "tests", url: url, authenticator: ann.delegate)
      let configuration = DunlinConfiguration(logger: ann.log.logger)
      let error = #expect(throws: DunlinError.self) {
        try Dunlin(path: ann.path, identity: identity, configuration: configuration)
      }
      #expect(error?.code == .argument)
      // It is not left open.
      try ann.open(service).close()
    }

    @Test func `of several logins the newest has an effect, and a logout ends them all`() async throws {
      ann.delegate.token = nil
      let tablet = try ann.open(service)
      await ann.delegate.next()
      let auth = try #require(tablet.auth)
      for ending in ["login", "logout", "close"] {
        let (held, arrived) = AsyncStream.makeStream(of: (@Sendable (HTTPSServer.Reply) -> Void).self)
        service.change { rules in
          rules.instead = { request in
            guard request.path == "/tests/challenge" else { return nil }
            return .later { arrived.yield($0) }
          }
        }
        let first = Task { try await auth.login(token: "ann's token", provider: "tests") }
        var answer: (@Sendable (HTTPSServer.Reply) -> Void)?
        for await held in held {
          answer = held
          break
        }
        service.change { $0.instead = { _ in nil } }
        switch ending {
        case "login": try await auth.login(token: "bob's token", provider: "tests")
        case "logout": try auth.logout()
        default: try tablet.close()
        }
        // The service knows no such challenge, so the client asks for another one and goes on.
        answer?(.json(200, ["challenge": .string("0123456789abcdef")]))
        let error = await #expect(throws: DunlinError.self) { try await first.value }
        expectEqual(error?.code, .cancelled)
        expectEqual(auth.status.userID, ending == "login" ? "bob" : nil)
      }
    }

    @Test func `a login that is given up has no effect`() async throws {
      ann.delegate.token = nil
      let tablet = try ann.open(service)
      await ann.delegate.next()
      let auth = try #require(tablet.auth)
      let (asked, arrived) = AsyncStream.makeStream(of: Void.self)
      service.change { rules in
        rules.instead = { _ in
          arrived.yield()
          return .silence
        }
      }
      let task = Task { try await auth.login(token: "ann's token", provider: "tests") }
      for await _ in asked { break }
      task.cancel()
      let error = await #expect(throws: DunlinError.self) { try await task.value }
      #expect(error?.code == .cancelled)
      #expect(auth.status.isAuthenticated == false)
      try tablet.close()
    }

    // MARK: - What is kept

    @Test func `what is kept can be read by its owner only, and is not taken where others can`() async throws
    {
      let tablet = try ann.open(service)
      try await tablet.wait()
      try tablet.close()
      #expect(try mode(ann.loginFile) == 0o600)
      #expect(try !String(contentsOfFile: ann.loginFile, encoding: .utf8).contains("ann's token"))
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: ann.loginFile)
      let error = #expect(throws: DunlinError.self) { try ann.open(service) }
      #expect(error?.code == .permission)
    }

    @Test(arguments: [
      "", "{}", #"{"version":1,"application":"tests","authority":"x","certificate":"y","obtained":0}"#,
    ])
    func `what is kept and damaged is made anew`(_ content: String) async throws {
      let tablet = try ann.open(service)
      try await tablet.wait()
      try tablet.close()
      try Data(content.utf8).write(to: URL(filePath: ann.loginFile))
      let again = try ann.open(service)
      try await again.wait()
      #expect(ann.delegate.questions == [.required, .required])
      #expect(!ann.log.lines(with: "last login").isEmpty)
      try again.close()
    }

    /// On some file systems every start looks like a copy, and must not cost the device its login.
    @Test func `files that look like a copy keep the key that the certificate names, until that is removed`()
      async throws
    {
      let tablet = try ann.open(service)
      try await tablet.wait()
      try tablet.close()
      try FileManager.default.copyItem(atPath: ann.path, toPath: ann.directory.file("copy"))
      ann.delegate.token = nil
      let copy = try ann.open(service, at: ann.directory.file("copy"))
      #expect(copy.auth?.status.userID == "ann")
      try copy.close()
      try FileManager.default.removeItem(atPath: ann.directory.file("copy/device.key"))
      let stranger = try ann.open(service, at: ann.directory.file("copy"))
      #expect(stranger.auth?.status.isAuthenticated == false)
      #expect(!ann.log.lines(with: "another key than this device's").isEmpty)
      try await stranger.auth?.login(token: "ann's token", provider: "tests")
      #expect(Set(service.issued.map(\.peerKey)).count == 2)
      try stranger.close()
      let original = try ann.open(service)
      #expect(original.auth?.status.userID == "ann")
      try original.close()
    }

    @Test func `backups and compacted databases have nothing of it`() async throws {
      let tablet = try ann.open(service)
      try await tablet.wait()
      try await tablet.collection("cars").upsert(["_id": "a"])
      try await tablet.store.backup(to: ann.directory.file("backup"))
      try await tablet.store.compact()
      try tablet.close()
      #expect(!FileManager.default.fileExists(atPath: ann.directory.file("backup/login")))
      for folder in ["backup", "db"] {
        let path = ann.directory.file(folder)
        for file in try FileManager.default.subpathsOfDirectory(atPath: path) where file != "login" {
          let data = try Data(contentsOf: URL(filePath: path + "/" + file))
          expect(data.range(of: Data("CERTIFICATE".utf8)) == nil, "\(folder)/\(file)")
        }
      }
    }

    @Test func `a certificate of another application that is kept is not taken`() async throws {
      let tablet = try ann.open(service)
      try await tablet.wait()
      try tablet.close()
      ann.delegate.token = nil
      var configuration = DunlinConfiguration(logger: ann.log.logger)
      configuration.webAuthority = service.server.authorityFile
      let other = try Dunlin(
        path: ann.path,
        identity: .online(appID: "others", url: service.url, authenticator: ann.delegate),
        configuration: configuration)
      #expect(other.auth?.status.isAuthenticated == false)
      try other.close()
    }
  }

  /// A text as it stands in JSON.
  private func inJSON(_ text: String) -> String { text.replacingOccurrences(of: "\n", with: "\\n") }
#endif
