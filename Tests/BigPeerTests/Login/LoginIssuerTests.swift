#if Server
  import BigPeer
  import Foundation
  import Links
  import TestKit
  import Testing

  /// Where the intermediate authority comes from, and what is refused.
  @Suite(.timeLimit(.minutes(15))) struct LoginIssuerTests {
    private let folder: TemporaryDirectory
    private let authority: PeerAuthority
    private let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())

    init() throws {
      folder = try TemporaryDirectory()
      authority = try PeerAuthority(application: "garage", validity: now - 86_400..<now + 864_000)
    }

    private func intermediate(from start: TimeInterval = -60, to end: TimeInterval = 3_600) throws -> String {
      try authority.makeIntermediate(validity: now + start..<now + end).pem
    }

    private func message(_ make: () throws -> LoginIssuer) -> String {
      (#expect(throws: BigPeerError.self) { _ = try make() })?.description ?? ""
    }

    private func file(_ text: String, mode: Int = 0o600) throws -> BigPeerConfiguration.Login.AuthoritySource
    {
      let path = folder.file("\(UUID()).pem")
      try LoginRig.write(text, to: path, mode: mode)
      return .file(path)
    }

    @Test func `it is read from a file that only its owner can read`() async throws {
      let issuer = try LoginIssuer(try file(try intermediate()), application: "garage")
      try await issuer.verify()
      #expect(issuer.validUntil == now + 3_600)
      for mode in [0o640, 0o604, 0o660, 0o644] {
        let source = try file(try intermediate(), mode: mode)
        expect(message { try LoginIssuer(source, application: "garage") }.contains("chmod 600"))
      }
      #expect(
        message { try LoginIssuer(.file(folder.file("none")), application: "garage") }.contains(
          "there is no file"))
    }

    @Test func `a certificate begins some minutes ago, but not before the user's others were revoked`() throws
    {
      let authority = try authority.makeIntermediate(validity: now - 7_200..<now + 3_600)
      let issuer = try LoginIssuer(try file(try authority.pem), application: "garage")
      for (cutoff, start) in [(nil, -300), (-600, -300), (-10, -10), (0, 0), (600, 0)]
        as [(TimeInterval?, TimeInterval)]
      {
        let certificate = try issuer.issue(
          to: DeviceKey().peerKey, user: "ann", seconds: 60, information: [:], now: now,
          after: cutoff.map { now + $0 })
        expectEqual(certificate.validFrom, now + start)
      }
    }

    @Test func `it may come from a command, without a shell`() async throws {
      guard case .file(let path) = try file(try intermediate()) else { return }
      let issuer = try LoginIssuer(.command(["/bin/cat", path]), application: "garage")
      try await issuer.verify()
      for (command, part) in [
        (["/bin/false"], "has ended with status 1"), (["/bin/true"], "private key"),
        (["/nowhere/at/all"], "cannot be run"), (["/bin/echo", "$(cat \(path))"], "private key"),
        (["/usr/bin/env", "sh", "-c", "head -c 100000 /dev/zero; sleep 60"], "more than 65536 bytes"),
        (["/usr/bin/env", "sh", "-c", "cat \(path); exit 3"], "has ended with status 3"),
      ] {
        let text = message { try LoginIssuer(.command(command), application: "garage") }
        expect(text.contains(part), "\(text)")
        expect(text.contains(command[0]))
        expect(!text.contains("PRIVATE"))
      }
    }

    @Test func `what is no intermediate authority of the application is refused, saying what is wrong`()
      throws
    {
      let other = try PeerAuthority(application: "another", validity: now - 60..<now + 864_000)
      let whole = try intermediate()
      for (text, part) in [
        (try authority.pem, "dunlin ca intermediate"),
        (try other.makeIntermediate(validity: now - 60..<now + 60).pem, "for another, and not for garage"),
        (try intermediate(from: -600, to: -60), "the clock here says"),
        (try intermediate(from: 600, to: 900), "the clock here says"),
        (String(whole.prefix(while: { _ in true }).dropLast(700)), "intermediate authority"),
        ("", "private key"), ("hello", "private key"),
        (String(repeating: "x", count: 70_000), "no key and no certificate"),
      ] {
        let source = try file(text)
        let message = message { try LoginIssuer(source, application: "garage") }
        expect(message.contains(part), "\(message)")
      }
    }

    @Test func `the certificate of the server itself ends with the intermediate authority`() async throws {
      let issuer = try LoginIssuer(try file(try intermediate()), application: "garage")
      let key = DeviceKey()
      let certificate = try PeerCertificate(pem: try issuer.issueOwn(to: "\(key.peerKey)"))
      #expect(certificate.validUntil == now + 3_600)
      #expect(certificate.user == nil)
      #expect(certificate.proof == .certificate)
      #expect(certificate.isBigPeer)
      try await PeerCredentials(key: key, certificate: certificate, trusted: authority.trusted).verify()
      let login = try issuer.issue(to: key.peerKey, user: "ann", seconds: 60, information: [:], now: now)
      #expect(!login.isBigPeer)
    }
  }
#endif
