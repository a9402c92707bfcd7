#if TLS
  import CRDTCore
  import DocStore
  import Foundation
  import NIOCore
  import SyncProtocol
  import TestKit
  import Testing

  @testable import Links
  @testable import Transports

  @Suite(.timeLimit(.minutes(15))) struct SecureNetworkTests {
    private static let sharedKey = (0..<32).map { UInt8($0) &* 11 | 0x81 }

    private static func shared(_ key: DeviceKey) throws -> PeerCredentials {
      try PeerCredentials(sharedKey: sharedKey, application: "test", key: key)
    }

    /// A peer whose site follows from its key, with what it proves itself with.
    private func peer(
      _ name: String, key: DeviceKey = DeviceKey(), twinOf original: TestPeer? = nil,
      _ credentials: (DeviceKey) throws -> PeerCredentials? = shared
    ) throws -> TestPeer {
      var options = StoreOptions()
      options.siteOfSalt = { (salt, _) throws(StoreError) in key.peerKey.site(salt: salt) }
      let peer = try TestPeer(name, twinOf: original, storeOptions: options) { $0.requiresProof = true }
      if let credentials = try credentials(key) { peer.network.prove(with: credentials) }
      return peer
    }

    private func connect(_ dialing: TestPeer, _ listening: TestPeer) throws {
      for peer in [dialing, listening] { peer.network.subscribe(to: try everything("things")) }
      try listening.network.start()
      let port = try #require(try listening.network.listen())
      dialing.network.connect(host: "127.0.0.1", port: port)
      try dialing.network.start()
    }

    @Test func `two peers with the shared key sync, and know each other's keys`() async throws {
      let (leftKey, rightKey) = (DeviceKey(), DeviceKey())
      let (left, right) = (try peer("left", key: leftKey), try peer("right", key: rightKey))
      try await left.fill("things", 0..<3_000)
      try connect(right, left)
      try await right.wait(with: left) { try right.documents("things") == left.documents("things") }
      try await right.set("things", 5, "name", .string("from the right"))
      try await left.wait(with: right) { try right.documents("things") == left.documents("things") }
      #expect(right.network.connections.map(\.identity?.key) == [leftKey.peerKey])
      #expect(left.network.connections.map(\.identity?.key) == [rightKey.peerKey])
      #expect(left.network.connections.map(\.identity?.proof) == [.sharedKey])
      await left.end()
      await right.end()
    }

    @Test func `peers with certificates sync, and know each other's users`() async throws {
      let authority = try PeerAuthority(
        application: "test", validity: Date(timeIntervalSinceNow: -100)..<Date(timeIntervalSinceNow: 1_000))
      func certified(_ user: String) -> (DeviceKey) throws -> PeerCredentials {
        { (key: DeviceKey) throws -> PeerCredentials in
          let certificate = try authority.issue(
            for: key.peerKey, user: user,
            validity: Date(timeIntervalSinceNow: -10)..<Date(timeIntervalSinceNow: 900))
          return try PeerCredentials(key: key, certificate: certificate, trusted: authority.trusted)
        }
      }
      let (left, right) = (try peer("left", certified("ann")), try peer("right", certified("bob")))
      try await left.fill("things", 0..<10)
      try connect(right, left)
      try await right.wait { try right.documents("things").count == 10 }
      #expect(right.network.connections.map(\.identity?.user) == ["ann"])
      #expect(left.network.connections.map(\.identity?.user) == ["bob"])
      await left.end()
      await right.end()
    }

    enum Stranger: CaseIterable { case otherKey, otherApplication, certificate, plain }

    @Test(arguments: Stranger.allCases, [true, false])
    func `who proves something else is not met, in either role`(_ stranger: Stranger, _ dials: Bool)
      async throws
    {
      let member = try peer("member")
      let other: TestPeer
      switch stranger {
      case .otherKey:
        other = try peer("stranger") {
          try PeerCredentials(sharedKey: Array(Self.sharedKey.reversed()), application: "test", key: $0)
        }
      case .otherApplication:
        other = try peer("stranger") {
          try PeerCredentials(sharedKey: Self.sharedKey, application: "other", key: $0)
        }
      case .certificate:
        let validity = Date(timeIntervalSinceNow: -100)..<Date(timeIntervalSinceNow: 1_000)
        let authority = try PeerAuthority(application: "test", validity: validity)
        other = try peer("stranger") { key in
          try PeerCredentials(
            key: key, certificate: try authority.issue(for: key.peerKey, user: nil, validity: validity),
            trusted: authority.trusted)
        }
      case .plain: other = try TestPeer("stranger")
      }
      try await member.fill("things", 0..<10)
      try await other.fill("things", 10..<20)
      let events = member.network.events()
      if dials { try connect(other, member) } else { try connect(member, other) }
      for await event in events {
        if case .connected = event { Issue.record("They met") }
        guard case .disconnected(let connection, let end) = event else { continue }
        expect(connection.peer == nil)
        expectEqual(end.linkCode, .untrusted, "\(end)")
        expect(!"\(end)".contains("OPENSSL"), "\(end)")
        // Which of the two ends fails first is open: the other one learns of it from an alert.
        let words =
          switch stranger {
          case .otherKey: ["its shared key is another one", "both need the same shared key"]
          case .otherApplication: ["it belongs to the application 'other'", "both need the same shared key"]
          case .certificate: ["accepts the shared key only", "both need the same shared key"]
          case .plain: ["different kinds of identity"]
          }
        // The alert is lost where the connection is reset before it is read.
        let silent = "ended the connection before the peers had met"
        expect((words + [silent]).contains { "\(end)".contains($0) }, "\(end)")
        break
      }
      #expect(try member.documents("things").count == 10)
      #expect(try other.documents("things").count == 10)
      await member.end()
      await other.end()
    }

    @Test func `a peer that cannot prove itself meets nobody`() async throws {
      let peer = try peer("peer") { _ in nil }
      try peer.network.start()
      let (near, far) = MemoryLink.pair()
      #expect(!peer.network.adopt(near, direction: .incoming))
      #expect(await linkError { _ = try await far.receive() } != nil)
      #expect(peer.network.connections.isEmpty)
      await peer.end()
    }

    @Test func `of two processes with one key the second is told that it is a clone`() async throws {
      let (hub, key) = (try peer("hub"), DeviceKey())
      let first = try peer("first", key: key)
      try await first.fill("things", 0..<5)
      let second = try peer("second", key: key, twinOf: first)
      let site = first.store.site
      #expect(second.store.site == site)
      try connect(first, hub)
      try await hub.wait { try hub.documents("things").count == 5 }
      let port = try #require(hub.network.listeningPorts.first)
      let events = second.network.events()
      second.network.connect(host: "127.0.0.1", port: port)
      try second.network.start()
      for await event in events {
        guard case .disconnected(_, let end) = event else { continue }
        expectEqual(end.sessionCode, .cloned, "\(end)")
        break
      }
      // It becomes a site of its own, and is met as that.
      try await hub.wait(forConnections: { Set($0.compactMap { $0.peer?.name }) == ["first", "second"] })
      #expect(first.store.site == site)
      #expect(second.store.site != site)
      for peer in [first, second, hub] { await peer.end() }
    }

    @Test func `a peer that proves itself after its start tells of itself as its key has signed it`()
      async throws
    {
      let key = DeviceKey()
      let (left, right) = (try peer("left"), try peer("right", key: key) { _ in nil })
      let observation = left.network.observePresence()
      let events = left.network.events()
      try connect(right, left)
      try right.network.tell(metadata: ["a": .int(1)])
      right.network.prove(with: try Self.shared(key))
      for await event in events {
        if case .disconnected(_, let end) = event { Issue.record("\(end)") }
        if case .presence(let connection) = event {
          expectEqual(connection.presence?.metadata, ["a": .int(1)])
          break
        }
      }
      observation.cancel()
      await left.end()
      await right.end()
    }

    /// Passes on what comes over one link to another one.
    private final class Relay: LinkUser {
      private let other: any Link

      init(to other: any Link) { self.other = other }

      func received(_ bytes: [UInt8]) { other.write([bytes]) }
      var hasRoom: Bool { true }
      func ended(_ direction: LinkDirection, _ error: LinkError?) {
        other.close(error ?? LinkError(.closed, "the other link has ended"))
      }
    }

    @Test
    func `a member in the middle that passes on what others say is refused for the hello that it passes on`()
      async throws
    {
      let (left, right) = (try peer("left"), try peer("right"))
      for peer in [left, right] { try peer.network.start() }
      let key = DeviceKey()
      let salt = SiteSalt(high: 1, low: 2)
      let own = SecureLink.Own(
        credentials: try Self.shared(key), instance: 7, site: key.peerKey.site(salt: salt), salt: salt)
      let (leftEnd, toLeft) = MemoryLink.pair()
      let (toRight, rightEnd) = MemoryLink.pair()
      let (near, far) = (
        SecureLink(over: toLeft, as: own, isDialing: false),
        SecureLink(over: toRight, as: own, isDialing: true)
      )
      let events = right.network.events()
      right.network.adopt(rightEnd, direction: .incoming)
      left.network.adopt(leftEnd, direction: .outgoing)
      near.attach(Relay(to: far))
      far.attach(Relay(to: near))
      // The handshakes are those of the member. So it can read the hello of the left peer, and passes it on
      // byte by byte.
      for await event in events {
        guard case .disconnected(let connection, let end) = event else { continue }
        expect(end.sessionCode == .siteClash && connection.peer == nil, "\(end)")
        break
      }
      #expect(left.network.connections.allSatisfy { $0.peer == nil })
      await left.end()
      await right.end()
    }

    @Test func `a handshake that stalls delays nobody else`() async throws {
      let (hub, member) = (try peer("hub"), try peer("member"))
      try await hub.fill("things", 0..<10)
      try hub.network.start()
      let port = try #require(try hub.network.listen())
      var silent: [TCPLink] = []
      for _ in 0..<10 {
        let link = try await TCPConnector(host: "127.0.0.1", port: port).connect()
        // The beginning of a record, and nothing more.
        try await link.send([[0x16, 3, 1, 2, 0, 1]])
        silent.append(link)
      }
      member.network.subscribe(to: try everything("things"))
      member.network.connect(host: "127.0.0.1", port: port)
      try member.network.start()
      try await member.wait { try member.documents("things").count == 10 }
      for link in silent { link.close(LinkError(.closed, "done")) }
      await hub.end()
      await member.end()
    }

    // MARK: - Beside another implementation

    private static let openSSL = ["/usr/bin/openssl", "/usr/local/bin/openssl", "/opt/homebrew/bin/openssl"]
      .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Runs OpenSSL to its end; its input is what the command `input` puts out, at once nothing without one.
    private static func run(_ arguments: [String], input: String = "true") async throws -> String {
      let process = Process()
      process.executableURL = URL(filePath: "/bin/sh")
      process.arguments = ["-c", "\(input) | \(try #require(openSSL)) \"$@\"", "sh"] + arguments
      let output = Pipe()
      process.standardInput = FileHandle.nullDevice
      (process.standardOutput, process.standardError) = (output, output)
      try process.run()
      return await withCheckedContinuation { waiter in
        Thread.detachNewThread {
          let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
          process.waitUntilExit()
          waiter.resume(returning: text)
        }
      }
    }

    @Test(
      .enabled(if: openSSL != nil, "skipped: there is no openssl"),
      arguments: [
        (["-tls1_2"], "alert protocol version"), (["-tls1_3"], "alert certificate required"),
        (["-tls1_3", "-alpn", "h2"], "alert certificate required"),
      ])
    func `OpenSSL as a client gets in neither with TLS 1.2 nor without a certificate`(
      _ options: [String], _ answer: String
    ) async throws {
      let hub = try peer("hub")
      try hub.network.start()
      let port = try #require(try hub.network.listen())
      let events = hub.network.events()
      let text = try await Self.run(["s_client", "-connect", "127.0.0.1:\(port)", "-ign_eof"] + options)
      #expect(text.contains(answer), "\(text.suffix(600))")
      for await event in events {
        if case .connected = event { Issue.record("It got in") }
        guard case .disconnected(_, let end) = event else { continue }
        expectEqual(end.linkCode, .untrusted)
        break
      }
      await hub.end()
    }

    @Test(.enabled(if: openSSL != nil, "skipped: there is no openssl"))
    func `a connection that resumes another one is not let in, though its certificate is right`() async throws
    {
      let directory = try TemporaryDirectory()
      let authority = try PeerAuthority(
        application: "test", validity: Date(timeIntervalSinceNow: -100)..<Date(timeIntervalSinceNow: 1_000))
      func certificate(_ key: DeviceKey) throws -> PeerCertificate {
        try authority.issue(
          for: key.peerKey, user: nil,
          validity: Date(timeIntervalSinceNow: -10)..<Date(timeIntervalSinceNow: 900))
      }
      func credentials(_ key: DeviceKey) throws -> PeerCredentials {
        try PeerCredentials(key: key, certificate: try certificate(key), trusted: authority.trusted)
      }
      let key = DeviceKey()
      let secret = Data(try credentials(key).secret).base64EncodedString(options: .lineLength64Characters)
      let pem = "-----BEGIN PRIVATE KEY-----\n\(secret)\n-----END PRIVATE KEY-----\n"
      try Data((pem + (try certificate(key).pem)).utf8).write(to: URL(filePath: directory.file("member.pem")))
      let hub = try peer("hub", credentials)
      try hub.network.start()
      let port = try #require(try hub.network.listen())
      let (member, ticket) = (directory.file("member.pem"), directory.file("ticket"))
      let options = ["-connect", "127.0.0.1:\(port)", "-alpn", "dunlin/1", "-cert", member, "-key", member]
      // The input stays open until the tickets have come.
      let first = try await Self.run(
        ["s_client"] + options + ["-sess_out", ticket],
        input: "for _ in $(seq 3000); do test -s '\(ticket)' && break; sleep 0.1; done")
      try #require(FileManager.default.fileExists(atPath: ticket), "\(first.suffix(600))")
      let events = hub.network.events()
      let second = try await Self.run(["s_client"] + options + ["-sess_in", ticket, "-ign_eof"])
      #expect(second.contains("Reused, TLSv1.3"), "\(second.suffix(600))")
      for await event in events {
        if case .connected = event { Issue.record("It got in") }
        guard case .disconnected(_, let end) = event, "\(end)".contains("without a proof") else { continue }
        break
      }
      await hub.end()
    }

    @Test(.enabled(if: openSSL != nil, "skipped: there is no openssl"), arguments: ["-tls1_2", "-tls1_3"])
    func `OpenSSL as a server is not believed, neither with TLS 1.2 nor with its own certificate`(
      _ version: String
    ) async throws {
      let directory = try TemporaryDirectory()
      let other = try PeerAuthority(
        application: "test", validity: Date(timeIntervalSinceNow: -100)..<Date(timeIntervalSinceNow: 1_000))
      let file = directory.file("server.pem")
      try Data(try other.pem.utf8).write(to: URL(filePath: file))
      // A port that is free now, and most probably a moment later.
      let trial = try await TCPListener.bind()
      await trial.close()
      let server = Process()
      server.executableURL = URL(filePath: try #require(Self.openSSL))
      server.arguments = [
        "s_server", "-accept", "127.0.0.1:\(trial.port)", version, "-cert", file, "-key", file, "-alpn",
        "dunlin/1",
        "-quiet",
      ]
      server.standardInput = Pipe()
      (server.standardOutput, server.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
      try server.run()
      defer { server.end() }
      let member = try peer("member")
      let events = member.network.events()
      member.network.connect(host: "127.0.0.1", port: trial.port)
      try member.network.start()
      for await event in events {
        if case .connected = event { Issue.record("They met") }
        // It may not listen yet at the first attempt.
        guard case .disconnected(_, let end) = event else { continue }
        expectEqual(end.linkCode, .untrusted, "\(end)")
        break
      }
      await member.end()
    }
  }
#endif
