#if Server
  import BigPeer
  import Foundation
  import TestKit
  import Testing

  @Suite struct LoginConfigurationTests {
    private let folder: TemporaryDirectory

    init() throws {
      folder = try TemporaryDirectory()
      for name in ["server.pem", "roots.pem", "key"] { try LoginRig.write("x", to: folder.file(name)) }
    }

    private static let right = """
      { "data": "data", "applications": [ { "id": "shop",
          "login": {
            "url": "https://login.example.com/shop", "webhook": "http://127.0.0.1:3000/verify",
            "webhookAuthority": "roots.pem", "webhookSecret": { "file": "key" }, "authority": { "file": "server.pem" },
            "longestValidity": "8h",
            "limits": { "requestsByAddress": 3, "requestsPerSecondByAddress": 4, "loginsByUser": 5,
                        "loginsPerHourByUser": 6, "questions": 7, "auditedIssues": 8000, "auditedRefusals": 9000 }
          } } ] }
      """

    private func load(_ text: String) throws -> BigPeerConfiguration {
      let file = folder.file("bigpeer.json")
      try text.write(toFile: file, atomically: true, encoding: .utf8)
      var settings = BigPeerSettings()
      settings.set(.config, flag: file)
      return try BigPeerConfiguration.load(settings)
    }

    @Test func `each setting of logins is read, and the server proves itself by the intermediate authority`()
      throws
    {
      let application = try load(Self.right).applications[0]
      let login = try #require(application.login)
      #expect(application.identity == .intermediate)
      #expect(login.url == "https://login.example.com/shop")
      #expect(login.webhook == "http://127.0.0.1:3000/verify")
      #expect(login.webhookAuthority == folder.file("roots.pem"))
      #expect(login.webhookSecret == .file(folder.file("key")))
      #expect(login.authority == .file(folder.file("server.pem")))
      #expect(login.longestValidity == .seconds(8 * 3_600))
      #expect(login.limits.requestsByAddress == 3)
      #expect(login.limits.requestsPerSecondByAddress == 4)
      #expect(login.limits.loginsByUser == 5)
      #expect(login.limits.loginsPerHourByUser == 6)
      #expect(login.limits.questions == 7)
      #expect(login.limits.auditedIssues == 8_000)
      #expect(login.limits.auditedRefusals == 9_000)
      let command = try load(
        Self.right.replacing("{ \"file\": \"server.pem\" }", with: "{ \"command\": [\"/bin/cat\", \"x\"] }"))
      #expect(command.applications[0].login?.authority == .command(["/bin/cat", "x"]))
      let variable = try load(
        Self.right.replacing("{ \"file\": \"key\" }", with: "{ \"environment\": \"SECRET\" }"))
      #expect(variable.applications[0].login?.webhookSecret == .environment("SECRET"))
      let none = try load(Self.right.replacing("\"webhookSecret\": { \"file\": \"key\" },", with: ""))
      #expect(none.applications[0].login?.webhookSecret == nil)
    }

    @Test(arguments: [
      ("https://login.example.com/shop", "http://login.example.com/shop", "login.url: "),
      ("https://login.example.com/shop", "https://login.example.com/a b", "login.url: "),
      ("https://login.example.com/shop", "https://login.example.com/{a}", "the path may have letters"),
      ("https://login.example.com/shop", "https://login.example.com/a/../b", "the path may have letters"),
      ("https://login.example.com/shop", "https://login.example.com", "needs a path that is not empty"),
      ("https://login.example.com/shop", "https://login.example.com/api/v4", "does not begin with /api"),
      ("http://127.0.0.1:3000/verify", "http://example.com/verify", "login.webhook: "),
      ("http://127.0.0.1:3000/verify", "verify", "login.webhook: "),
      ("\"webhook\": \"http://127.0.0.1:3000/verify\",", "", "login.webhook: is missing"),
      ("roots.pem", "none.pem", "login.webhookAuthority: the file"),
      ("\"authority\": { \"file\": \"server.pem\" },", "", "login.authority: is missing"),
      ("{ \"file\": \"key\" }", "{ \"file\": \"none\" }", "login.webhookSecret.file: the file"),
      ("{ \"file\": \"key\" }", "{}", "name either a file, or a variable of the environment"),
      (
        "{ \"file\": \"key\" }", "{ \"file\": \"key\", \"environment\": \"SECRET\" }",
        "name either a file, or a variable of the environment"
      ),
      ("{ \"file\": \"key\" }", "\"secret\"", "login.webhookSecret must be an object"),
      ("{ \"file\": \"server.pem\" }", "{ \"file\": \"none.pem\" }", "login.authority.file: the file"),
      ("{ \"file\": \"server.pem\" }", "{}", "name either a file, or a command"),
      (
        "{ \"file\": \"server.pem\" }", "{ \"file\": \"server.pem\", \"command\": [\"/bin/cat\"] }",
        "name either a file, or a command"
      ),
      ("{ \"file\": \"server.pem\" }", "{ \"command\": [\"cat\"] }", "the absolute path of a program"),
      ("{ \"file\": \"server.pem\" }", "{ \"command\": [] }", "the absolute path of a program"),
      ("\"8h\"", "\"30s\"", "login.longestValidity: must be a time"),
      ("\"questions\": 7", "\"questions\": 0", "login.limits.questions: must be a whole number"),
      ("\"questions\"", "\"question\"", "login.limits.question: there is no such setting"),
      ("\"longestValidity\"", "\"validity\"", "login.validity: there is no such setting"),
      (
        "\"id\": \"shop\",", "\"id\": \"shop\", \"identity\": {\"kind\": \"sharedKey\"},",
        "identity: devices that log in"
      ),
      (
        "\"id\": \"shop\",", "\"id\": \"shop\", \"identity\": {\"kind\": \"development\"},",
        "identity: devices that log in"
      ),
      (
        "{ \"data\": \"data\",", "{ \"data\": \"data\", \"http\": {\"on\": false},", "needs the HTTP listener"
      ),
      (
        "{ \"id\": \"shop\",",
        "{ \"id\": \"other\", \"identity\": {\"kind\": \"intermediate\"} }, { \"id\": \"shop\",",
        "identity: kind intermediate needs \"login\""
      ),
    ])
    func `a mistake is named with the setting`(old: String, new: String, expected: String) throws {
      #expect(Self.right.contains(old))
      let error = #expect(throws: ConfigurationError.self) {
        _ = try load(Self.right.replacing(old, with: new))
      }
      #expect(error.map { "\($0)".contains(expected) } == true, "\(String(describing: error))")
    }

    @Test func `two applications cannot have one path`() throws {
      let text = Self.right.replacing(
        "} ] }",
        with:
          "}, { \"id\": \"second\", \"devices\": {\"listen\": []}, \"login\": { \"url\": \"https://other.example.com/shop\", \"webhook\": \"https://a.example.com\", \"authority\": {\"file\": \"server.pem\"} } } ] }"
      )
      let error = #expect(throws: ConfigurationError.self) { _ = try load(text) }
      #expect(
        error?.description.contains(
          "applications[1].login.url: /shop is the path of the login endpoint of shop too") == true,
        "\(String(describing: error))")
    }
  }
#endif
