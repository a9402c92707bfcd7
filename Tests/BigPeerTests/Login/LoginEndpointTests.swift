#if Server
  import BigPeer
  import CRDTCore
  import Foundation
  import Links
  import LoginKit
  import TestKit
  import Testing

  /// The login endpoint without a network, with a webhook.
  @Suite(.timeLimit(.minutes(15))) struct LoginEndpointTests {
    /// Checks what a login has given as a device does.
    private func grant(_ answer: LoginAnswer, _ key: DeviceKey, _ rig: LoginRig) async throws -> LoginGrant {
      try #require(answer.status == 200, "\(answer)")
      return try await LoginGrant(
        checking: try #require(answer.text("certificate")), authority: answer.text("authority"),
        for: LoginClient.Device(application: "garage", key: key, authority: rig.authority.trusted),
        clock: LoginGrant.Clock(now: { rig.clock.now }))
    }

    @Test func `a good token gives a certificate of the intermediate authority, for the user and the time`()
      async throws
    {
      let rig = try await LoginRig { _ in
        .answer(
          200, ["Content-Type: application/json; charset=utf-8"],
          LoginRig.grant.replacing(
            "\"userID\"",
            with:
              "\"clientInfo\": [1, {\"a\": null}], \"identityServiceMetadata\": {\"role\": \"driver\"}, \"userID\""
          ))
      }
      let key = DeviceKey()
      let answer = try await rig.logIn(key)
      let certificate = try await grant(answer, key, rig).certificate
      #expect(certificate.user == "ann")
      #expect(certificate.proof == .online)
      #expect(certificate.information == ["role": .string("driver")])
      #expect(certificate.validUntil == rig.clock.now + 3_600)
      #expect(certificate.validFrom <= rig.clock.now - 299)
      #expect(answer.text("certificate")?.components(separatedBy: "BEGIN CERT").count == 3)
      #expect(answer.text("authority") == (try rig.authority.trusted.pem))
      #expect(answer.fields["clientInfo"] == .array([.int(1), .map(["a": .null])]))
      #expect(Set(answer.fields.keys) == ["certificate", "authority", "clientInfo"])
      let issue = try #require(try rig.issues().first)
      #expect(issue.kind == .issued)
      #expect(issue.user == "ann")
      #expect(issue.deviceKey == "\(key.peerKey)")
      #expect(issue.provider == "tests")
      #expect(issue.source == "10.0.0.1")
      #expect(issue.serialNumber == certificate.serialNumber)
      #expect(issue.validUntil == certificate.validUntil)
      #expect(try rig.refusals().isEmpty)
    }

    @Test
    func `a certificate ends with the longest time that is allowed, and with the intermediate authority`()
      async throws
    {
      let long = LoginRig.grant.replacing("3600", with: "31622400")
      let rig = try await LoginRig(longestValidity: .seconds(7_200)) { _ in
        .answer(200, ["Content-Type: application/json"], long)
      }
      let key = DeviceKey()
      #expect(
        try await grant(try await rig.logIn(key), key, rig).certificate.validUntil == rig.clock.now + 7_200)
      let short = try await LoginRig(intermediate: 600, longestValidity: .seconds(7_200))
      #expect(
        try await grant(try await short.logIn(key), key, short).certificate.validUntil == short.clock.now
          + 600)
      short.advance(by: .seconds(601))
      let answer = try await short.logIn(key)
      #expect(answer.status == 503)
      #expect(answer.fields == ["message": .string("the login service cannot answer now")])
      #expect(try short.refusals().first?.reason?.contains("has ended at") == true)
    }

    @Test func `the log says once a day that the intermediate authority ends soon`() async throws {
      let (soon, late) = (
        try await LoginRig(intermediate: 13 * 86_400), try await LoginRig(intermediate: 864_000 * 2)
      )
      func warnings(_ rig: LoginRig) -> Int {
        rig.log.all.count { $0.contains("The intermediate authority ends at") }
      }
      for _ in 0..<3 { _ = try await soon.logIn() }
      #expect(warnings(soon) == 1)
      soon.advance(by: .seconds(86_401))
      for _ in 0..<3 { _ = try await soon.logIn() }
      #expect(warnings(soon) == 2)
      _ = try await late.logIn()
      #expect(warnings(late) == 0)
    }

    @Test func `no token stands in the log, the audit log, or an answer`() async throws {
      let secret = "a-very-secret-token"
      for status in [200, 401, 500] {
        let rig = try await LoginRig { _ in
          .answer(status, ["Content-Type: application/json"], LoginRig.grant)
        }
        let answer = try await rig.logIn(token: secret)
        expect(!"\(answer)".contains(secret))
        expect(!rig.log.all.joined().contains(secret))
        expect(!rig.storage.text.contains(secret))
        expectEqual(rig.webhook.requests.count, 1)
      }
    }

    // MARK: - Proofs

    @Test func `a login that is repeated is refused, and the webhook is not asked again`() async throws {
      let rig = try await LoginRig()
      let key = DeviceKey()
      let body = try rig.request(key, challenge: try await rig.challenge(key))
      #expect(await rig.endpoint.login(body, from: LoginOrigin("10.0.0.1")).status == 200)
      for _ in 0..<3 {
        await expectEqual(
          rig.endpoint.login(body, from: LoginOrigin("10.0.0.2")).status, 409)
      }
      #expect(rig.webhook.requests.count == 1)
      #expect(
        try rig.refusals().map(\.reason) == Array(repeating: "the challenge was answered before", count: 3))
      // Of many at once, one is good.
      let second = try rig.request(key, challenge: try await rig.challenge(key))
      let statuses = await withTaskGroup(of: Int.self) { tasks in
        for _ in 0..<8 {
          tasks.addTask { await rig.endpoint.login(second, from: LoginOrigin("10.0.0.3")).status }
        }
        return await tasks.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses.sorted() == [200] + Array(repeating: 409, count: 7))
    }

    @Test func `a challenge is good for a minute, for its key, and at its endpoint`() async throws {
      let (rig, other) = (try await LoginRig(), try await LoginRig())
      let (key, thief) = (DeviceKey(), DeviceKey())
      let old = try await rig.challenge(key)
      rig.advance(by: .seconds(61))
      let challenge = try await rig.challenge(key)
      for (challenge, key) in [
        (old, key), (challenge, thief), (try await other.challenge(key), key),
        (String(repeating: "0", count: 80), key), ("", key), ("challenge", key),
        (String(challenge.dropLast()), key), (challenge + "00", key),
        (challenge.replacing(/^./, with: challenge.first == "0" ? "1" : "0"), key),
      ] {
        let body = try rig.request(key, challenge: challenge)
        await expectEqual(rig.endpoint.login(body, from: LoginOrigin("10.0.0.1")).status, 409, "\(challenge)")
      }
      #expect(rig.webhook.requests.isEmpty)
      #expect(
        await rig.endpoint.login(try rig.request(key, challenge: challenge), from: LoginOrigin("10.0.0.1"))
          .status
          == 200)
    }

    @Test func `a wrong proof is refused before the webhook is asked, and is audited`() async throws {
      let rig = try await LoginRig()
      let (key, thief) = (DeviceKey(), DeviceKey())
      func changed(_ change: (inout [TextKey: Value]) -> Void) async throws -> [UInt8] {
        let body = try rig.request(key, challenge: try await rig.challenge(key))
        guard case .map(var fields) = try JSON.parse(body) else { return body }
        change(&fields)
        return Array(JSON.text(of: .map(fields)).utf8)
      }
      let elsewhere = try rig.request(
        key, challenge: try await rig.challenge(key), url: "https://login.example.com/other")
      for (body, status) in [
        (elsewhere, 403),
        (try await changed { $0["token"] = .string("bob's token") }, 403),
        (try await changed { $0["provider"] = .string("others") }, 403),
        (try await changed { $0["signature"] = .string("AAAA") }, 403),
        (try await changed { $0["signature"] = .string("") }, 403),
        (try await changed { $0["application"] = .string("another") }, 400),
        // The challenge is for another key.
        (try await changed { $0["deviceKey"] = .string("\(thief.peerKey)") }, 409),
      ] {
        await expectEqual(rig.endpoint.login(body, from: LoginOrigin("10.0.0.9")).status, status)
      }
      #expect(rig.webhook.requests.isEmpty)
      let refusals = try rig.refusals()
      #expect(refusals.count == 7)
      #expect(refusals.allSatisfy { $0.source == "10.0.0.9" && $0.deviceKey != nil && $0.reason != nil })
      #expect(try rig.issues().isEmpty)
    }

    @Test func `what is no request is refused, saying what is wrong with it`() async throws {
      let rig = try await LoginRig()
      for body in ["", "{", "[]", "{\"version\": 2}", String(repeating: "[", count: 70_000)] {
        await expectEqual(
          rig.endpoint.login(Array(body.utf8), from: LoginOrigin("10.0.0.1")).status, 400,
          "\(body.prefix(20))")
        await expectEqual(
          rig.endpoint.challenge(Array(body.utf8), from: LoginOrigin("10.0.0.1")).status, 400,
          "\(body.prefix(20))")
      }
      let key = "\(DeviceKey().peerKey)"
      for (fields, part) in [
        (
          ["version": .int(1), "application": .string("other"), "deviceKey": .string(key)],
          "another application"
        ),
        (["version": .int(1), "application": .string("garage"), "deviceKey": .string("00")], "deviceKey"),
        (["version": .int(1), "application": .string("garage")], "deviceKey"),
        (["version": .string("1"), "application": .string("garage"), "deviceKey": .string(key)], "version"),
      ] as [([TextKey: Value], String)] {
        let answer = await rig.endpoint.challenge(
          Array(JSON.text(of: .map(fields)).utf8), from: LoginOrigin("10.0.0.1"))
        expectEqual(answer.status, 400)
        expectEqual(answer.text("message")?.contains(part), true)
      }
    }

    // MARK: - Limits

    @Test func `an address that asks too often waits, and others do not`() async throws {
      let rig = try await LoginRig(
        limits: .changed {
          $0.requestsByAddress = 4
          $0.requestsPerSecondByAddress = 1
        })
      for _ in 0..<2 { try await expectEqual(rig.logIn(from: "10.0.0.1").status, 200) }
      for _ in 0..<5 {
        let answer = await rig.endpoint.challenge([], from: LoginOrigin("10.0.0.1"))
        expectEqual(answer.status, 429)
        expectEqual(answer.retrySeconds, 1)
      }
      #expect(await rig.endpoint.login([], from: LoginOrigin("10.0.0.1")).status == 429)
      #expect(try await rig.logIn(from: "10.0.0.2").status == 200)
      // One entry a minute, however often it asks.
      #expect(try rig.refusals().map(\.source) == ["10.0.0.1"])
      rig.advance(by: .seconds(2))
      #expect(try await rig.logIn(from: "10.0.0.1").status == 200)
      #expect(await rig.endpoint.challenge([], from: LoginOrigin("10.0.0.1")).status == 429)
      rig.advance(by: .seconds(60))
      for _ in 0..<5 { _ = await rig.endpoint.challenge([], from: LoginOrigin("10.0.0.1")) }
      #expect(try rig.refusals().count == 2)
    }

    @Test func `refusals without a proof are audited to a rate, and then counted once a minute`() async throws
    {
      let rig = try await LoginRig(limits: .changed { $0.requestsByAddress = 100_000 })
      let key = DeviceKey()
      let body = try rig.request(key, challenge: String(repeating: "0", count: 80))
      func refuse(_ count: Int) async {
        for _ in 0..<count {
          await expectEqual(rig.endpoint.login(body, from: LoginOrigin("10.0.0.1")).status, 409)
        }
      }
      func summaries() throws -> [String] {
        try rig.refusals().filter { $0.deviceKey == nil }.compactMap(\.reason)
      }
      await refuse(500)
      #expect(try rig.refusals().count == 201)
      #expect(try summaries().count == 1)
      #expect(try summaries()[0].hasSuffix("entries of their own: 1"))
      // What is proved is audited still, and good logins are granted.
      try await rig.revocations.revoke(key.peerKey)
      #expect(try await rig.logIn(key).status == 403)
      #expect(try await rig.logIn().status == 200)
      #expect(try rig.refusals().last?.reason == "this device's key is revoked")
      // One more may come each 100 ms, and after a minute the others are counted.
      rig.advance(by: .milliseconds(100))
      await refuse(2)
      #expect(try rig.refusals().count == 203)
      rig.advance(by: .seconds(60))
      await refuse(1)
      #expect(try summaries().count == 2)
      #expect(try summaries()[1].hasSuffix("entries of their own: 300"))
      #expect(rig.endpoint.figures[.proof] == 503)
    }

    @Test func `refusals of devices with keys of their own making are audited to a rate too`() async throws {
      let rig = try await LoginRig(limits: .changed { $0.requestsByAddress = 100_000 })
      rig.webhook.answer { request in
        let isGood = String(decoding: request.body, as: UTF8.self).contains("ann's token")
        return isGood
          ? .answer(200, ["Content-Type: application/json"], LoginRig.grant)
          : .answer(401, ["Content-Type: application/json"], "{}")
      }
      for number in 0..<250 {
        try await expectEqual(rig.logIn(token: "junk", from: "10.0.\(number).1").status, 401)
      }
      #expect(try rig.refusals().count == 201)
      #expect(rig.endpoint.figures[.token] == 250)
      // Those of whom more or less is known have a rate of their own, and issues have none.
      let body = try rig.request(DeviceKey(), challenge: String(repeating: "0", count: 80))
      #expect(await rig.endpoint.login(body, from: LoginOrigin("10.0.0.1")).status == 409)
      #expect(try rig.refusals().count == 202)
      #expect(try await rig.logIn().status == 200)
    }

    @Test func `each way in which a request can end is counted`() async throws {
      let rig = try await LoginRig(
        limits: .changed {
          ($0.requestsByAddress, $0.requestsPerSecondByAddress) = (2, 1)
          ($0.loginsByUser, $0.loginsPerHourByUser) = (1, 1)
        })
      func json(_ status: Int, _ text: String) {
        rig.webhook.answer { _ in .answer(status, ["Content-Type: application/json"], text) }
      }
      #expect(try await rig.logIn(from: "10.0.1.1").status == 200)
      #expect(try await rig.logIn(from: "10.0.1.2").status == 429)
      json(401, "{}")
      #expect(try await rig.logIn(from: "10.0.1.3").status == 401)
      json(
        200,
        LoginRig.grant.replacing(
          "\"write\": {\"everything\": true", with: "\"write\": {\"everything\": false"))
      #expect(try await rig.logIn(from: "10.0.1.4").status == 403)
      json(500, "")
      #expect(try await rig.logIn(from: "10.0.1.5").status == 503)
      let key = DeviceKey()
      try await rig.revocations.revoke(key.peerKey)
      #expect(try await rig.logIn(key, from: "10.0.1.6").status == 403)
      #expect(await rig.endpoint.login([], from: LoginOrigin("10.0.1.7")).status == 400)
      #expect(await rig.endpoint.challenge([], from: LoginOrigin("10.0.1.7")).status == 400)
      #expect(await rig.endpoint.challenge([], from: LoginOrigin("10.0.1.7")).status == 429)
      let body = try rig.request(DeviceKey(), challenge: "unknown")
      #expect(await rig.endpoint.login(body, from: LoginOrigin("10.0.1.8")).status == 409)
      #expect(
        rig.endpoint.figures == [
          .granted: 1, .user: 1, .token: 1, .permissions: 1, .fault: 1, .revoked: 1, .malformed: 2, .flood: 1,
          .proof: 1,
        ])
      #expect(Set(rig.endpoint.figures.keys) == Set(LoginOutcome.allCases))
    }

    @Test func `a user who logs in too often waits, from whichever address and device`() async throws {
      let rig = try await LoginRig(
        limits: .changed {
          $0.loginsByUser = 3
          $0.loginsPerHourByUser = 60
        })
      for place in 0..<3 { try await expectEqual(rig.logIn(from: "10.0.1.\(place)").status, 200) }
      let answer = try await rig.logIn(from: "10.0.0.4")
      #expect(answer.status == 429)
      #expect(answer.retrySeconds == 60)
      #expect(try rig.refusals().map(\.user) == ["ann"])
      rig.webhook.answer { _ in
        .answer(
          200, ["Content-Type: application/json"],
          LoginRig.grant.replacing("\"ann\"", with: "\"bob\""))
      }
      #expect(try await rig.logIn().status == 200)
      rig.webhook.answer { _ in .answer(200, ["Content-Type: application/json"], LoginRig.grant) }
      rig.advance(by: .seconds(60))
      #expect(try await rig.logIn().status == 200)
      #expect(try await rig.logIn().status == 429)
    }

    @Test func `a slow webhook is asked so many questions at a time, and others are told to come again`()
      async throws
    {
      let held = Handed<@Sendable (HTTPSServer.Reply) -> Void>()
      let rig = try await LoginRig(webhookTime: .seconds(60), limits: .changed { $0.questions = 2 }) { _ in
        .later { held.send($0) }
      }
      let logins = (0..<2).map { place in Task { try await rig.logIn(from: "10.0.1.\(place)") } }
      let answers = await held.next(2)
      let refused = try await rig.logIn()
      #expect(refused.status == 503)
      #expect(refused.retryAfter != nil)
      for answer in answers { answer(.answer(200, ["Content-Type: application/json"], LoginRig.grant)) }
      for login in logins { try await expectEqual(login.value.status, 200) }
      rig.webhook.answer { _ in .answer(200, ["Content-Type: application/json"], LoginRig.grant) }
      #expect(try await rig.logIn().status == 200)
    }

    // MARK: - The audit log

    @Test func `without an audit log no certificate is issued`() async throws {
      let rig = try await LoginRig()
      let key = DeviceKey()
      let body = try rig.request(key, challenge: try await rig.challenge(key))
      rig.storage.fails = true
      let answer = await rig.endpoint.login(body, from: LoginOrigin("10.0.0.1"))
      #expect(answer.status == 503)
      #expect(answer.fields == ["message": .string("the login service cannot answer now")])
      #expect(rig.log.all.contains { $0.contains("audit log") })
      rig.storage.fails = false
      #expect(try rig.issues().isEmpty)
      #expect(try await rig.logIn(key).status == 200)
    }

    // MARK: - Revocation

    @Test func `a revoked key gets no certificate, and the webhook is not asked`() async throws {
      let rig = try await LoginRig()
      let (key, other) = (DeviceKey(), DeviceKey())
      #expect(try await rig.logIn(key).status == 200)
      #expect(try await rig.revocations.revoke(key.peerKey, source: "admin", reason: "stolen"))
      #expect(rig.ended == [key.peerKey])
      let answer = try await rig.logIn(key)
      #expect(answer.status == 403)
      #expect(answer.text("message") == "this device's key is revoked")
      #expect(rig.webhook.requests.count == 1)
      #expect(try await rig.logIn(other).status == 200)
      #expect(try rig.issues().map(\.kind) == [.issued, .revoked, .issued])
      #expect(try rig.issues()[1].reason == "stolen")
      #expect(try rig.issues()[1].source == "admin")
    }

    @Test func `a key that is revoked while the webhook is asked gets no certificate`() async throws {
      let held = Handed<@Sendable (HTTPSServer.Reply) -> Void>()
      let rig = try await LoginRig(webhookTime: .seconds(60)) { _ in .later { held.send($0) } }
      let key = DeviceKey()
      let login = Task { try await rig.logIn(key) }
      let answer = try #require(await held.next(1).first)
      try await rig.revocations.revoke(key.peerKey)
      answer(.answer(200, ["Content-Type: application/json"], LoginRig.grant))
      #expect(try await login.value.status == 403)
      #expect(try rig.issues().map(\.kind) == [.revoked])
    }
  }
#endif
