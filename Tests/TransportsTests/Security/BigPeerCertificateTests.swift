#if TLS
  import CRDTCore
  import DocStore
  import Foundation
  import SyncProtocol
  import Synchronization
  import TestKit
  import Testing
  import X509

  @testable import Links
  @testable import Transports

  /// Where peers have certificates, those say which peers are big ones.
  @Suite(.timeLimit(.minutes(15))) struct BigPeerCertificateTests {
    private static let sharedKey = (0..<32).map { UInt8($0) &* 11 | 0x81 }
    private static let validity = Date(timeIntervalSinceNow: -100)..<Date(timeIntervalSinceNow: 1_000)
    private let authority: PeerAuthority

    init() throws { authority = try PeerAuthority(application: "test", validity: Self.validity) }

    // MARK: - Certificates

    @Test(arguments: [true, false], [true, false])
    func `a certificate says whether its peer is a big one`(isBigPeer: Bool, isOfIntermediate: Bool)
      async throws
    {
      let issuer = isOfIntermediate ? try authority.makeIntermediate(validity: Self.validity) : authority
      let certificate = try issuer.issue(
        for: DeviceKey().peerKey, user: "ann", isBigPeer: isBigPeer, validity: Self.validity)
      #expect(certificate.isBigPeer == isBigPeer)
      #expect(try PeerCertificate(pem: certificate.pem).isBigPeer == isBigPeer)
      let identity = try await CertificateCheck(trusted: authority.trusted, now: { Date() }).check(
        certificate.chain.map { try $0.bytes() })
      #expect(identity.isBigPeer == isBigPeer)
      #expect(identity.provenKind == (isBigPeer ? .big : .small))
      // Earlier releases ask for these two purposes, and accept others beside them.
      let purposes = try #require(try certificate.chain[0].extensions.extendedKeyUsage)
      #expect(purposes.contains(.serverAuth) && purposes.contains(.clientAuth))
      #expect(purposes.count == (isBigPeer ? 3 : 2))
    }

    @Test func `a member cannot prove with the shared key that it is a big peer`() async throws {
      let shared = try PeerAuthority(sharedKey: Self.sharedKey, application: "test")
      let member = try PeerCredentials(sharedKey: Self.sharedKey, application: "test", key: DeviceKey())
      let certificate = try shared.issue(
        for: DeviceKey().peerKey, user: nil, isBigPeer: true, validity: PeerAuthority.always)
      let presented = try certificate.chain.map { try $0.bytes() }
      let error = await #expect(throws: LinkError.self) { try await member.check.check(presented) }
      #expect(error?.message.contains("proves no kind of peer") == true)
      #expect(member.identity != nil && member.identity?.provenKind == nil)
    }

    @Test func `credentials of another kind of peer renew nothing`() throws {
      let key = DeviceKey()
      func credentials(isBigPeer: Bool) throws -> PeerCredentials {
        let certificate = try authority.issue(
          for: key.peerKey, user: nil, isBigPeer: isBigPeer, validity: Self.validity)
        return try PeerCredentials(key: key, certificate: certificate, trusted: authority.trusted)
      }
      let big = try credentials(isBigPeer: true)
      #expect(try credentials(isBigPeer: true).isRenewal(of: big))
      #expect(try !credentials(isBigPeer: false).isRenewal(of: big))
    }

    @Test(arguments: [true, false])
    func `a certificate of the other kind than the configured one is refused, saying what helps`(
      isBigPeer: Bool
    ) throws {
      let certificate = try authority.issue(
        for: DeviceKey().peerKey, user: nil, isBigPeer: isBigPeer, validity: Self.validity)
      try certificate.checkKind(isBigPeer: isBigPeer)
      let error = #expect(throws: LinkError.self) { try certificate.checkKind(isBigPeer: !isBigPeer) }
      #expect(error?.code == .credentials)
      #expect(error?.message.contains("--kind \(isBigPeer ? "small" : "big")") == true)
    }

    // MARK: - Sessions

    /// A peer that says that it is of a kind, with a certificate that may say another.
    private func peer(
      _ name: String, says kind: PeerKind, provesBigPeer: Bool, by issuer: PeerAuthority? = nil
    ) throws -> TestPeer {
      try peer(name, says: kind) { key in
        let certificate = try (issuer ?? authority).issue(
          for: key.peerKey, user: nil, isBigPeer: provesBigPeer, validity: Self.validity)
        return try PeerCredentials(key: key, certificate: certificate, trusted: authority.trusted)
      }
    }

    private func peer(
      _ name: String, says kind: PeerKind, _ credentials: (DeviceKey) throws -> PeerCredentials
    ) throws -> TestPeer {
      let key = DeviceKey()
      var options = StoreOptions()
      options.siteOfSalt = { (salt, _) throws(StoreError) in key.peerKey.site(salt: salt) }
      let peer = try TestPeer(name, kind: kind, storeOptions: options) { $0.requiresProof = true }
      peer.network.prove(with: try credentials(key))
      return peer
    }

    private func connect(_ dialing: TestPeer, _ listening: TestPeer) throws {
      for peer in [dialing, listening] { peer.network.subscribe(to: try everything("things")) }
      try listening.network.start()
      let port = try #require(try listening.network.listen())
      dialing.network.connect(host: "127.0.0.1", port: port)
      try dialing.network.start()
    }

    /// Why a peer's first session ended, and whether the peers had met.
    private func firstEnd(in events: AsyncStream<NetworkEvent>) async -> (SyncError?, hasMet: Bool) {
      var hasMet = false
      for await event in events {
        if case .connected = event { hasMet = true }
        guard case .disconnected(_, let end) = event else { continue }
        if case .session(let error) = end { return (error, hasMet) }
        Issue.record("\(end)")
        break
      }
      return (nil, hasMet)
    }

    @Test(arguments: [PeerKind.big, .small], [true, false])
    func `a peer that says it is of another kind than its certificate is refused, in either role`(
      says kind: PeerKind, dials: Bool
    ) async throws {
      let honest = try peer("honest", says: .small, provesBigPeer: false)
      let liar = try peer("liar", says: kind, provesBigPeer: kind == .small)
      try await honest.fill("things", 0..<10)
      try await liar.fill("things", 10..<20)
      let questions = Counter()
      honest.network.decideConnections { _ in
        questions.count()
        return true
      }
      let (seen, seenByLiar) = (honest.network.events(), liar.network.events())
      if dials { try connect(liar, honest) } else { try connect(honest, liar) }
      let (refusal, hasMet) = await firstEnd(in: seen)
      #expect(refusal?.code == .kindMismatch && !hasMet, "\(String(describing: refusal))")
      #expect(refusal?.message.contains("--kind \(kind)") == true, "\(String(describing: refusal))")
      let (told, _) = await firstEnd(in: seenByLiar)
      let reason = try #require(told)
      #expect(reason.code == .kindMismatch && reason.message.contains("--kind \(kind)"), "\(reason)")
      #expect(!SessionEnd.session(reason).isUsual(afterHello: true))
      // The application is not asked about it.
      #expect(questions.value == 0)
      #expect(try honest.documents("things").count == 10)
      #expect(try liar.documents("things").count == 10)
      await liar.end()
      await honest.end()
    }

    @Test(arguments: [true, false])
    func `a big peer with its certificate syncs`(isOfIntermediate: Bool) async throws {
      let issuer = isOfIntermediate ? try authority.makeIntermediate(validity: Self.validity) : authority
      let device = try peer("device", says: .small, provesBigPeer: false, by: issuer)
      let cloud = try peer("cloud", says: .big, provesBigPeer: true, by: issuer)
      try await device.fill("things", 0..<10)
      try connect(device, cloud)
      try await cloud.wait { try cloud.documents("things").count == 10 }
      #expect(device.network.connections.map { $0.peer?.kind } == [.big])
      #expect(device.network.connections.map { $0.identity?.provenKind } == [.big])
      #expect(cloud.network.connections.map { $0.peer?.kind } == [.small])
      await device.end()
      await cloud.end()
    }

    @Test func `with a shared key the kind is what a peer says`() async throws {
      func shared(_ key: DeviceKey) throws -> PeerCredentials {
        try PeerCredentials(sharedKey: Self.sharedKey, application: "test", key: key)
      }
      let (device, cloud) = (try peer("device", says: .small, shared), try peer("cloud", says: .big, shared))
      try await device.fill("things", 0..<10)
      try connect(device, cloud)
      try await cloud.wait { try cloud.documents("things").count == 10 }
      #expect(device.network.connections.map { $0.peer?.kind } == [.big])
      #expect(device.network.connections.map { $0.identity?.provenKind } == [nil])
      await device.end()
      await cloud.end()
    }
  }

  /// Counts calls.
  private final class Counter: Sendable {
    private let state = Mutex(0)

    var value: Int { state.withLock { $0 } }
    func count() { state.withLock { $0 += 1 } }
  }
#endif
