#if TLS
  import CRDTCore
  import DocStore
  import Foundation
  import Synchronization
  import TestKit
  import Testing

  @testable import Links

  /// The user of a link that takes note of everything.
  final class RecordingUser: LinkUser {
    struct State {
      var bytes: [UInt8] = []
      var ends: [LinkDirection: LinkError?] = [:]
    }

    private let state = Mutex(State())

    var current: State { state.withLock { $0 } }

    func received(_ bytes: [UInt8]) { state.withLock { $0.bytes += bytes } }

    var hasRoom: Bool { true }

    func ended(_ direction: LinkDirection, _ error: LinkError?) {
      state.withLock {
        if $0.ends[direction] != nil { Issue.record("\(direction) ended twice") }
        $0.ends[direction] = .some(error)
      }
    }

    /// Waits until something has happened.
    func wait(_ what: String = "", until condition: (State) -> Bool) async throws {
      let end = ContinuousClock.now + .seconds(600)
      while !condition(current) {
        guard ContinuousClock.now < end else {
          Issue.record("\(what) did not happen: \(current.ends), \(current.bytes.count) bytes")
          throw CancellationError()
        }
        try await Task.sleep(for: .milliseconds(1))
      }
    }

    /// Why the peer's direction has ended.
    func reason() async throws -> LinkError? {
      try await wait("An end") { $0.ends[.inbound] != nil }
      return current.ends[.inbound] ?? nil
    }
  }

  @Suite(.timeLimit(.minutes(15))) struct SecureLinkTests {
    private let authority: PeerAuthority

    init() throws {
      authority = try PeerAuthority(
        application: CertificateDraft.application,
        validity: Date(timeIntervalSinceNow: -86_400)..<Date(timeIntervalSinceNow: 864_000))
    }

    private func credentials(_ user: String? = nil) throws -> (PeerCredentials, DeviceKey) {
      let key = DeviceKey()
      let certificate = try authority.issue(
        for: key.peerKey, user: user,
        validity: Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600))
      return (try PeerCredentials(key: key, certificate: certificate, trusted: authority.trusted), key)
    }

    private func own(_ credentials: PeerCredentials, _ key: DeviceKey) -> SecureLink.Own {
      let salt = SiteSalt(high: .random(in: 0 ... .max), low: 7)
      return SecureLink.Own(
        credentials: credentials, instance: .random(in: 0 ... .max), site: key.peerKey.site(salt: salt),
        salt: salt)
    }

    private func own(_ user: String? = nil) throws -> SecureLink.Own {
      let (credentials, key) = try credentials(user)
      return own(credentials, key)
    }

    private typealias End = (link: SecureLink, user: RecordingUser)

    /// Both ends over a pair of links, begun.
    private func pair(
      _ one: SecureLink.Own, _ two: SecureLink.Own, over links: (any Link, any Link) = MemoryLink.pair()
    ) -> (dialing: End, listening: End) {
      let ends = (
        (SecureLink(over: links.0, as: one, isDialing: true), RecordingUser()),
        (SecureLink(over: links.1, as: two, isDialing: false), RecordingUser())
      )
      ends.0.0.attach(ends.0.1)
      ends.1.0.attach(ends.1.1)
      return ends
    }

    private func close(_ pair: (dialing: End, listening: End)) {
      for end in [pair.dialing, pair.listening] { end.link.close(LinkError(.closed, "done")) }
    }

    @Test func `both ends know who the other one is, and what goes through arrives`() async throws {
      let (ann, bob) = (try own("ann"), try own("bob"))
      let ends = pair(ann, bob)
      // Before the handshake is done, as a session does.
      ends.dialing.link.write([[1], [2, 3]])
      ends.listening.link.write([pattern(2_000_000)])
      try await ends.listening.user.wait("Three bytes") { $0.bytes == [1, 2, 3] }
      try await ends.dialing.user.wait("Two megabytes") { $0.bytes.count == 2_000_000 }
      #expect(ends.dialing.user.current.bytes == pattern(2_000_000))
      let (seenByAnn, seenByBob) = (ends.dialing.link.provenPeer, ends.listening.link.provenPeer)
      #expect(seenByAnn?.identity.user == "bob")
      #expect(seenByBob?.identity.user == "ann")
      #expect(seenByAnn?.site == bob.site)
      #expect(seenByBob?.instance == ann.instance)
      ends.dialing.link.finishWriting()
      #expect(try await ends.listening.user.reason() == nil)
      // The other direction goes on.
      ends.listening.link.write([[9]])
      try await ends.dialing.user.wait("A last byte") { $0.bytes.last == 9 }
      ends.listening.link.finishWriting()
      #expect(try await ends.dialing.user.reason() == nil)
      close(ends)
    }

    @Test func `over TCP it is the same`() async throws {
      let listener = try await TCPListener.bind()
      let client = try await TCPConnector(host: "127.0.0.1", port: listener.port).connect()
      var links = listener.links.makeAsyncIterator()
      let server = try #require(await links.next(isolation: #isolation))
      let ends = pair(try own("ann"), try own("bob"), over: (client, server))
      for _ in 0..<20 {
        ends.dialing.link.write([pattern(300_000)])
        ends.listening.link.write([pattern(300_000)])
      }
      for end in [ends.dialing, ends.listening] {
        try await end.user.wait("Six megabytes") { $0.bytes.count == 6_000_000 }
      }
      ends.dialing.link.finishWriting()
      #expect(try await ends.listening.user.reason() == nil)
      ends.listening.link.finishWriting()
      #expect(try await ends.dialing.user.reason() == nil)
      close(ends)
      await client.closed()
      await listener.close()
    }

    @Test func `a handshake on a constrained line costs at most 3 KB`() async throws {
      let links = MemoryLink.pair(profile: .constrained, clock: TransportClock(SkippingClock()))
      let ends = pair(try own("ann"), try own("bob"), over: links)
      ends.dialing.link.write([[1]])
      ends.listening.link.write([[2]])
      try await ends.listening.user.wait { $0.bytes == [1] }
      try await ends.dialing.user.wait { $0.bytes == [2] }
      // Introductions and the two bytes included.
      let bytes = links.0.statistics.sentBytes + links.1.statistics.sentBytes
      #expect(bytes <= 3_000, "\(bytes)")
      close(ends)
    }

    @Test func `with an intermediate authority at both ends, a handshake costs at most 4.5 KB`() async throws
    {
      let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600)
      let issuer = try authority.makeIntermediate(validity: validity)
      let owns = try ["ann", "bob"].map { user in
        let key = DeviceKey()
        let certificate = try issuer.issue(for: key.peerKey, user: user, validity: validity)
        return own(try PeerCredentials(key: key, certificate: certificate, trusted: authority.trusted), key)
      }
      let links = MemoryLink.pair(profile: .constrained, clock: TransportClock(SkippingClock()))
      let ends = pair(owns[0], owns[1], over: links)
      ends.dialing.link.write([[1]])
      ends.listening.link.write([[2]])
      try await ends.listening.user.wait { $0.bytes == [1] }
      try await ends.dialing.user.wait { $0.bytes == [2] }
      #expect(ends.listening.link.provenPeer?.identity.user == "ann")
      #expect(ends.dialing.link.provenPeer?.identity.user == "bob")
      let bytes = links.0.statistics.sentBytes + links.1.statistics.sentBytes
      #expect(bytes <= 4_500, "\(bytes)")
      close(ends)
    }

    @Test(arguments: [true, false])
    func `an intermediate authority that ends, ends the link`(_ isIntermediateDialing: Bool) async throws {
      let key = DeviceKey()
      let end = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded() + 100)
      let start = Date(timeIntervalSinceNow: -60)
      let issuer = try authority.makeIntermediate(validity: start..<end)
      let certificate = try issuer.issue(for: key.peerKey, user: "ann", validity: start..<end + 3_600)
      let now = Mutex(end - 100)
      let short = own(
        try PeerCredentials(key: key, certificate: certificate, trusted: authority.trusted), key)
      // The other end looks at the clock.
      let otherKey = DeviceKey()
      let other = try authority.issue(for: otherKey.peerKey, user: "bob", validity: start..<end + 3_600)
      var bob = own(
        try PeerCredentials(
          key: otherKey, certificate: other, trusted: authority.trusted, now: { now.withLock { $0 } }),
        otherKey)
      bob.expiryPause = .milliseconds(20)
      let ends = isIntermediateDialing ? pair(short, bob) : pair(bob, short)
      ends.dialing.link.write([[1]])
      try await ends.listening.user.wait { $0.bytes == [1] }
      now.withLock { $0 = end + 1 }
      let user = isIntermediateDialing ? ends.listening.user : ends.dialing.user
      #expect(try await user.reason()?.code == .expired)
      close(ends)
    }

    // MARK: - Who is not let in

    @Test(arguments: [true, false])
    func `a revoked key is refused in both roles, before a byte is heard`(_ isRevokedDialing: Bool)
      async throws
    {
      let (ann, bob) = (try credentials("ann"), try credentials("bob"))
      bob.0.check.revoked.insert([ann.1.peerKey])
      let (revoked, other) = (own(ann.0, ann.1), own(bob.0, bob.1))
      let ends = isRevokedDialing ? pair(revoked, other) : pair(other, revoked)
      ends.dialing.link.write([[1]])
      ends.listening.link.write([[2]])
      let (judge, refused) =
        isRevokedDialing ? (ends.listening.user, ends.dialing.user) : (ends.dialing.user, ends.listening.user)
      #expect(try await judge.reason()?.code == .revoked)
      #expect(judge.current.bytes.isEmpty)
      _ = try await refused.reason()
      #expect(refused.current.bytes.isEmpty)
      close(ends)
    }

    @Test(arguments: [true, false])
    func `a key that is revoked while the link is open ends it at once`(_ isRevokedDialing: Bool) async throws
    {
      let (ann, bob) = (try credentials("ann"), try credentials("bob"))
      let revoked = bob.0.check.revoked
      let ends =
        isRevokedDialing
        ? pair(own(ann.0, ann.1), own(bob.0, bob.1)) : pair(own(bob.0, bob.1), own(ann.0, ann.1))
      ends.dialing.link.write([[1]])
      ends.listening.link.write([[2]])
      try await ends.listening.user.wait { $0.bytes == [1] }
      try await ends.dialing.user.wait { $0.bytes == [2] }
      let judge = isRevokedDialing ? ends.listening : ends.dialing
      revoked.insert([DeviceKey().peerKey])
      judge.link.endIfRevoked()
      revoked.insert([ann.1.peerKey])
      judge.link.endIfRevoked()
      #expect(try await judge.user.reason()?.code == .revoked)
      let bytes = judge.user.current.bytes
      let other = isRevokedDialing ? ends.dialing : ends.listening
      other.link.write([[9]])
      _ = try await other.user.reason()
      #expect(judge.user.current.bytes == bytes)
      close(ends)
    }

    @Test(arguments: WrongCertificate.all)
    func `a wrong certificate is refused in both roles, before a byte is heard`(_ wrong: WrongCertificate)
      async throws
    {
      let (presented, secret) = try wrong.make(authority)
      let (right, key) = try credentials("bob")
      let salt = SiteSalt(high: 1, low: 2)
      for isDialing in [true, false] {
        let bad = SecureLink.Own(
          credentials: PeerCredentials(
            application: CertificateDraft.application, presented: presented, secret: secret, validUntil: .max,
            check: right.check), instance: 1, site: key.peerKey.site(salt: salt), salt: salt)
        let good = own(right, key)
        let ends = isDialing ? pair(bad, good) : pair(good, bad)
        let (honest, hostile) = isDialing ? (ends.listening, ends.dialing) : (ends.dialing, ends.listening)
        hostile.link.write([[66]])
        let reason = try await honest.user.reason()
        expectEqual(
          reason.map { [.untrusted, .expired].contains($0.code) }, true, "\(String(describing: reason))")
        expect(honest.user.current.bytes.isEmpty)
        expect(honest.link.provenPeer == nil)
        try await expect(hostile.user.reason() != nil)
        close(ends)
      }
    }

    @Test func `nobody claims a site without its key`() async throws {
      let (ann, bob) = (try own("ann"), try own("bob"))
      for isDialing in [true, false] {
        let thief = SecureLink.Own(
          credentials: ann.credentials, instance: 1, site: bob.site, salt: bob.salt)
        let victim = try own("carol")
        let ends = isDialing ? pair(thief, victim) : pair(victim, thief)
        let honest = isDialing ? ends.listening : ends.dialing
        let reason = try await honest.user.reason()
        expectEqual(reason?.code, .untrusted)
        expectEqual(reason?.message.contains("claims a site"), true)
        close(ends)
      }
    }

    @Test(arguments: [true, false])
    func `what is not TLS is refused`(_ isDialing: Bool) async throws {
      let (near, far) = MemoryLink.pair()
      let link = SecureLink(over: near, as: try own(), isDialing: isDialing)
      let user = RecordingUser()
      link.attach(user)
      try await far.send([Array("DNLN hello, I am a peer without secrets".utf8)])
      #expect(try await user.reason()?.code == .untrusted)
      #expect(user.current.bytes.isEmpty)
      link.close(LinkError(.closed, "done"))
      far.close(LinkError(.closed, "done"))
    }

    @Test(arguments: [true, false])
    func `a peer that goes away in the middle of the handshake ends it`(_ isDialing: Bool) async throws {
      let (near, far) = MemoryLink.pair()
      let link = SecureLink(over: near, as: try own(), isDialing: isDialing)
      let user = RecordingUser()
      link.attach(user)
      try await far.finish()
      #expect(try await user.reason()?.code == .untrusted)
      link.close(LinkError(.closed, "done"))
      far.close(LinkError(.closed, "done"))
    }

    @Test func `an end without TLS's own word is no orderly end`() async throws {
      let links = MemoryLink.pair()
      let ends = pair(try own(), try own(), over: links)
      ends.dialing.link.write([[1]])
      try await ends.listening.user.wait { $0.bytes == [1] }
      try await links.0.finish()
      #expect(try await ends.listening.user.reason()?.code == .disconnected)
      close(ends)
    }

    @Test func `a byte changed on the way ends the link`() async throws {
      let (near, far) = MemoryLink.pair()
      let (other, end) = MemoryLink.pair()
      let ends = pair(try own(), try own(), over: (near, end))
      let isChanging = Mutex(false)
      // Carries bytes between the two, and changes one when it is told to.
      let pumps = [
        Task {
          while var bytes = try await far.receive() {
            if isChanging.withLock({ $0 }) { bytes[bytes.count / 2] ^= 1 }
            try await other.send([bytes])
          }
        },
        Task { while let bytes = try await other.receive() { try await far.send([bytes]) } },
      ]
      ends.dialing.link.write([[1]])
      try await ends.listening.user.wait { $0.bytes == [1] }
      isChanging.withLock { $0 = true }
      ends.dialing.link.write([[2, 3, 4]])
      #expect(try await ends.listening.user.reason()?.code == .disconnected)
      #expect(ends.listening.user.current.bytes == [1])
      for pump in pumps { pump.cancel() }
      close(ends)
    }

    @Test func `nothing that names application, user or device goes over the line`() async throws {
      let (near, far) = MemoryLink.pair()
      let (other, end) = MemoryLink.pair()
      let ends = pair(try own("ann-the-user"), try own("bob-the-user"), over: (near, end))
      let captured = Mutex<[UInt8]>([])
      let carry: @Sendable (MemoryLink, MemoryLink) async throws -> Void = { from, to in
        while let bytes = try await from.receive() {
          captured.withLock { $0 += bytes }
          try await to.send([bytes])
        }
      }
      let pumps = [Task { try await carry(far, other) }, Task { try await carry(other, far) }]
      ends.dialing.link.write([Array("a-document".utf8)])
      try await ends.listening.user.wait { $0.bytes.count == 10 }
      let bytes = captured.withLock { $0 }
      #expect(bytes.count > 1_000)
      for word in [CertificateDraft.application, "ann-the-user", "bob-the-user", "a-document"] {
        expect(bytes.firstRange(of: Array(word.utf8)) == nil, "\(word)")
      }
      for pump in pumps { pump.cancel() }
      close(ends)
    }

    @Test func `a certificate that ends, ends the link`() async throws {
      // Certificates know whole seconds.
      let (key, end) = (
        DeviceKey(), Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded() + 100)
      )
      let certificate = try authority.issue(
        for: key.peerKey, user: "ann", validity: Date(timeIntervalSinceNow: -60)..<end)
      // The clock does not move until the handshake is over. Then it is long past the end, as after a sleep.
      let now = Mutex(end.addingTimeInterval(-100))
      let short = try PeerCredentials(
        key: key, certificate: certificate, trusted: authority.trusted, now: { now.withLock { $0 } })
      var ann = own(short, key)
      ann.expiryPause = .milliseconds(20)
      let ends = pair(ann, try own("bob"))
      ends.dialing.link.write([[1]])
      try await ends.listening.user.wait { $0.bytes == [1] }
      try await Task.sleep(for: .milliseconds(100))
      ends.dialing.link.write([[2]])
      try await ends.listening.user.wait { $0.bytes == [1, 2] }
      now.withLock { $0 = end.addingTimeInterval(1) }
      // Who notices first ends it for both.
      let reasons = [
        try await ends.listening.user.reason()?.code, try await ends.dialing.user.reason()?.code,
      ]
      #expect(reasons.contains(.expired), "\(reasons)")
      close(ends)
    }

    // MARK: - The secret of a handshake

    private static let random = String(repeating: "0a", count: 32)

    /// The secret of 32 bytes 0 to 31.
    @Test func `lines of a key log are read, and others are not`() throws {
      let secret = (0..<32).map { String($0 + 256, radix: 16).dropFirst() }.joined()
      for line in [
        "", "CLIENT_RANDOM \(Self.random) \(secret)", "EXPORTER_SECRET \(Self.random) 12",
        "EXPORTER_SECRET \(Self.random) \(secret)0", "EXPORTER_SECRET \(Self.random)",
        "EXPORTER_SECRET 00 \(secret)", "EXPORTER_SECRET \(Self.random.dropLast())x \(secret)",
      ] {
        expect(HandshakeSecret.read(keyLogLine: line) == nil)
      }
      let (random, one) = try #require(
        HandshakeSecret.read(keyLogLine: "EXPORTER_SECRET \(Self.random) \(secret)\n"))
      #expect(random == ClientRandom(digits: Self.random[...]))
      #expect(one.binding(of: .dialing, certificate: [1]).count == 32)
      #expect(one.binding(of: .dialing, certificate: [1]) != one.binding(of: .listening, certificate: [1]))
      #expect(one.binding(of: .dialing, certificate: [1]) != one.binding(of: .dialing, certificate: [2]))
    }

    @Test func `the number of a handshake is read from its first bytes, and from nothing else`() {
      let opening: [UInt8] = [22, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3] + Array(repeating: 10, count: 32)
      #expect(ClientRandom(opening: opening) == ClientRandom(digits: Self.random[...]))
      #expect(ClientRandom(opening: opening + [1, 2]) == ClientRandom(opening: opening))
      #expect(ClientRandom(opening: opening.dropLast()) == nil)
      // Another record, and another message.
      #expect(ClientRandom(opening: [23] + opening.dropFirst()) == nil)
      #expect(ClientRandom(opening: opening[..<5] + [2] + opening[6...]) == nil)
    }

    @Test func `a handshake with the number of one under way gets no secret`() throws {
      let context = HandshakeContext(presented: [], privateKey: [], at: .listening)
      let random = try #require(ClientRandom(digits: Self.random[...]))
      #expect(context.expectSecret(of: random))
      #expect(!context.expectSecret(of: random))
      #expect(context.secret(of: random) == nil)
      context.forgetSecret(of: random)
      #expect(context.expectSecret(of: random))
    }
  }
#endif
