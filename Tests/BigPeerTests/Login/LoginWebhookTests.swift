#if Server
  import BigPeer
  import Crypto
  import Foundation
  import Links
  import LoginKit
  import TestKit
  import Testing

  /// The secret with which an application's webhook for logins knows that a question is the big peer's.
  @Suite(.timeLimit(.minutes(15))) struct LoginWebhookTests {
    private static let secret = "a-secret-of-the-webhook"

    private func ask(_ server: HTTPSServer, secret: String?) async throws -> HTTPSServer.Request {
      let webhook = LoginWebhook(
        try HTTPSAddress(orLoopback: "http://127.0.0.1:\(server.port)/hook"), authorityFile: nil,
        questions: 1, secret: secret)
      let request = try LoginRequest(
        application: "garage", provider: "tests", token: "ann's token", challenge: "challenge",
        key: DeviceKey(), address: HTTPSAddress(LoginRig.url))
      guard case .granted = await webhook.ask(about: request, of: "garage") else {
        throw BigPeerError("it was not granted")
      }
      return try #require(server.requests.last)
    }

    private func signature(_ request: HTTPSServer.Request) -> String? {
      request.head.split(separator: "\r\n").first { $0.hasPrefix("Dunlin-Signature: ") }
        .map { String($0.dropFirst("Dunlin-Signature: ".count)) }
    }

    @Test
    func `questions are signed with the secret, over their time and body, and without a secret are not`()
      async throws
    {
      let server = try await HTTPSServer(.plain) { _ in
        .answer(200, ["Content-Type: application/json"], LoginRig.grant)
      }
      let signed = try await ask(server, secret: Self.secret)
      let parts = try #require(signature(signed)).split(separator: ",").map {
        $0.split(separator: "=").map(String.init)
      }
      let time = try #require(parts.first { $0[0] == "t" }?[1])
      #expect(abs(Date().timeIntervalSince1970 - (Double(time) ?? 0)) < 60)
      let code = HMAC<SHA256>.authenticationCode(
        for: Data("\(time).".utf8) + Data(signed.body), using: SymmetricKey(data: Data(Self.secret.utf8)))
      #expect(parts.first { $0[0] == "v1" }?[1] == code.map { String(format: "%02x", $0) }.joined())
      #expect(!signed.head.contains(Self.secret))
      #expect(signature(try await ask(server, secret: nil)) == nil)
    }

    @Test func `the secret is in a file that only its owner can read, or in the environment`() throws {
      let folder = try TemporaryDirectory()
      let file = folder.file("secret")
      let source = BigPeerConfiguration.Login.SecretSource.file(file)
      try LoginRig.write("\(Self.secret)\n", to: file)
      #expect(try source.text() == Self.secret)
      let variable = BigPeerConfiguration.Login.SecretSource.environment("HOOK")
      #expect(try variable.text(environment: ["HOOK": Self.secret]) == Self.secret)
      try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file)
      try FileManager.default.createSymbolicLink(
        atPath: folder.file("link"), withDestinationPath: file)
      try LoginRig.write("short", to: folder.file("short"))
      try LoginRig.write(String(repeating: "x", count: 400), to: folder.file("long"))
      for (source, part) in [
        (source, "can be read by others"), (.file(folder.file("none")), "there is no file"),
        (.file(folder.file("link")), folder.file("link")),
        (.file(folder.file("short")), "16 to 256 printable characters"),
        (.file(folder.file("long")), "16 to 256 printable characters"),
        (.environment("OTHER"), "there is no such variable"),
        (.environment("HOOK"), "the variable HOOK: it must be 16 to 256"),
      ] as [(BigPeerConfiguration.Login.SecretSource, String)] {
        let error = #expect(throws: BigPeerError.self) {
          try source.text(environment: ["HOOK": "two words that are long enough"])
        }
        expectEqual(error?.description.contains(part), true, "\(String(describing: error))")
        expectEqual(error?.description.contains("two words"), false)
      }
    }
  }
#endif
