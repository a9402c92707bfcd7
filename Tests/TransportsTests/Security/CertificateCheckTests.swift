#if TLS
  import Crypto
  import Foundation
  import TestKit
  import Testing
  import X509

  @testable import Links

  @Suite struct CertificateCheckTests {
    private let authority: PeerAuthority

    init() throws {
      authority = try PeerAuthority(
        application: CertificateDraft.application,
        validity: Date(timeIntervalSinceNow: -86_400)..<Date(timeIntervalSinceNow: 864_000))
    }

    private func check(_ presented: [[UInt8]], now: Date = Date()) async -> Result<PeerIdentity, LinkError> {
      do throws(LinkError) {
        return .success(try await CertificateCheck(trusted: authority.trusted, now: { now }).check(presented))
      } catch {
        return .failure(error)
      }
    }

    @Test func `a right certificate says who the peer is`() async throws {
      let key = DeviceKey()
      let end = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 3_600).rounded())
      let certificate = try authority.issue(
        for: key.peerKey, user: "ann", validity: Date(timeIntervalSinceNow: -60)..<end)
      let presented = try certificate.chain.map { try $0.bytes() }
      #expect(presented[0].count < 600)
      let identity = try await check(presented).get()
      #expect(identity.key == key.peerKey)
      #expect(identity.user == "ann")
      #expect(identity.proof == .certificate)
      #expect(identity.validUntil == Int64(end.timeIntervalSince1970) * 1_000)
    }

    @Test(arguments: ["an\u{A}n", "an\u{85}n", "an\u{200B}n", "an\u{202E}n", "an\u{2029}n"])
    func `no certificate is issued for a user with characters that do not show`(user: String) {
      let error = #expect(throws: LinkError.self) {
        try authority.issue(for: DeviceKey().peerKey, user: user, validity: PeerAuthority.always)
      }
      #expect(error?.code == .credentials)
    }

    @Test func `one with an authority between is right`() async throws {
      let middle = CertificateDraft.intermediate()
      guard case .p256(let key) = middle.key else { return }
      var leaf = CertificateDraft()
      leaf.issuerName = middle.subjectName
      let presented = [
        try leaf.signed(by: .init(key)).bytes(), try middle.signed(by: .init(authority.key)).bytes(),
      ]
      #expect(try await check(presented).get().user == "ann")
    }

    @Test(arguments: WrongCertificate.all)
    func `a wrong certificate is refused`(_ wrong: WrongCertificate) async throws {
      let (presented, _) = try wrong.make(authority)
      let result = await check(presented)
      guard case .failure(let error) = result else {
        Issue.record("It was believed: \(result)")
        return
      }
      #expect(error.code == .untrusted || error.code == .expired)
      #expect(wrong.reason.isEmpty || error.message.contains(wrong.reason), "\(error.message)")
    }

    @Test func `there are sixty wrong certificates`() { #expect(WrongCertificate.all.count >= 60) }

    @Test func `nothing, and what is no certificate, is refused`() async {
      for presented in [[], [[]], [[0x30, 0]], [[UInt8](repeating: 0x30, count: 500)]] as [[[UInt8]]] {
        guard case .failure(let error) = await check(presented) else {
          Issue.record("It was believed")
          continue
        }
        expectEqual(error.code, .untrusted)
      }
    }

    @Test func `every byte of a certificate counts`() async throws {
      let draft = CertificateDraft()
      let bytes = try draft.signed(by: .init(authority.key)).bytes()
      for place in bytes.indices {
        var damaged = bytes
        damaged[place] ^= 0x10
        if case .success(let identity) = await check([damaged]) { Issue.record("byte \(place): \(identity)") }
        if place % 7 == 0, case .success = await check([Array(bytes[..<place])]) {
          Issue.record("cut at \(place)")
        }
      }
      if case .success = await check([bytes + [0]]) { Issue.record("a byte more") }
      _ = try await check([bytes]).get()
    }

    @Test func `a refusal for the time names both times`() async throws {
      var draft = CertificateDraft()
      draft.validUntil = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 100).rounded())
      let bytes = try draft.signed(by: .init(authority.key)).bytes()
      let later = draft.validUntil.addingTimeInterval(10)
      guard case .failure(let error) = await check([bytes], now: later) else {
        Issue.record("It was believed")
        return
      }
      #expect(error.code == .expired)
      #expect(error.message.contains(draft.validUntil.timeText))
      #expect(error.message.contains(later.timeText))
    }

    @Test func `a device whose clock is behind its own certificate goes by that`() async throws {
      let key = DeviceKey()
      let now = Date()
      let certificate = try authority.issue(
        for: key.peerKey, user: nil, validity: now..<now.addingTimeInterval(1_000))
      let credentials = try PeerCredentials(
        key: key, certificate: certificate, trusted: authority.trusted,
        now: { Date(timeIntervalSince1970: 5) })
      #expect(credentials.check.now() >= now.addingTimeInterval(-1))
      _ = try await credentials.check.check(credentials.presented)
    }

    // MARK: - A shared key

    private func sharedKey(_ first: UInt8 = 1) -> [UInt8] { (0..<32).map { UInt8($0) &* 7 &+ first | 0x80 } }

    @Test func `who knows the shared key is believed, and with no other key or application`() async throws {
      let one = try PeerCredentials(sharedKey: sharedKey(), application: "a", key: DeviceKey())
      let two = try PeerCredentials(sharedKey: sharedKey(), application: "a", key: DeviceKey())
      let identity = try await one.check.check(two.presented)
      #expect(identity.proof == .sharedKey)
      #expect(identity.user == nil)
      let others = [
        (
          try PeerCredentials(sharedKey: sharedKey(2), application: "a", key: DeviceKey()),
          "shared key is another"
        ),
        (
          try PeerCredentials(sharedKey: sharedKey(), application: "b", key: DeviceKey()),
          "the application 'b'"
        ),
      ]
      for (other, words) in others {
        let error = await linkError { _ = try await one.check.check(other.presented) }
        expectEqual(error?.code, .untrusted)
        expect(error?.message.contains(words) == true, "\(String(describing: error))")
        expect(error?.message.contains("authority") == false, "\(String(describing: error))")
        await expect(linkError { _ = try await other.check.check(one.presented) } != nil)
      }
    }

    @Test func `a shared key and a certificate do not meet, and each says what the other has`() async throws {
      let shared = try PeerCredentials(sharedKey: sharedKey(), application: "a", key: DeviceKey())
      let validity = Date(timeIntervalSinceNow: -100)..<Date(timeIntervalSinceNow: 1_000)
      let authority = try PeerAuthority(application: "a", validity: validity)
      let key = DeviceKey()
      let certified = try PeerCredentials(
        key: key, certificate: try authority.issue(for: key.peerKey, user: nil, validity: validity),
        trusted: authority.trusted)
      let first = await linkError { _ = try await shared.check.check(certified.presented) }
      #expect(first?.message.contains("accepts the shared key only") == true)
      let second = await linkError { _ = try await certified.check.check(shared.presented) }
      #expect(second?.message.contains("it proves itself by a shared key") == true)
    }

    @Test func `a member cannot name itself a user`() async throws {
      let shared = try PeerAuthority(sharedKey: sharedKey(), application: "a")
      let one = try PeerCredentials(sharedKey: sharedKey(), application: "a", key: DeviceKey())
      for proof in [PeerIdentity.Proof.sharedKey, .certificate, .online] {
        let certificate = try shared.issue(
          for: DeviceKey().peerKey, user: "boss", validity: PeerAuthority.always, proof: proof)
        await #expect(throws: LinkError.self) {
          try await one.check.check(certificate.chain.map { try $0.bytes() })
        }
      }
    }

    @Test(arguments: [
      [], [UInt8](repeating: 7, count: 31), [UInt8](repeating: 7, count: 32),
      Array("correct horse battery staple now".utf8),
      [UInt8](repeating: 200, count: 33),
    ])
    func `a shared key that is none is refused`(_ key: [UInt8]) {
      let error = #expect(throws: LinkError.self) { try PeerAuthority(sharedKey: key, application: "a") }
      #expect(error?.code == .credentials)
    }

    // MARK: - Own credentials

    @Test func `own credentials that do not fit are told at once`() throws {
      let (key, other) = (DeviceKey(), DeviceKey())
      let (start, end) = (Date(timeIntervalSinceNow: -100), Date(timeIntervalSinceNow: 100))
      let right = try authority.issue(for: key.peerKey, user: nil, validity: start..<end)
      _ = try PeerCredentials(key: key, certificate: right, trusted: authority.trusted)
      func code(_ make: () throws -> PeerCredentials) -> LinkError.Code? {
        (#expect(throws: LinkError.self) { try make() })?.code
      }
      #expect(
        code { try PeerCredentials(key: other, certificate: right, trusted: authority.trusted) }
          == .credentials)
      let foreign = try PeerAuthority(application: "another", validity: start..<end)
      #expect(
        code { try PeerCredentials(key: key, certificate: right, trusted: foreign.trusted) } == .credentials)
      let ended = try authority.issue(
        for: key.peerKey, user: nil, validity: start..<Date(timeIntervalSinceNow: -10))
      #expect(
        code { try PeerCredentials(key: key, certificate: ended, trusted: authority.trusted) } == .expired)
      let shared = try PeerAuthority(sharedKey: sharedKey(), application: CertificateDraft.application)
      #expect(
        code { try PeerCredentials(key: key, certificate: right, trusted: shared.trusted) } == .credentials)
    }

    @Test func `authority and certificates have a text form`() throws {
      let key = DeviceKey()
      let again = try PeerAuthority(pem: try authority.pem)
      let certificate = try again.issue(
        for: key.peerKey, user: "bob",
        validity: Date(timeIntervalSinceNow: -1)..<Date(timeIntervalSinceNow: 10))
      let read = try PeerCertificate(pem: try certificate.pem)
      #expect(read.user == "bob")
      #expect(read.peerKey == key.peerKey)
      #expect(try PeerKey(hexadecimal: key.peerKey.description) == key.peerKey)
      #expect(
        try TrustedAuthority(pem: try authority.trusted.pem).application == CertificateDraft.application)
      for text in ["", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"] {
        #expect(throws: LinkError.self) { try PeerAuthority(pem: text) }
        #expect(throws: LinkError.self) { try PeerCertificate(pem: text) }
        #expect(throws: LinkError.self) { try TrustedAuthority(pem: text) }
        #expect(throws: LinkError.self) { try PeerKey(hexadecimal: text) }
      }
      #expect(throws: LinkError.self) { try PeerKey(hexadecimal: String(repeating: "f", count: 66)) }
    }
  }
#endif
