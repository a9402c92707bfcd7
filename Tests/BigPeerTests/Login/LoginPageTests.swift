#if Server
  import BigPeer
  import CRDTCore
  import Foundation
  import Links
  import TestKit
  import Testing

  /// The page about logins: its examples are read by what they are for.
  @Suite struct LoginPageTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Documentation/Login.md").standardized

    /// The blocks of JSON, in their order.
    private func blocks() throws -> [String] {
      let text = try String(contentsOf: Self.page, encoding: .utf8)
      return text.components(separatedBy: "```json\n").dropFirst().map {
        $0.components(separatedBy: "\n```")[0]
      }
    }

    @Test func `the configuration is right`() throws {
      let folder = try TemporaryDirectory()
      for name in ["server.pem", "chain.pem", "key.pem"] { try LoginRig.write("x", to: folder.file(name)) }
      let text = try #require(try blocks().first)
      try LoginRig.write(
        text.replacing("/var/lib/bigpeer", with: folder.path), to: folder.file("bigpeer.json"))
      var settings = BigPeerSettings()
      settings.set(.config, flag: folder.file("bigpeer.json"))
      let configuration = try BigPeerConfiguration.load(settings)
      #expect(configuration.applications[0].identity == .intermediate)
      #expect(configuration.applications[0].login?.authority == .file(folder.file("server.pem")))
    }

    @Test func `the webhook's answer grants what it says`() throws {
      let blocks = try blocks()
      try #require(blocks.count == 4)
      #expect(
        LoginVerdict(json: Array(blocks[2].utf8))
          == .granted(
            LoginClaims(
              userID: "ann", expirationSeconds: 86_400,
              clientInfo: .map(["greeting": .string("hello")]), information: ["role": .string("driver")])))
      guard case .granted(let restricted) = LoginVerdict(json: Array(blocks[3].utf8)) else {
        Issue.record("The answer with restricted permissions is not granted")
        return
      }
      let grant = try #require(restricted.grant)
      #expect(String(decoding: grant.rules, as: UTF8.self).contains("_id.team IN :claims.teams"))
      #expect(String(decoding: grant.grant, as: UTF8.self).contains(#""claims":{"teams":["red"]}"#))
      guard case .map(let question) = try JSON.parse(blocks[1]) else {
        Issue.record("The question is no object")
        return
      }
      #expect(Set(question.keys) == ["appID", "provider", "token", "deviceKey"])
    }

    @Test func `the limits and the longest validity are those of the source`() throws {
      let text = try String(contentsOf: Self.page, encoding: .utf8)
      let limits = BigPeerConfiguration.LoginLimits()
      for (name, value) in [
        ("requestsByAddress", limits.requestsByAddress),
        ("requestsPerSecondByAddress", limits.requestsPerSecondByAddress),
        ("loginsByUser", limits.loginsByUser), ("loginsPerHourByUser", limits.loginsPerHourByUser),
        ("questions", limits.questions), ("auditedIssues", limits.auditedIssues),
        ("auditedRefusals", limits.auditedRefusals),
      ] {
        let row = text.split(separator: "\n").first { $0.hasPrefix("| `\(name)` |") }
        let cells = row?.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        expectEqual(cells?.last?.replacing(",", with: ""), "\(value)", "\(name)")
      }
      let login = BigPeerConfiguration.Login(url: "", webhook: "", authority: .file(""))
      #expect(login.longestValidity == .seconds(30 * 86_400))
      #expect(text.contains("| 30 days |"))
    }
  }
#endif
