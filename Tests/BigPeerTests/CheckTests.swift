#if Server
  import BigPeer
  import Facade
  import Foundation
  import Links
  import LoginKit
  import SyncProtocol
  import TestKit
  import Testing

  /// What is found in the files and queries of a configuration: by `bigpeer check` and by a start alike.
  @Suite struct CheckTests {
    private let folder: TemporaryDirectory
    private let authority: DunlinAuthority

    init() throws {
      folder = try TemporaryDirectory()
      let validity = Date(timeIntervalSinceNow: -3_600)..<Date(timeIntervalSinceNow: 86_400)
      authority = try DunlinAuthority(appID: "shop", validity: validity)
      let other = try DunlinAuthority(appID: "other", validity: validity)
      let (web, another) = (try WebAuthority(), try WebAuthority())
      let certificate = try web.issue()
      let key = try DunlinDevice.publicKey(path: folder.file("data/applications/shop/store"))
      let strange = "\(DeviceKey().peerKey)"
      for (name, text) in [
        ("junk", "x"), ("shop.key", DunlinSharedKey().text), ("authority.pem", try authority.certificate),
        ("own.pem", try authority.issue(deviceKey: key, kind: .big, validity: validity)),
        ("small.pem", try authority.issue(deviceKey: key, validity: validity)),
        ("strange.pem", try authority.issue(deviceKey: strange, user: nil, validity: validity)),
        ("others.pem", try other.issue(deviceKey: key, user: nil, validity: validity)),
        (
          "expired.pem",
          try authority.issue(
            deviceKey: key, user: nil,
            validity: Date(timeIntervalSinceNow: -3_000)..<Date(timeIntervalSinceNow: -60))
        ),
        ("server.pem", try authority.makeIntermediate(validity: validity).text),
        ("others-server.pem", try other.makeIntermediate(validity: validity).text),
        ("web.pem", certificate.certificate), ("web.key", certificate.key),
        ("another.key", try another.issue().key), ("roots.pem", web.certificate),
        ("secret", "0123456789abcdef"),
      ] {
        try LoginRig.write(text, to: folder.file(name))
      }
    }

    /// A configuration, with a setting on each line, that is right.
    private static let right = """
      { "data": "data",
        "applications": [ { "id": "shop",
          "subscribe": [ "orders",
            "SELECT * FROM logs WHERE level > 3" ],
          "identity": { "kind": "certificate",
            "authority": "authority.pem",
            "certificate": "own.pem" },
          "login": { "url": "https://login.example.com/shop",
            "webhook": "http://127.0.0.1:3000/verify",
            "webhookAuthority": "roots.pem",
            "webhookSecret": {
              "file": "secret" },
            "authority": {
              "file": "server.pem" } },
          "feed": {
            "webhookAuthorities": "roots.pem" },
          "devices": { "listen": ["127.0.0.1:0"] } } ],
        "http": { "listen": "127.0.0.1:0", "tls": {
            "certificate": "web.pem",
            "key": "web.key" } },
        "admin": { "listen": "127.0.0.1:0" } }
      """

    private func load(_ text: String) throws -> BigPeerConfiguration {
      let file = folder.file("bigpeer.json")
      try text.write(toFile: file, atomically: true, encoding: .utf8)
      var settings = BigPeerSettings()
      settings.set(.config, flag: file)
      return try BigPeerConfiguration.load(settings)
    }

    @Test func `a configuration that is right is found right, and starts`() async throws {
      let configuration = try load(Self.right)
      try await configuration.verify()
      #expect(!FileManager.default.fileExists(atPath: folder.file("data/admin.token")))
      try await RunningBigPeer.with(configuration) { _ in }
    }

    @Test(arguments: [
      ("level > 3\"", "level > \"", "4: applications[0].subscribe[1]: "),
      ("\"orders\"", "\"SELECT * FROM orders LIMIT 1\"", "3: applications[0].subscribe[0]: "),
      ("\"authority.pem\"", "\"junk\"", "6: applications[0].identity.authority: "),
      ("\"own.pem\"", "\"junk\"", "7: applications[0].identity.certificate: "),
      (
        "\"own.pem\"", "\"strange.pem\"",
        "7: applications[0].identity.certificate: The certificate is for another"
      ),
      (
        "\"own.pem\"", "\"others.pem\"", "7: applications[0].identity.certificate: the certificate is for the"
      ),
      ("\"own.pem\"", "\"expired.pem\"", "7: applications[0].identity.certificate: "),
      (
        "\"own.pem\"", "\"small.pem\"",
        "7: applications[0].identity.certificate: The certificate is that of a small peer"
      ),
      (
        "{ \"kind\": \"certificate\",\n      \"authority\": \"authority.pem\",\n      \"certificate\": \"own.pem\" }",
        "{ \"kind\": \"intermediate\" }", nil
      ),
      (
        "webhookAuthority\": \"roots.pem\"", "webhookAuthority\": \"junk\"",
        "10: applications[0].login.webhookAuthority: "
      ),
      ("\"secret\"", "\"junk\"", "11: applications[0].login.webhookSecret: "),
      ("\"server.pem\"", "\"junk\"", "13: applications[0].login.authority: "),
      ("\"server.pem\"", "\"others-server.pem\"", "13: applications[0].login.authority: "),
      (
        "Authorities\": \"roots.pem\"", "Authorities\": \"junk\"",
        "16: applications[0].feed.webhookAuthorities: "
      ),
      ("\"web.pem\"", "\"junk\"", "19: http.tls.certificate: the file"),
      ("\"web.key\"", "\"junk\"", "20: http.tls.key: the file"),
      ("\"web.key\"", "\"another.key\"", "20: http.tls.key: the file"),
      ("\"data\": \"data\"", "\"data\": \"junk\"", "1: data: "),
      ("\"data\": \"data\"", "\"data\": \"junk/below\"", "1: data: "),
      ("\"id\": \"shop\"", "\"id\": \"shop\", \"folder\": \"junk/a\"", "2: applications[0].folder: "),
      (
        "\"id\": \"shop\"", "\"id\": \"shop\", \"folder\": \"new\"",
        "7: applications[0].identity.certificate: the store has"
      ),
    ])
    func `a check finds what a start refuses, with file, line and setting`(
      old: String, new: String, expected: String?
    ) async throws {
      #expect(Self.right.contains(old))
      let configuration = try load(Self.right.replacing(old, with: new))
      guard let expected else { return try await configuration.verify() }
      let found = await #expect(throws: ConfigurationError.self) { try await configuration.verify() }
      let place = "\(folder.file("bigpeer.json")):\(expected)"
      #expect(found?.description.hasPrefix(place) == true, "\(found?.description ?? "")")
      let refused = await #expect(throws: ConfigurationError.self) {
        try await BigPeer(configuration, logger: quietLogger).run()
      }
      // Each says the time at which it looked.
      let sentences = [found, refused].map { $0?.description.split(separator: ", and its clock says").first }
      #expect(sentences[0] == sentences[1])
    }

    @Test func `a check finds all that is wrong with files and queries at once`() async throws {
      var text = Self.right
      for (old, new) in [
        ("level > 3\"", "level > \""), ("\"secret\"", "\"junk\""), ("\"web.key\"", "\"another.key\""),
        ("Authorities\": \"roots.pem\"", "Authorities\": \"junk\""),
      ] {
        text = text.replacing(old, with: new)
      }
      let configuration = try load(text)
      let found = await #expect(throws: ConfigurationError.self) { try await configuration.verify() }
      let lines = found?.all.compactMap { $0.place.split(separator: ":").last.flatMap { Int($0) } }
      // As a start reads them: the listener, then of each application the login, the feed and the queries.
      #expect(lines == [20, 11, 16, 4], "\(found?.description ?? "")")
    }

    @Test func `keys that earlier starts have made are looked at too`() async throws {
      var settings = BigPeerSettings()
      settings.set(.data, flag: folder.file("plain"))
      let configuration = try BigPeerConfiguration.load(settings)
      try await configuration.verify()
      #expect(!FileManager.default.fileExists(atPath: folder.file("plain")))
      let place = configuration.applications[0].folder
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      try LoginRig.write("no key", to: configuration.applications[0].sharedKeyPath)
      let damaged = await #expect(throws: ConfigurationError.self) { try await configuration.verify() }
      #expect(damaged?.message.contains("shared key") == true, "\(String(describing: damaged))")
      try FileManager.default.removeItem(atPath: configuration.applications[0].sharedKeyPath)
      try LoginRig.write("token", to: folder.file("plain/admin.token"), mode: 0o644)
      let open = await #expect(throws: ConfigurationError.self) { try await configuration.verify() }
      #expect(open?.place == "--data")
      #expect(open?.message.contains("chmod 600") == true)
    }
  }
#endif
