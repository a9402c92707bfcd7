#if TLS
  import DunlinKit
  import Facade
  import Foundation
  import LoginKit
  import TestKit
  import Testing
  import Transports

  /// Renewed certificates of open databases, and the other names of identities.
  @Suite(.timeLimit(.minutes(15))) struct IdentityAliasTests {
    private let directory: TemporaryDirectory
    private let authority: DunlinAuthority
    private let log = RecordedLog()

    init() throws {
      directory = try TemporaryDirectory()
      authority = try DunlinAuthority(
        appID: "tests", validity: Date(timeIntervalSinceNow: -600)..<Date(timeIntervalSinceNow: 7_200))
    }

    private func certified(
      _ name: String, until seconds: TimeInterval = 3_600, user: String? = nil,
      by other: DunlinAuthority? = nil,
      appID: String = "tests"
    ) throws -> DunlinIdentity {
      let certificate = try (other ?? authority).issue(
        deviceKey: try DunlinDevice.publicKey(path: directory.file(name)), user: user ?? name,
        validity: Date(timeIntervalSinceNow: -300)..<Date(timeIntervalSinceNow: seconds))
      return .certificate(appID: appID, authority: try authority.certificate, certificate: certificate)
    }

    private func open(_ name: String, _ identity: DunlinIdentity) throws -> Dunlin {
      try Dunlin(
        path: directory.file(name), identity: identity,
        configuration: DunlinConfiguration(
          peerName: name, logger: log.logger, failureHandler: { log.failed($0) }))
    }

    @Test func `a renewed certificate is taken by an open database, and sessions stay`() async throws {
      let (ann, bob) = (try open("ann", certified("ann")), try open("bob", certified("bob")))
      try bob.connect(to: ann)
      await bob.wait(forUsers: ["ann"])
      let connections = bob.parts.network.connections.map(\.id)
      try await ann.updateIdentity(certified("ann", until: 7_000))
      #expect(bob.parts.network.connections.map(\.id) == connections)
      // For another user they are made anew.
      try await ann.updateIdentity(certified("ann", user: "eve"))
      await bob.wait(forUsers: ["eve"])
      for dunlin in [ann, bob] { try dunlin.close() }
    }

    @Test func `a database that was opened with an ended certificate syncs after it is renewed`() async throws
    {
      let ann = try open("ann", certified("ann", until: -60))
      #expect(throws: DunlinError.self) { try ann.startSync() }
      try await ann.updateIdentity(certified("ann"))
      try ann.startSync()
      #expect(ann.auth == nil)
      try ann.close()
    }

    @Test func `what is no renewal is refused, and nothing changes`() async throws {
      let ann = try open("ann", certified("ann"))
      let other = try DunlinAuthority(
        appID: "tests", validity: Date(timeIntervalSinceNow: -600)..<Date(timeIntervalSinceNow: 7_200))
      let wrong: [(DunlinIdentity, DunlinError.Code, String)] = [
        (.unsafeDevelopment(appID: "tests"), .argument, "nothing else"),
        (.sharedKey(appID: "tests", key: DunlinSharedKey()), .argument, "nothing else"),
        (try certified("ann", appID: "others"), .argument, "for the application others"),
        (try certified("bob"), .identity, "another key"),
        (try certified("ann", until: -60), .identity, "was valid until"),
        (try certified("ann", by: other), .identity, "not issued by the application's authority"),
      ]
      for (identity, code, part) in wrong {
        let error = await #expect(throws: DunlinError.self) { try await ann.updateIdentity(identity) }
        expectEqual(error?.code, code)
        expectEqual(error?.message.contains(part), true, "\(String(describing: error))")
      }
      let bob = try open("bob", certified("bob"))
      try bob.connect(to: ann)
      await bob.wait(forUsers: ["ann"])
      for dunlin in [ann, bob] { try dunlin.close() }
      let error = await #expect(throws: DunlinError.self) { try await ann.updateIdentity(certified("ann")) }
      #expect(error?.code == .closed)
    }

    @Test func `a development identity has nothing to renew`() async throws {
      let peer = try open("peer", .offlinePlayground(appID: "tests"))
      #expect(!log.lines(with: "unsafe development identity").isEmpty)
      let error = await #expect(throws: DunlinError.self) { try await peer.updateIdentity(certified("peer")) }
      #expect(error?.code == .argument)
      try peer.close()
    }

    // MARK: - Other names

    @Test func `the other names mean what they are said to mean`() throws {
      #expect(DunlinIdentity.offlinePlayground(appID: "a") == .unsafeDevelopment(appID: "a"))
      let delegate = TestDelegate(token: nil)
      let url = try #require(URL(string: "https://login.example.com/a"))
      #expect(
        DunlinIdentity.onlineWithAuthentication(
          appID: "a", authenticationDelegate: delegate, customAuthURL: url)
          == .online(appID: "a", url: "https://login.example.com/a", authenticator: delegate))
      let key = DunlinSharedKey()
      #expect(
        try DunlinIdentity.sharedKey(appID: "a", sharedKey: key.text) == .sharedKey(appID: "a", key: key))
      #expect(throws: DunlinError.self) { try DunlinIdentity.sharedKey(appID: "a", sharedKey: "password") }
    }

    /// Keys in the forms SEC 1 and PKCS #8.
    ///
    /// They were made with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`.
    @Test(arguments: [
      """
      MHcCAQEEIF3rgt0tNxQ9S83lyB0+Ap8eUS5/V2BXAQCkc//A8azYoAoGCCqGSM49AwEHoUQDQgAEEq6plIjbRZ5YE/RQTJbmDKyiagk1aBQasHkg\
      ZyyIqVFJyX+gsTnMH6nHtlLZN36bG9cXpk910DKKXiS/x6Un6A==
      """,
      """
      MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgXeuC3S03FD1LzeXIHT4Cnx5RLn9XYFcBAKRz/8DxrNihRANCAAQSrqmUiNtFnlgT\
      9FBMluYMrKJqCTVoFBqweSBnLIipUUnJf6CxOcwfqce2Utk3fpsb1xemT3XQMopeJL/HpSfo
      """,
    ])
    func `a private key in DER is a shared key`(_ text: String) throws {
      let identity = try DunlinIdentity.sharedKey(appID: "tests", sharedKey: text)
      let scalar = try DunlinSharedKey("XeuC3S03FD1LzeXIHT4Cnx5RLn9XYFcBAKRz/8DxrNg=")
      #expect(identity == .sharedKey(appID: "tests", key: scalar))
      let peer = try open("peer", identity)
      try peer.startSync()
      try peer.close()
    }

    @Test func `the playground logs in with its one token`() async throws {
      let service = try await LoginService()
      var configuration = DunlinConfiguration(logger: log.logger)
      configuration.webAuthority = service.server.authorityFile
      let peer = try Dunlin(
        path: directory.file("peer"),
        identity: .onlinePlayground(
          appID: "tests", token: "ann's token", customAuthURL: try #require(URL(string: service.url))),
        configuration: configuration)
      try await peer.wait()
      #expect(peer.auth?.status.userID == "ann")
      try peer.close()
    }

    @Test func `a closure that has no token says so`() async throws {
      struct NoToken: Error {}
      let service = try await LoginService()
      let failures = Events<DunlinError>()
      let peer = try Dunlin(
        path: directory.file("peer"),
        identity: .online(appID: "tests", url: service.url) { _ in throw NoToken() },
        configuration: DunlinConfiguration(logger: log.logger, failureHandler: { failures.send($0) }))
      let error = try #require(await failures.next(1).first)
      #expect(error.code == .authentication)
      #expect(error.underlying is NoToken)
      try peer.close()
    }
  }
#endif
