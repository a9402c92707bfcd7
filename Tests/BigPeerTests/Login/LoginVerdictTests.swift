#if Server
  import BigPeer
  import CRDTCore
  import Foundation
  import Links
  import LoginKit
  import TestKit
  import Testing

  /// What a webhook may answer, and what it may not.
  @Suite(.timeLimit(.minutes(15))) struct LoginVerdictTests {
    /// An answer that is not right, and a part of what the log says of it.
    struct WrongAnswer: Sendable, CustomTestStringConvertible {
      let body: String
      let part: String
      var status = 200
      var lines = ["Content-Type: application/json"]
      /// The status that the device gets.
      var deviceStatus = 503
      var testDescription: String { "\(status) \(body.prefix(100)) \(lines)" }

      init(_ body: String, _ part: String) { (self.body, self.part) = (body, part) }

      init(status: Int, _ part: String, lines: [String] = ["Content-Type: application/json"]) {
        self.init(LoginRig.grant, part)
        (self.status, self.lines) = (status, lines)
      }

      /// A right one with a part replaced.
      static func changed(_ old: String, _ new: String, _ part: String, status: Int = 503) -> WrongAnswer {
        var answer = WrongAnswer(LoginRig.grant.replacing(old, with: new), part)
        answer.deviceStatus = status
        return answer
      }
    }

    private static let all = "{\"everything\": true}"

    static let wrong: [WrongAnswer] = [
      WrongAnswer("", "no JSON"), WrongAnswer("{", "no JSON"), WrongAnswer("null", "no JSON object"),
      WrongAnswer("[]", "no JSON object"), WrongAnswer("true", "no JSON object"),
      WrongAnswer("{}", "\"authenticated\""), WrongAnswer("{} {}", "no JSON"),
      WrongAnswer("\u{FEFF}\u{FEFF}{}", "no JSON"),
      WrongAnswer("{\"authenticated\": true, \"authenticated\": false}", "no JSON"),
      WrongAnswer("{\"authenticated\": \"true\"}", "\"authenticated\""),
      WrongAnswer("{\"authenticated\": 1}", "\"authenticated\""),
      WrongAnswer("{\"authenticated\": null}", "\"authenticated\""),
      WrongAnswer("{\"authenticated\": true}", "\"userID\" is missing"),
      WrongAnswer("{\"Authenticated\": true}", "unknown field \"Authenticated\""),
      WrongAnswer(String(repeating: "[", count: 100_000), "no JSON"),
      .changed("\"userID\": \"ann\",", "", "\"userID\" is missing"),
      .changed("\"ann\"", "\"\"", "\"userID\" is no text"),
      .changed("\"ann\"", "7", "\"userID\" is no text"),
      .changed("\"ann\"", "null", "\"userID\" is no text"),
      .changed("\"ann\"", "\"an\\nn\"", "\"userID\" is no text"),
      .changed("\"ann\"", "\"an\\u0000n\"", "\"userID\" is no text"),
      .changed("\"ann\"", "\"an\\u0085n\"", "\"userID\" is no text"),
      .changed("\"ann\"", "\"an\\u200Bn\"", "\"userID\" is no text"),
      .changed("\"ann\"", "\"an\\u202En\"", "\"userID\" is no text"),
      .changed("\"ann\"", "\"an\\u2066n\"", "\"userID\" is no text"),
      .changed("\"ann\"", "\"\(String(repeating: "a", count: 129))\"", "\"userID\" is no text"),
      .changed("userID", "userId", "unknown field \"userId\""),
      .changed("\"expirationSeconds\": 3600,", "", "\"expirationSeconds\" is missing"),
      .changed("3600", "59", "\"expirationSeconds\""), .changed("3600", "-1", "\"expirationSeconds\""),
      .changed("3600", "0", "\"expirationSeconds\""), .changed("3600", "3600.5", "\"expirationSeconds\""),
      .changed("3600", "\"3600\"", "\"expirationSeconds\""),
      .changed("3600", "31622401", "\"expirationSeconds\""),
      .changed("3600", "99999999999999999999", "\"expirationSeconds\""),
      .changed("3600", "null", "\"expirationSeconds\""),
      .changed("\"permissions\"", "\"permission\"", "unknown field \"permission\""),
      .changed("\"permissions\": {\"read\"", "\"permissions\": {\"Read\"", "unknown field \"Read\""),
      .changed(
        "\"queriesByCollection\": {}", "\"queriesByCollection\": []", "queriesByCollection\" is no object"),
      .changed("\"queriesByCollection\": {}", "\"queries\": {}", "unknown field \"queries\""),
      .changed(
        "\"read\": {\"everything\": true, \"queriesByCollection\": {}}, ", "",
        "\"permissions.read\" is missing"),
      .changed(", \"write\": {\"everything\": true}", "", "\"permissions.write\" is missing"),
      .changed("\"write\": {\"everything\": true}", "\"write\": true", "\"permissions.write\" is missing"),
      .changed("\"write\": {\"everything\": true}", "\"write\": {}", "\"permissions.write.everything\""),
      .changed(
        "\"write\": {\"everything\": true}", "\"write\": {\"everything\": 1}",
        "\"permissions.write.everything\""),
      .changed("\"userID\"", "\"identityServiceMetadata\": [], \"userID\"", "no object"),
      .changed(
        "\"userID\"",
        "\"identityServiceMetadata\": {\"a\": \"\(String(repeating: "b", count: 250))\"}, \"userID\"",
        "more than 256 bytes"),
      .changed(
        "\"userID\"", "\"clientInfo\": \"\(String(repeating: "b", count: 33_000))\", \"userID\"",
        "\"clientInfo\" has 33002 bytes"),
      .changed("\"userID\"", "\"claims\": [], \"userID\"", "\"claims\" is no object"),
      .changed("\"userID\"", "\"claims\": \"red\", \"userID\"", "\"claims\" is no object"),
      .changed("\"userID\"", "\"claims\": {\"a\": null}, \"userID\"", "\"claims\" are wrong: claims.a: "),
      .changed("\"userID\"", "\"claims\": {\"a\": {}}, \"userID\"", "\"claims\" are wrong: claims.a: "),
      .changed("\"userID\"", "\"claims\": {\"a\": [[]]}, \"userID\"", "\"claims\" are wrong: claims.a: "),
      .changed("\"userID\"", "\"claims\": {\"1a\": 1}, \"userID\"", "\"claims\" are wrong: claims.1a: "),
      .changed(
        "\"userID\"", "\"claims\": {\"a\": \"\(String(repeating: "b", count: 4_096))\"}, \"userID\"",
        "\"claims\" are wrong: claims: "),
      .changed("\"userID\"", "\"token\": \"a\\nb\", \"userID\"", "unknown field \"token\""),
      .changed("\"userID\"", "\"a\\u001bb\": 1, \"userID\"", "unknown field \"a\\u{1B}b\""),
      // More than the limit.
      WrongAnswer("{\"a\": \"" + String(repeating: "b", count: 256 << 10) + "\"}", "more than 262144 bytes"),
      WrongAnswer(status: 201, "status 201"), WrongAnswer(status: 204, "status 204"),
      WrongAnswer(status: 302, "status 302", lines: ["Location: http://127.0.0.1/"]),
      WrongAnswer(status: 400, "status 400"), WrongAnswer(status: 500, "status 500"),
      WrongAnswer(status: 200, "content type none", lines: []),
      WrongAnswer(status: 200, "content type \"text/html\"", lines: ["Content-Type: text/html"]),
    ]

    private static func permissions(read: String, write: String = all) -> String {
      "\"permissions\": {\"read\": \(read), \"write\": \(write)}"
    }

    private static func queries(_ members: String) -> String {
      "{\"everything\": false, \"queriesByCollection\": {\(members)}}"
    }

    private static func answer(_ fields: String) -> String {
      "{\"authenticated\": true, \"userID\": \"ann\", \"expirationSeconds\": 3600, \(fields)}"
    }

    /// Permissions that are wrong, or that peers cannot enforce, and a part of what the log says of them.
    static let refused = [
      (permissions(read: all, write: "{\"everything\": false}"), "write: rules that restrict writing"),
      (
        permissions(read: all, write: "{\"everything\": false, \"queriesByCollection\": {}}"),
        "write: rules that restrict writing"
      ),
      (permissions(read: all, write: queries("\"cars\": [\"true\"]")), "write: rules that restrict writing"),
      (
        permissions(read: queries("\"cars\": [\"true\"]"), write: queries("\"cars\": [\"true\"]")),
        "write: rules that restrict writing"
      ),
      (
        permissions(read: "{\"everything\": true, \"queriesByCollection\": {\"cars\": [\"true\"]}}"),
        "there are queries although read.everything is true"
      ),
      (permissions(read: queries("\"cars\": [\"_id =\"]")), "read.queriesByCollection.cars[0]"),
      (permissions(read: queries("\"cars\": [\"_id = :other\"]")), "rules have no parameter 'other'"),
      (permissions(read: queries("\"cars\": \"true\"")), "it must be a list of queries"),
      (permissions(read: queries("\"__own\": [\"true\"]")), "the collection is the system's"),
    ]

    /// Permissions that peers can enforce.
    static let enforceable = [
      permissions(read: "{\"everything\": false}"), permissions(read: queries("")),
      permissions(read: queries("\"menus\": [\"true\"], \"cars\": [\"starts_with(_id, :user.id)\"]")),
      permissions(read: queries("\"cars\": [\"_id.owner = :user.id\", \"_id.team IN :claims.teams\"]")),
      permissions(read: queries("\"cars\": [\"owner = :user.id\"]")),
      permissions(read: queries("\"cars\": [\"starts_with(_id, :user.id)\", \"shared = true\"]")),
      // Without the claim this one allows nothing, whatever it reads.
      permissions(read: queries("\"cars\": [\"team = :claims.none\"]")),
    ]

    @Test(arguments: wrong)
    func `an answer that is not right denies, and says why in the log and not to the device`(
      _ wrong: WrongAnswer
    ) async throws {
      let rig = try await LoginRig { _ in .answer(wrong.status, wrong.lines, wrong.body) }
      let answer = try await rig.logIn()
      #expect(answer.status == wrong.deviceStatus)
      #expect(answer.fields == ["message": .string("the login service cannot answer now")])
      #expect(answer.retryAfter != nil)
      #expect(
        rig.log.all.contains { $0.contains(wrong.part) && $0.hasPrefix("warning") }, "\(rig.log.all)")
      let refusal = try #require(try rig.refusals().first)
      #expect(refusal.reason?.contains(wrong.part) == true, "\(refusal)")
      #expect(try rig.issues().isEmpty)
    }

    @Test func `there are fifty wrong answers`() { #expect(Self.wrong.count >= 50) }

    @Test(arguments: refused)
    func `permissions that peers cannot enforce are refused with a clear error, and never granted`(
      permissions: String, part: String
    ) async throws {
      let body = Self.answer(permissions)
      let rig = try await LoginRig { _ in .answer(200, ["Content-Type: application/json"], body) }
      let answer = try await rig.logIn()
      #expect(answer.status == 403)
      #expect(answer.fields == ["message": .string("these permissions cannot be granted yet")])
      #expect(rig.log.all.contains { $0.contains(part) && $0.hasPrefix("warning") }, "\(rig.log.all)")
      let reason = try #require(try rig.refusals().first?.reason)
      #expect(reason.hasPrefix("the permissions cannot be granted: ") && reason.contains(part), "\(reason)")
      #expect(try rig.issues().isEmpty)
    }

    @Test(arguments: enforceable)
    func `permissions that peers can enforce are granted with a certificate that has them`(
      _ permissions: String
    ) async throws {
      let claims = "{\"teams\": [\"red\", 7], \"boss\": true}"
      let body = Self.answer("\(permissions), \"claims\": \(claims)")
      let rig = try await LoginRig { _ in .answer(200, ["Content-Type: application/json"], body) }
      let answer = try await rig.logIn()
      #expect(answer.status == 200, "\(answer)")
      let certificate = try PeerCertificate(pem: try #require(answer.text("certificate")))
      #expect(certificate.isRestricted && certificate.user == "ann")
      let texts = try #require(certificate.grant)
      guard case .map(let grant) = try JSON.parse(texts.grant),
        case .map(let rules) = try JSON.parse(texts.rules), case .map(let read)? = rules["read"]
      else {
        Issue.record("The texts are no objects")
        return
      }
      #expect(try grant["claims"] == JSON.parse(Array(claims.utf8)))
      #expect(grant["remoteQueries"] == .bool(false) && grant["presence"] == .string("neighbours"))
      #expect(read["everything"] == .bool(false))
      #expect(try rig.issues().count == 1)
      #expect(try rig.refusals().isEmpty)
    }

    @Test(arguments: ["", ", \"claims\": null", ", \"claims\": {}", ", \"claims\": {\"team\": \"red\"}"])
    func `permissions that are everything need no grant`(_ claims: String) async throws {
      let body = Self.answer(Self.permissions(read: Self.all) + claims)
      let rig = try await LoginRig { _ in .answer(200, ["Content-Type: application/json"], body) }
      let answer = try await rig.logIn()
      #expect(answer.status == 200, "\(answer)")
      let certificate = try PeerCertificate(pem: try #require(answer.text("certificate")))
      #expect(!certificate.isRestricted && certificate.grant == nil)
    }

    /// Permissions of another shape than the model product's, and a part of what the log says of them.
    private static let misshapen: [(permissions: String, part: String)] = [
      ("null", "\"permissions\" is no object"), ("[]", "\"permissions\" is no object"),
      ("{}", "\"permissions.read\" is missing"),
      ("{\"read\": \(all), \"write\": \(all), \"more\": {}}", "unknown field \"more\""),
      ("{\"read\": null, \"write\": \(all)}", "\"permissions.read\" is missing, or no object"),
      ("{\"read\": {\"everything\": null}, \"write\": \(all)}", "\"permissions.read.everything\""),
      ("{\"read\": {\"everything\": \"no\"}, \"write\": \(all)}", "\"permissions.read.everything\""),
      (
        "{\"read\": {\"everything\": false, \"queriesByCollection\": null}, \"write\": \(all)}",
        "queriesByCollection\" is no object"
      ),
      (
        "{\"read\": {\"everything\": false, \"queriesByCollection\": \"true\"}, \"write\": \(all)}",
        "queriesByCollection\" is no object"
      ),
    ]

    @Test(arguments: misshapen)
    func `permissions of another shape refuse the login, with the place in log and audit`(
      permissions: String, part: String
    ) async throws {
      let body = Self.answer("\"permissions\": \(permissions)")
      let rig = try await LoginRig { _ in .answer(200, ["Content-Type: application/json"], body) }
      #expect(try await rig.logIn().status == 503)
      #expect(rig.log.all.contains { $0.contains(part) && $0.hasPrefix("warning") }, "\(rig.log.all)")
      #expect(try rig.refusals().first?.reason?.contains(part) == true)
      #expect(try rig.issues().isEmpty)
    }

    /// Lists of queries that are wrong or too large, and a part of what the log says of them.
    private static let unusable: [(queries: String, part: String)] = [
      ("\"cars\": null", "cars: it must be a list of queries"),
      ("\"cars\": {}", "cars: it must be a list of queries"),
      ("\"cars\": [7]", "cars[0]: a query must be a text"),
      ("\"cars\": [\"true\", null]", "cars[1]: a query must be a text"),
      ("\"cars\": [[\"true\"]]", "cars[0]: a query must be a text"),
      ("\"cars\": [\"\"]", "read.queriesByCollection.cars[0]: "),
      ("\"cars\": [\"_id = 1\", \"_id IN (\"]", "read.queriesByCollection.cars[1]: "),
      ("\"cars\": [\"SELECT * FROM cars LIMIT 1\"]", "read.queriesByCollection.cars[0]: "),
      ("\"cars\": [\"SELECT * FROM others\"]", "read.queriesByCollection.cars[0]: "),
      ("\"system:cars\": [\"true\"]", "the collection is the system's"),
      ("\"\": [\"true\"]", "a collection's name has 1 to "),
      ("\"\(String(repeating: "c", count: 5_000))\": [\"true\"]", "read.queriesByCollection.cccc"),
      // Control characters of the answer make no lines in the log.
      ("\"__a\\nwarning\": [\"true\"]", "read.queriesByCollection.__a\\u{A}warning: "),
      (
        "\"cars\": [\((0...256).map { "\"_id = \($0)\"" }.joined(separator: ","))]",
        "there are more than 256 queries in all"
      ),
      (
        "\"cars\": [\((100..<300).map { "\"_id = '\($0)\(String(repeating: "x", count: 100))'\"" }.joined(separator: ","))]",
        "the rules take more than 16384 bytes"
      ),
    ]

    @Test(arguments: unusable)
    func `a list of queries that cannot be used refuses the login, with the place in log and audit`(
      queries: String, part: String
    ) async throws {
      let body = Self.answer(Self.permissions(read: Self.queries(queries)))
      let rig = try await LoginRig { _ in .answer(200, ["Content-Type: application/json"], body) }
      #expect(try await rig.logIn().status == 403)
      #expect(rig.log.all.contains { $0.contains(part) && $0.hasPrefix("warning") }, "\(rig.log.all)")
      let reason = try #require(try rig.refusals().first?.reason)
      #expect(reason.contains(part) && reason.utf8.count < 1_024, "\(reason)")
      #expect(!rig.log.all.contains { $0.contains("\n") }, "\(rig.log.all)")
      #expect(try rig.issues().isEmpty)
    }

    @Test(arguments: ["{\"authenticated\": false}", "{\"authenticated\": false, \"clientInfo\": {\"a\": 1}}"])
    func `a token that is not good is refused`(_ body: String) async throws {
      let rig = try await LoginRig { _ in .answer(200, ["Content-Type: application/json"], body) }
      let answer = try await rig.logIn()
      #expect(answer.status == 401)
      #expect(answer.fields == ["message": .string("the token is refused")])
      #expect(answer.retryAfter == nil)
      #expect(try rig.refusals().first?.reason == "the token is refused")
    }

    @Test(arguments: [401, 403])
    func `a webhook may refuse a token by its status too`(_ status: Int) async throws {
      let rig = try await LoginRig { _ in .answer(status, [], "") }
      #expect(try await rig.logIn().status == 401)
    }

    @Test func `a webhook that is silent, goes away or is not there denies, within its time`() async throws {
      for reply in [
        HTTPSServer.Reply.silence, .end, .bytes("HTTP/1.1 200 OK\r\nContent-Le"), .bytes("what?"),
      ] {
        let rig = try await LoginRig(webhookTime: .milliseconds(300)) { _ in reply }
        let start = ContinuousClock.now
        try await expectEqual(rig.logIn().status, 503)
        expect(ContinuousClock.now - start < .seconds(20))
        try expectEqual(rig.refusals().count, 1)
      }
      let rig = try await LoginRig()
      try await rig.webhook.stop()
      #expect(try await rig.logIn().status == 503)
      #expect(try rig.refusals().first?.reason?.contains("127.0.0.1") == true)
    }

    @Test func `a wish of the webhook's to wait is passed on`() async throws {
      let rig = try await LoginRig { _ in .answer(429, ["Retry-After: 77"], "") }
      let answer = try await rig.logIn()
      #expect(answer.status == 503)
      #expect(answer.retrySeconds == 77)
    }

    @Test func `the webhook is asked about application, provider, token and device key, and nothing else`()
      async throws
    {
      let rig = try await LoginRig()
      let key = DeviceKey()
      #expect(try await rig.logIn(key).status == 200)
      let request = try #require(rig.webhook.requests.first)
      #expect(request.path == "/hook")
      #expect(
        try JSON.parse(request.body)
          == .map([
            "appID": .string("garage"), "provider": .string("tests"), "token": .string("ann's token"),
            "deviceKey": .string("\(key.peerKey)"),
          ]))
    }

    @Test func `damaged bytes of an answer never grant what it does not say`() async throws {
      let right = Array(LoginRig.grant.utf8)
      var generator = SeededGenerator(seed: 37)
      for _ in 0..<2_000 {
        var bytes = right
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
          let place = Int.random(in: bytes.indices, using: &generator)
          switch Int.random(in: 0..<3, using: &generator) {
          case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
          case 1: bytes.remove(at: place)
          default: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
          }
        }
        guard case .granted(let claims) = LoginVerdict(json: bytes) else { continue }
        // It is right JSON in the strict form still.
        guard case .map(let fields)? = try? JSON.parse(bytes) else {
          Issue.record("\(String(decoding: bytes, as: UTF8.self))")
          continue
        }
        expectEqual(fields["authenticated"], .bool(true))
        expectEqual(fields["userID"], .string(claims.userID))
      }
    }
  }
#endif
