#if TLS
  import CRDTCore
  import Crypto
  import Foundation
  import LoginKit
  import Synchronization
  import SwiftASN1
  import TestKit
  import Testing
  import X509

  @testable import Links

  /// Logins at a service that answers rightly and wrongly.
  @Suite(.timeLimit(.minutes(15))) struct LoginClientTests {
    private let key = DeviceKey()

    private func logIn(
      _ service: LoginService, trusting authority: TrustedAuthority? = nil, application: String = "tests",
      provider: String = "tests", token: String = "ann's token",
      now: @escaping @Sendable () -> Date = { Date() }
    ) async throws -> LoginGrant {
      try await LoginClient(
        HTTPSAddress(service.url), http: HTTPSClient(authorityFile: service.server.authorityFile), now: now
      ).login(
        LoginClient.Device(application: application, key: key, authority: authority), provider: provider,
        token: token)
    }

    private func failure(_ body: () async throws -> LoginGrant) async -> LoginError? {
      do {
        let grant = try await body()
        Issue.record("It was accepted: \(grant.certificate.application)")
        return nil
      } catch {
        return error as? LoginError
      }
    }

    @Test func `a token gives a certificate for the device's key`() async throws {
      let service = try await LoginService()
      let grant = try await logIn(service)
      #expect(grant.certificate.peerKey == key.peerKey)
      #expect(grant.certificate.user == "ann")
      #expect(grant.certificate.proof == .online)
      #expect(grant.authority.isSame(as: service.authority.trusted))
      #expect(grant.clientInfo == #"{"greeting":"hello ann"}"#)
      try await grant.credentials.verify()
      #expect(service.server.requests.map(\.path) == ["/tests/challenge", "/tests/login"])
    }

    @Test func `the authority is the configured one, or the one that the service names`() async throws {
      let service = try await LoginService { $0.namesAuthority = false }
      #expect(try await logIn(service, trusting: service.authority.trusted).certificate.user == "ann")
      let error = await failure { try await logIn(service) }
      #expect(error?.code == .certificate)
      #expect(error?.message.contains("names no authority") == true)
    }

    @Test func `an authority's renewed certificate is taken, one that it has not signed is not`() async throws
    {
      let service = try await LoginService()
      let (old, key) = (service.authority.trusted, service.authority.key)
      func authority(signedBy signer: P256.Signing.PrivateKey) throws -> TrustedAuthority {
        var draft = CertificateDraft()
        draft.key = .p256(key)
        draft.statement = PeerExtension(proof: .certificate, application: "tests", user: nil)
        draft.constraints = .isCertificateAuthority(maxPathLength: 1)
        draft.usage = KeyUsage(keyCertSign: true)
        draft.purposes = nil
        draft.subjectName = "dunlin"
        draft.validUntil = old.validUntil + 86_400
        return try TrustedAuthority(draft.signed(by: .init(signer)))
      }
      let (renewed, forged) = (
        try authority(signedBy: key), try authority(signedBy: P256.Signing.PrivateKey())
      )
      for (named, taken) in [(renewed, renewed), (forged, old)] {
        let certificate = try service.authority.issue(
          for: self.key.peerKey, user: nil, validity: Date() - 60..<Date() + 600)
        let grant = try await LoginGrant(
          checking: certificate.pem, authority: named.pem,
          for: LoginClient.Device(application: "tests", key: self.key, authority: old),
          clock: LoginGrant.Clock(now: { Date() }))
        expectEqual(grant.authority.validUntil, taken.validUntil)
      }
    }

    // MARK: - The request

    @Test func `a request is signed for one service, key, token and challenge`() throws {
      let (here, there) = (try HTTPSAddress("https://a/x"), try HTTPSAddress("https://b/x"))
      let request = try LoginRequest(
        application: "tests", provider: "p", token: "t", challenge: "0123456789abcdef", key: key,
        address: here)
      #expect(request.isSigned(for: here))
      #expect(!request.isSigned(for: there))
      #expect(try LoginRequest(json: request.json) == request)
      var fields = try #require(JSON.object(request.json))
      for (name, value) in [
        ("application", "other"), ("provider", "q"), ("token", "u"), ("challenge", "1123456789abcdef"),
        ("deviceKey", "\(DeviceKey().peerKey)"),
      ] {
        let right = fields[TextKey(name)]
        fields[TextKey(name)] = .string(value)
        let changed = try LoginRequest(json: Array(JSON.text(of: .map(fields)).utf8))
        expect(!changed.isSigned(for: here), "\(name)")
        fields[TextKey(name)] = right
      }
    }

    /// What the page on security says of the protocol, made with another implementation.
    @Test func `the statement is the one that is documented`() throws {
      let request = try LoginRequest(
        application: "garage", provider: "webhook", token: "secret", challenge: "c2l4dGVlbiBieXRlcyE",
        key: key,
        address: HTTPSAddress("https://login.example.com/garage"))
      let hash = SHA256.hash(data: Data("secret".utf8)).map { String(format: "%02x", $0) }.joined()
      let statement = """
        dunlin login 1
        https://login.example.com/garage
        garage
        webhook
        \(key.peerKey)
        c2l4dGVlbiBieXRlcyE
        \(hash)

        """
      let signature = try P256.Signing.ECDSASignature(derRepresentation: request.signature)
      #expect(key.key.publicKey.isValidSignature(signature, for: Data(statement.utf8)))
    }

    @Test(arguments: [
      ("", "ann's token"), ("two\nlines", "ann's token"), (String(repeating: "p", count: 129), "ann's token"),
      ("tests", ""), ("tests", String(repeating: "t", count: 16_385)),
    ])
    func `what cannot be said is refused before anything is sent`(_ provider: String, _ token: String)
      async throws
    {
      let service = try await LoginService()
      let error = await failure { try await logIn(service, provider: provider, token: token) }
      #expect(error?.code == .argument)
      #expect(service.server.requests.isEmpty)
    }

    @Test func `a challenge that is out of date is asked for once more`() async throws {
      let service = try await LoginService()
      let first = Flag()
      service.change { rules in
        rules.instead = { request in
          request.path == "/tests/login" && first.take() ? .json(409, [:]) : nil
        }
      }
      #expect(try await logIn(service).certificate.user == "ann")
      #expect(service.server.requests.count == 4)
      service.change { $0.instead = { $0.path == "/tests/login" ? .json(409, [:]) : nil } }
      #expect(await failure { try await logIn(service) }?.code == .answer)
      #expect(service.server.requests.count == 8)
    }

    // MARK: - Wrong answers

    @Test func `a token that is refused is another error than a service in trouble`() async throws {
      let service = try await LoginService()
      let error = await failure { try await logIn(service, token: "nobody's token") }
      #expect(error?.code == .refused)
      #expect(error?.isPassing == false)
      #expect(
        error?.message.contains("status 401): \"the token is unknown\"") == true,
        "\(String(describing: error))")
      #expect(error?.message.contains("nobody's token") == false)
    }

    struct Wrong: CustomTestStringConvertible, Sendable {
      let reply: HTTPSServer.Reply
      let code: LoginError.Code
      let part: String
      var testDescription: String { part }

      init(_ reply: HTTPSServer.Reply, _ code: LoginError.Code, _ part: String) {
        (self.reply, self.code, self.part) = (reply, code, part)
      }

      static let all = [
        Wrong(.json(403, [:]), .refused, "status 403"),
        Wrong(.json(429, [:], ["Retry-After: 9"]), .unavailable, "it asks to wait 9 s"),
        Wrong(.answer(500, [], "<html>"), .unavailable, "status 500"),
        Wrong(.json(503, ["message": .string("back soon\u{1B}[31m")]), .unavailable, "back soon\\u{1B}"),
        Wrong(
          .answer(302, ["Location: https://elsewhere/"], ""), .answer, "redirects to \"https://elsewhere/\""),
        Wrong(.answer(301, [], ""), .answer, "redirects are not followed"),
        Wrong(.json(404, [:]), .answer, "status 404"),
        Wrong(.json(201, ["challenge": .string("0123456789abcdef")]), .answer, "status 201"),
        Wrong(.answer(200, ["Content-Type: text/html"], "<html>"), .answer, "of the type \"text/html\""),
        Wrong(.answer(200, [], "{}"), .answer, "of no type"),
        Wrong(.answer(200, ["Content-Type: application/json"], "{"), .answer, "no JSON object"),
        Wrong(.answer(200, ["Content-Type: application/json"], "[1]"), .answer, "no JSON object"),
        Wrong(
          .answer(200, ["Content-Type: application/json"], String(repeating: "[", count: 60_000)), .answer,
          "no JSON object"),
        Wrong(
          .answer(200, ["Content-Type: application/json"], String(repeating: " ", count: 70_000)), .answer,
          "more than 65536 bytes"),
        Wrong(.end, .unreachable, "before its answer was complete"),
      ]
    }

    @Test(arguments: ["challenge", "login"], Wrong.all)
    func `a wrong answer says what is wrong with it`(_ part: String, _ wrong: Wrong) async throws {
      let service = try await LoginService()
      service.change { $0.instead = { $0.path == "/tests/\(part)" ? wrong.reply : nil } }
      let error = await failure { try await logIn(service) }
      #expect(error?.code == wrong.code, "\(String(describing: error))")
      #expect(error?.message.contains(wrong.part) == true, "\(String(describing: error))")
      #expect(
        error?.message.contains("\(service.url)/\(part)") == true
          || error?.message.contains(service.url) == true)
      #expect(error?.message.contains("ann's token") == false)
    }

    @Test(
      arguments: [
        ([:], "no text \"challenge\""), (["challenge": .int(5)], "no text \"challenge\""),
        (["challenge": .string("short")], "16 to 512"),
        (["challenge": .string("sixteen\ncharacters")], "16 to 512"),
        (["challenge": .string(String(repeating: "x", count: 513))], "16 to 512"),
      ] as [([TextKey: Value], String)])
    func `a challenge that is none is refused`(_ fields: [TextKey: Value], _ part: String) async throws {
      let service = try await LoginService()
      service.change { $0.instead = { $0.path == "/tests/challenge" ? .json(200, fields) : nil } }
      let error = await failure { try await logIn(service) }
      #expect(error?.code == .answer)
      #expect(error?.message.contains(part) == true, "\(String(describing: error))")
    }

    // MARK: - Wrong certificates

    struct WrongGrant: CustomTestStringConvertible, Sendable {
      let name: String
      let part: String
      let fields: @Sendable (PeerAuthority, DeviceKey) throws -> [TextKey: Value]
      var testDescription: String { name }

      init(
        _ name: String, _ part: String,
        _ fields: @escaping @Sendable (PeerAuthority, DeviceKey) throws -> [TextKey: Value]
      ) {
        (self.name, self.part, self.fields) = (name, part, fields)
      }

      /// One of the authority's with something changed.
      static func changed(
        _ name: String, _ part: String, _ change: @escaping @Sendable (inout CertificateDraft) -> Void
      ) -> WrongGrant {
        WrongGrant(name, part) { authority, key in
          var draft = CertificateDraft()
          draft.key = .p256(key.key)
          draft.statement = PeerExtension(proof: .online, application: "tests", user: "ann")
          change(&draft)
          return [
            "certificate": .string(try draft.signed(by: .init(authority.key)).serializeAsPEM().pemString),
            "authority": .string(try authority.trusted.pem),
          ]
        }
      }

      static func issued(
        _ authority: PeerAuthority, _ key: PeerKey, named: PeerAuthority? = nil
      ) throws -> [TextKey: Value] {
        let certificate = try authority.issue(for: key, user: "ann", validity: Date() - 60..<Date() + 600)
        return [
          "certificate": .string(try certificate.pem),
          "authority": .string(try (named ?? authority).trusted.pem),
        ]
      }

      static let all: [WrongGrant] = [
        WrongGrant("none", "no text \"certificate\"") { authority, _ in
          ["authority": .string(try authority.trusted.pem)]
        },
        WrongGrant("no text", "no text \"certificate\"") { _, _ in ["certificate": .array([])] },
        WrongGrant("an authority that is no text", "\"authority\" of its answer is no text") {
          authority, key in
          var fields = try issued(authority, key.peerKey)
          fields["authority"] = .int(1)
          return fields
        },
        WrongGrant("no PEM", "cannot be read") { _, _ in ["certificate": .string("hello")] },
        WrongGrant("an empty PEM", "cannot be read") { _, _ in ["certificate": .string("")] },
        WrongGrant("the authority's own", "another key") { authority, _ in
          [
            "certificate": .string(try authority.trusted.pem),
            "authority": .string(try authority.trusted.pem),
          ]
        },
        WrongGrant("another key", "for another key") { authority, _ in
          try issued(authority, DeviceKey().peerKey)
        },
        WrongGrant("another application", "for the application others") { _, key in
          let other = try PeerAuthority(application: "others", validity: Date() - 100..<Date() + 1_000)
          return try issued(other, key.peerKey)
        },
        WrongGrant("another authority that is not named", "not issued by the application's authority") {
          authority, key in
          let other = try PeerAuthority(application: "tests", validity: Date() - 100..<Date() + 1_000)
          return try issued(other, key.peerKey, named: authority)
        },
        WrongGrant("a shared key's", "rests on a shared key") { _, key in
          let other = try PeerAuthority(
            sharedKey: (0..<32).map { UInt8($0) &* 11 | 0x81 }, application: "tests")
          let certificate = try other.issue(for: key.peerKey, user: nil, validity: PeerAuthority.always)
          return ["certificate": .string(try certificate.pem), "authority": .string(try other.trusted.pem)]
        },
        WrongGrant("an authority that is a peer's", "another one has issued it") { _, key in
          let other = try PeerAuthority(application: "tests", validity: Date() - 100..<Date() + 1_000)
          let fields = try issued(other, key.peerKey)
          return ["certificate": fields["certificate"] ?? .null, "authority": fields["certificate"] ?? .null]
        },
        changed("a big peer's", "is that of a big peer") {
          $0.purposes = [.serverAuth, .clientAuth, BigPeerPurpose.usage]
        },
        changed("ended", "which has ended: the clock here says") { $0.validUntil = Date() - 60 },
        changed("not begun", "which has not begun: the clock here says") { $0.validFrom = Date() + 3_600 },
        changed("with a grant and no text of it", "text is missing") {
          $0.statement?.grant = GrantHash(repeatElement(1, count: 32))
        },
        changed("too large", "more than 1024 bytes") {
          $0.others = [
            Certificate.Extension(
              oid: [1, 2, 3, 4], critical: false, value: Array(repeating: 0, count: 1_000)[...])
          ]
        },
        changed("an unknown critical extension", "a critical extension that is not known here") {
          $0.others = [Certificate.Extension(oid: [1, 2, 3, 4], critical: true, value: [1][...])]
        },
        changed("another usage", "another usage") { $0.usage = KeyUsage(keyAgreement: true) },
        changed("another purpose", "another purpose") { $0.purposes = [.serverAuth] },
        changed("no statement", "none of a peer") { $0.statement = nil },
        WrongGrant("a chain that is too long", "1 to 3 certificates, this one 4") { authority, key in
          let fields = try issued(authority, key.peerKey)
          guard case .string(let pem)? = fields["certificate"] else { return [:] }
          return [
            "certificate": .string(String(repeating: pem, count: 4)),
            "authority": .string(try authority.trusted.pem),
          ]
        },
      ]
    }

    @Test(arguments: WrongGrant.all)
    func `a certificate that is not right is refused, saying why`(_ wrong: WrongGrant) async throws {
      let service = try await LoginService()
      let fields = try wrong.fields(service.authority, key)
      service.change { $0.instead = { $0.path == "/tests/login" ? .json(200, fields) : nil } }
      let error = await failure { try await logIn(service) }
      #expect(error?.code == .certificate || error?.code == .answer, "\(String(describing: error))")
      #expect(error?.message.contains(wrong.part) == true, "\(String(describing: error))")
      #expect(error?.message.contains(service.url) == true)
    }

    @Test func `another authority than the known one is refused, whatever the service names`() async throws {
      let service = try await LoginService()
      let other = try PeerAuthority(application: "tests", validity: Date() - 100..<Date() + 1_000)
      let error = await failure { try await logIn(service, trusting: other.trusted) }
      #expect(error?.code == .certificate)
      #expect(error?.message.contains("another one than the application's") == true)
    }

    // MARK: - Clocks

    @Test func `a device whose clock is behind takes the certificate, and one ahead names both clocks`()
      async throws
    {
      let service = try await LoginService()
      let date = "Date: " + Self.httpDate(Date())
      service.change { rules in
        rules.instead = { [authority = service.authority, key] request in
          guard request.path == "/tests/login" else { return nil }
          guard let fields = try? WrongGrant.issued(authority, key.peerKey) else { return nil }
          return .json(200, fields, [date])
        }
      }
      let behind = try await logIn(service, now: { Date() - 86_400 * 30 })
      try await behind.credentials.verify()
      let ahead = await failure { try await logIn(service, now: { Date() + 86_400 * 30 }) }
      #expect(ahead?.code == .certificate)
      #expect(ahead?.message.contains("has ended: the clock here says") == true)
      #expect(
        ahead?.message.contains("and the service's \(Date().formatted(.iso8601).prefix(13))") == true,
        "\(String(describing: ahead))")
    }

    private static func httpDate(_ date: Date) -> String {
      let formatter = DateFormatter()
      formatter.locale = Locale(identifier: "en_US_POSIX")
      formatter.timeZone = .gmt
      formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
      return formatter.string(from: date)
    }
  }

  /// Says yes once.
  private final class Flag: Sendable {
    private let isSet = Mutex(true)

    func take() -> Bool {
      isSet.withLock { isSet in
        defer { isSet = false }
        return isSet
      }
    }
  }
#endif
