#if TLS
  import CRDTCore
  import DocStore
  import Foundation
  import LoginKit
  import SyncProtocol
  import TestKit
  import Testing

  @testable import Links
  @testable import Transports

  /// What peers prove themselves with changes while they sync.
  @Suite(.timeLimit(.minutes(15))) struct RenewedCredentialsTests {
    private let authority: PeerAuthority
    private let leftKey = DeviceKey()
    private let rightKey = DeviceKey()
    private let clock = WallClock()

    init() throws {
      authority = try PeerAuthority(application: "test", validity: Date() - 100..<Date() + 1_000)
    }

    private func credentials(_ key: DeviceKey, _ user: String = "ann", for seconds: TimeInterval = 900) throws
      -> PeerCredentials
    {
      let certificate = try authority.issue(
        for: key.peerKey, user: user, validity: clock.now - 60..<clock.now + seconds)
      return try PeerCredentials(
        key: key, certificate: certificate, trusted: authority.trusted, now: { [clock] in clock.now })
    }

    private func peer(_ name: String, _ key: DeviceKey) throws -> TestPeer {
      var options = StoreOptions()
      options.siteOfSalt = { (salt, _) throws(StoreError) in key.peerKey.site(salt: salt) }
      return try TestPeer(name, storeOptions: options) { $0.requiresProof = true }
    }

    private func connect(_ dialing: TestPeer, _ listening: TestPeer) throws {
      for peer in [dialing, listening] { peer.network.subscribe(to: try everything("things")) }
      try listening.network.start()
      let port = try #require(try listening.network.listen())
      dialing.network.connect(host: "127.0.0.1", port: port)
      try dialing.network.start()
    }

    @Test func `a peer dials once it has what it can prove itself with`() async throws {
      let (left, right) = (try peer("left", leftKey), try peer("right", rightKey))
      left.network.prove(with: try credentials(leftKey))
      try await left.fill("things", 0..<3)
      let events = left.network.events()
      try connect(right, left)
      #expect(right.network.connections.isEmpty)
      right.network.prove(with: try credentials(rightKey))
      try await right.wait { try right.documents("things").count == 3 }
      // The first thing that happens is that they meet: nothing was tried before.
      for await event in events {
        guard case .connected = event else {
          Issue.record("\(event)")
          continue
        }
        break
      }
      await left.end()
      await right.end()
    }

    @Test func `a session goes on when a certificate is renewed, and is made anew when the former one ends`()
      async throws
    {
      let (left, right) = (try peer("left", leftKey), try peer("right", rightKey))
      // The certificate lasts as long as the interval in which the link reads the clock. The clock does not
      // move until the test moves it.
      left.network.prove(with: try credentials(leftKey, for: 1))
      right.network.prove(with: try credentials(rightKey))
      try connect(right, left)
      try await right.wait(forPeers: ["left"])
      let first = right.network.connections.map(\.id)
      let events = right.network.events()
      let renewed = try credentials(leftKey)
      left.network.prove(with: renewed)
      try await left.fill("things", 0..<3)
      try await right.wait { try right.documents("things").count == 3 }
      #expect(right.network.connections.map(\.id) == first)
      clock.advance(by: 10)
      var hasEnded = false
      for await event in events {
        switch event {
        case .disconnected(let connection, let end):
          expectEqual(first, [connection.id])
          expect(end.linkCode == .expired || end.linkCode == .disconnected, "\(end)")
          hasEnded = true
          continue
        case .connected(let connection):
          expect(hasEnded)
          expectEqual(connection.identity?.validUntil, renewed.validUntil)
        case .attemptFailed, .session, .presence, .left, .conditions: continue
        }
        break
      }
      await left.end()
      await right.end()
    }

    @Test func `another user, and nothing to prove, end sessions at once`() async throws {
      let (left, right) = (try peer("left", leftKey), try peer("right", rightKey))
      left.network.prove(with: try credentials(leftKey))
      right.network.prove(with: try credentials(rightKey))
      try connect(right, left)
      try await right.wait(forConnections: { $0.map(\.identity?.user) == ["ann"] })
      left.network.prove(with: try credentials(leftKey, "bob"))
      try await right.wait(forConnections: { $0.map(\.identity?.user) == ["bob"] })
      right.network.proveNothing()
      try await left.wait(forConnections: { $0.isEmpty })
      right.network.prove(with: try credentials(rightKey, "eve"))
      try await left.wait(forConnections: { $0.map(\.identity?.user) == ["eve"] })
      await left.end()
      await right.end()
    }
  }
#endif
