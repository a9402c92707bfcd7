#if TLS
  import DunlinKit
  import Foundation
  import TestKit
  import Testing

  /// The code of `Documentation/Revocation.md`.
  @Suite(.timeLimit(.minutes(15))) struct RevocationPageTests {
    private let directory: TemporaryDirectory
    private let authority: DunlinAuthority
    private let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600)

    init() throws {
      directory = try TemporaryDirectory()
      authority = try DunlinAuthority(appID: "garage", validity: validity)
    }

    @Test func `an authority signs a list, and a database takes it`() async throws {
      let path = directory.file("tablet")
      let dunlin = try Dunlin(
        path: path,
        identity: .certificate(
          appID: "garage", authority: try authority.certificate,
          certificate: try authority.issue(
            deviceKey: DunlinDevice.publicKey(path: path), user: "bob", validity: validity)))
      let stolenKey = try DunlinDevice.publicKey(path: directory.file("stolen"))
      let formerList = try authority.revoke([])

      let list = try authority.revoke(
        [.deviceKey(stolenKey), .user("ann", issuedBefore: Date())], extending: formerList)
      try await dunlin.addRevocations(list)
      for list in dunlin.revocations.lists { print(list.issuer, list.number, list.entryCount) }

      #expect(dunlin.revocations.lists.map(\.entryCount) == [2])
      #expect(dunlin.revocations.lists.map(\.number) == [2])
      try dunlin.close()
    }

    @Test func `a configuration bounds the time without news, and needs certificates`() throws {
      var configuration = DunlinConfiguration()
      configuration.revocationsNeededWithin = .seconds(7 * 86_400)

      let error = #expect(throws: DunlinError.self) {
        try Dunlin(
          path: directory.file("plain"), identity: .unsafeDevelopment(appID: "garage"),
          configuration: configuration)
      }
      #expect(error?.code == .argument)
    }

    @Test func `the limits of the page are those of the code`() throws {
      let page = try #require(Page(path: "Documentation/Revocation.md"))
      let text = page.prose.map(\.1).joined(separator: "\n")
      #expect(text.contains("| entries of all lists at a peer | 100,000 |"))
      let keys = try (0..<3).map { try DunlinDevice.publicKey(path: directory.file("device \($0)")) }
      #expect(throws: DunlinError.self) {
        try authority.revoke(
          (0..<100_001).map { .user("user \($0)", issuedBefore: Date(timeIntervalSince1970: 1)) })
      }
      #expect(try authority.revoke(keys.map { .deviceKey($0) }).isEmpty == false)
    }
  }
#endif
