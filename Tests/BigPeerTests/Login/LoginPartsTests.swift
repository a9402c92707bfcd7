#if Server
  import BigPeer
  import Links
  import TestKit
  import Testing

  @Suite struct LoginPartsTests {
    @Test func `a challenge is printable, of the right length, and another one each time`() {
      let challenges = LoginChallenges(application: "garage")
      let key = DeviceKey().peerKey
      let made = Set((0..<100).map { _ in challenges.make(for: key, at: .zero) })
      #expect(made.count == 100)
      for challenge in made {
        expect((16...LoginRequest.challengeBytes).contains(challenge.utf8.count))
        expect(challenge.utf8.allSatisfy { (0x21..<0x7F).contains($0) })
      }
    }

    @Test func `a challenge is good once, for its key, its application and its time`() {
      let (one, other) = (LoginChallenges(application: "garage"), LoginChallenges(application: "garage"))
      let key = DeviceKey().peerKey
      let challenge = one.make(for: key, at: .seconds(5))
      #expect(other.take(challenge, for: key, at: .seconds(5)) == .unknown)
      #expect(one.take(challenge, for: DeviceKey().peerKey, at: .seconds(5)) == .unknown)
      #expect(one.take(challenge, for: key, at: .seconds(65)) == .outOfDate)
      #expect(one.take(challenge, for: key, at: .milliseconds(64_999)) == .good)
      #expect(one.take(challenge, for: key, at: .milliseconds(64_999)) == .used)
      // It is forgotten after its end, and is out of date then.
      #expect(one.take(challenge, for: key, at: .seconds(100)) == .outOfDate)
    }

    @Test func `no digit of a challenge may be another`() {
      let challenges = LoginChallenges(application: "garage")
      let key = DeviceKey().peerKey
      let challenge = Array(challenges.make(for: key, at: .zero))
      for place in challenge.indices {
        var changed = challenge
        changed[place] = changed[place] == "0" ? "1" : "0"
        expectEqual(challenges.take(String(changed), for: key, at: .zero), .unknown)
      }
      #expect(challenges.take(String(challenge), for: key, at: .zero) == .good)
    }
  }
#endif
