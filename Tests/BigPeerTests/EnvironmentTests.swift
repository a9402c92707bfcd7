#if Server
  import BigPeer
  import Foundation
  import Logging
  import TestKit
  import Testing

  /// Settings of the file that variables override.
  @Suite struct EnvironmentTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private var file: String { folder.file("bigpeer.json") }

    private func load(_ text: String?, _ environment: [String: String]) throws -> BigPeerConfiguration {
      var settings = BigPeerSettings(environment: environment)
      if let text {
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        settings.set(.config, flag: file)
      } else {
        settings.set(.data, flag: folder.path)
      }
      return try BigPeerConfiguration.load(settings)
    }

    private func mistake(_ text: String?, _ environment: [String: String]) -> String {
      do {
        _ = try load(text, environment)
        return ""
      } catch {
        return "\(error)".replacing(file, with: "FILE")
      }
    }

    private static let text = #"""
      {
        "data": "data",
        "applications": [
          { "id": "shop", "limits": { "sessions": 10 } },
          { "id": "bar", "devices": { "listen": [] } }
        ],
        "http": { "limits": { "rows": 5, "body": "1 MiB" } },
        "logLevel": "warning"
      }
      """#

    @Test func `a variable overrides one setting of the file and leaves the others`() throws {
      let configuration = try load(
        Self.text,
        [
          "BIGPEER__http__limits__rows": "7", "BIGPEER__applications__0__limits__sessions": "20",
          "BIGPEER__applications__1__subscribe": #"["orders"]"#,
          "BIGPEER__applications__1__devices__listen__0": "127.0.0.1:4141",
          "BIGPEER__http__limits__statementTime": "3s", "BIGPEER__applications__0__name": "hub",
          "BIGPEER__logLevel": "debug", "BIGPEER__stopTime": "",
        ])
      #expect(configuration.http.limits.rows == 7)
      #expect(configuration.http.limits.bodyBytes == 1 << 20)
      #expect(configuration.http.limits.statementTime == .seconds(3))
      #expect(configuration.applications.map(\.id) == ["shop", "bar"])
      #expect(configuration.applications[0].limits.sessions == 20)
      #expect(configuration.applications[0].name == "hub")
      #expect(configuration.applications[1].subscriptions == ["orders"])
      #expect(configuration.applications[1].devices.map(\.description) == ["127.0.0.1:4141"])
      #expect(configuration.logLevel == .debug)
    }

    @Test func `a variable that has a flag comes before, and a flag before both`() throws {
      let environment = ["BIGPEER__logLevel": "debug", "BIGPEER_LOG_LEVEL": "error"]
      #expect(try load(Self.text, environment).logLevel == .error)
      var settings = BigPeerSettings(environment: environment)
      settings.set(.data, flag: folder.path)
      settings.set(.logLevel, flag: "trace")
      #expect(try BigPeerConfiguration.load(settings).logLevel == .trace)
    }

    @Test func `without a file, variables make applications and objects`() throws {
      let configuration = try load(
        nil,
        [
          "BIGPEER__applications__0__id": "shop", "BIGPEER__applications__1__id": "bar",
          "BIGPEER__applications__1__devices__listen": "[]", "BIGPEER__admin__on": "false",
          "BIGPEER__applications__1": #"{"name": "second"}"#,
        ])
      #expect(configuration.applications.map(\.id) == ["shop", "bar"])
      #expect(configuration.applications[1].name == "second")
      #expect(configuration.applications[1].devices.isEmpty)
      #expect(configuration.admin.listen == nil)
    }

    @Test func `a value can be the text of a file, as secrets are mounted`() throws {
      try "a name of digits\n".write(toFile: folder.file("name"), atomically: true, encoding: .utf8)
      let configuration = try load(
        Self.text, ["BIGPEER__applications__0__name_FILE": folder.file("name")])
      #expect(configuration.applications[0].name == "a name of digits")
      let secret = String(repeating: "s", count: 40)
      try (secret + "\n").write(toFile: folder.file("secret"), atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file("secret"))
      let source = BigPeerConfiguration.Login.SecretSource.environment("HOOK")
      #expect(try source.text(environment: ["HOOK_FILE": folder.file("secret")]) == secret)
      #expect(throws: (any Error).self) { try source.text(environment: [:]) }
    }

    @Test(arguments: [
      (["BIGPEER__http__limits__rows": "0"], "BIGPEER__http__limits__rows: http.limits.rows: must be"),
      (["BIGPEER__http__limits__row": "1"], "BIGPEER__http__limits__row: http.limits.row: there is no such"),
      (["BIGPEER__http": "text"], "BIGPEER__http: http must be an object"),
      (["BIGPEER__logLevel": "loud"], "BIGPEER__logLevel: logLevel: must be one of"),
      (["BIGPEER__applications__3__id": "x"], "BIGPEER__applications__3__id: the list has 2 elements"),
      (["BIGPEER__data__x": "1"], "BIGPEER__data__x: what contains x is neither an object nor a list"),
      (["BIGPEER__http____x": "1"], "BIGPEER__http____x: this names no setting"),
      (
        ["BIGPEER__data_FILE": "/nowhere/at/all"],
        "BIGPEER__data_FILE: the file /nowhere/at/all cannot be read"
      ),
      (
        ["BIGPEER__applications__1__devices__listen__0": "5"],
        "BIGPEER__applications__1__devices__listen__0: applications[1].devices.listen: must be a list of texts"
      ),
      (["BIGPEER__admin__listen": "0.0.0.0:1"], "BIGPEER__admin__listen: must be loopback"),
    ])
    func `a mistake names the variable`(environment: [String: String], expected: String) {
      let message = mistake(Self.text, environment)
      #expect(message.contains(expected), "\(message)")
      #expect(!message.hasPrefix("FILE:"), "\(message)")
    }

    @Test func `mistakes of the file keep their lines beside variables`() {
      let text = Self.text.replacing("\"rows\": 5", with: "\"rows\": 0")
      #expect(mistake(text, ["BIGPEER__logLevel": "debug"]).contains("FILE:7: http.limits.rows: must be"))
    }
  }
#endif
