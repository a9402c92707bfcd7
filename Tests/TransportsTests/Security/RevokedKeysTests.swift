#if TLS
  import CRDTCore
  import DocStore
  import Foundation
  import TestKit
  import Testing

  @testable import Transports

  /// Networks of which one no longer believes a key.
  @Suite(.timeLimit(.minutes(15))) struct RevokedKeysTests {
    private let authority: PeerAuthority
    private let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600)

    init() throws { authority = try PeerAuthority(application: "test", validity: validity) }

    private func peer(_ name: String, _ key: DeviceKey) throws -> TestPeer {
      var options = StoreOptions()
      options.siteOfSalt = { (salt, _) throws(StoreError) in key.peerKey.site(salt: salt) }
      let peer = try TestPeer(name, storeOptions: options) { $0.requiresProof = true }
      let certificate = try authority.issue(for: key.peerKey, user: name, validity: validity)
      peer.network.prove(
        with: try PeerCredentials(key: key, certificate: certificate, trusted: authority.trusted))
      peer.network.subscribe(to: try everything("things"))
      return peer
    }

    private func connect(_ dialing: TestPeer, _ listening: TestPeer) throws {
      try listening.network.start()
      let port = try #require(try listening.network.listen())
      dialing.network.connect(host: "127.0.0.1", port: port)
      try dialing.network.start()
    }

    @Test(arguments: [true, false])
    func `its sessions end, no other begins, and those of others go on`(_ isRevokedDialing: Bool) async throws
    {
      let (hubKey, annKey, bobKey) = (DeviceKey(), DeviceKey(), DeviceKey())
      let (hub, ann, bob) = (try peer("hub", hubKey), try peer("ann", annKey), try peer("bob", bobKey))
      if isRevokedDialing { try connect(ann, hub) } else { try connect(hub, ann) }
      if isRevokedDialing {
        let port = try #require(hub.network.listeningPorts.first)
        bob.network.connect(host: "127.0.0.1", port: port)
        try bob.network.start()
      } else {
        try bob.network.start()
        hub.network.connect(host: "127.0.0.1", port: try #require(try bob.network.listen()))
      }
      try await hub.wait(forPeers: ["ann", "bob"])
      let bobs = hub.network.connections.filter { $0.identity?.key == bobKey.peerKey }.map(\.id)
      let events = hub.network.events()
      hub.network.revoke([annKey.peerKey])
      for await event in events {
        guard case .disconnected(let connection, let end) = event else { continue }
        expectEqual(connection.identity?.key, annKey.peerKey)
        expectEqual(end.linkCode, .revoked, "\(end)")
        break
      }
      // It comes again, and is refused.
      try await ann.fill("things", 0..<3)
      try await bob.fill("things", 10..<12)
      for await event in events {
        guard case .disconnected(let connection, let end) = event else { continue }
        expect(connection.peer == nil)
        expectEqual(end.linkCode, .revoked, "\(end)")
        break
      }
      try await hub.wait { try hub.documents("things").count == 2 }
      #expect(hub.network.connections.filter { $0.peer != nil }.map(\.id) == bobs)
      for peer in [hub, ann, bob] { await peer.end() }
    }

    @Test func `a key that is revoked before sync begins is refused from the first`() async throws {
      let (hubKey, annKey) = (DeviceKey(), DeviceKey())
      let (hub, ann) = (try peer("hub", hubKey), try peer("ann", annKey))
      hub.network.revoke([annKey.peerKey])
      hub.network.revoke([DeviceKey().peerKey])
      let events = hub.network.events()
      try connect(ann, hub)
      for await event in events {
        guard case .disconnected(let connection, let end) = event else { continue }
        expect(connection.peer == nil)
        expectEqual(end.linkCode, .revoked, "\(end)")
        break
      }
      for peer in [hub, ann] { await peer.end() }
    }
  }
#endif
