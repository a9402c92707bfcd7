#if TLS
  import CRDTCore
  import DocStore
  import Foundation
  import SyncProtocol
  import TestKit
  import Testing

  @testable import Links
  @testable import Transports

  /// Revocation lists in networks: they spread over each connection, and end sessions where they arrive.
  @Suite(.timeLimit(.minutes(15))) struct RevocationNetworkTests {
    private let rig: RevocationRig

    init() throws { rig = try RevocationRig() }

    private func peer(
      _ name: String, _ key: DeviceKey = DeviceKey(), _ credentials: PeerCredentials? = nil,
      telling interval: Duration = .seconds(600)
    ) throws -> TestPeer {
      var options = StoreOptions()
      options.siteOfSalt = { (salt, _) throws(StoreError) in key.peerKey.site(salt: salt) }
      let peer = try TestPeer(name, storeOptions: options) {
        $0.requiresProof = true
        $0.revocationInterval = interval
      }
      peer.network.prove(with: try credentials ?? rig.credentials(key, user: name))
      peer.network.subscribe(to: try everything("things"))
      return peer
    }

    private func connect(_ dialing: TestPeer, _ listening: TestPeer) throws {
      try listening.network.start()
      let port = try listening.network.listeningPorts.first ?? #require(try listening.network.listen())
      dialing.network.connect(host: "127.0.0.1", port: port)
      try dialing.network.start()
    }

    private func wait(until condition: () throws -> Bool) async throws {
      while try !condition() { try await Task.sleep(for: .milliseconds(2)) }
    }

    /// Waits for the end of a connection to a key, and checks that it was for the revocation.
    private func waitForEnd(of key: PeerKey, _ events: AsyncStream<NetworkEvent>) async {
      for await event in events {
        guard case .disconnected(let connection, let end) = event, connection.identity?.key == key else {
          continue
        }
        expectEqual(end.linkCode, .revoked, "\(end)")
        break
      }
    }

    @Test func `a list reaches all peers of a chain, ends a session at its end, and who was away gets it`()
      async throws
    {
      let thiefKey = DeviceKey()
      let (first, middle, last) = (try peer("first"), try peer("middle"), try peer("last"))
      let (thief, away) = (try peer("thief", thiefKey), try peer("away"))
      try connect(first, middle)
      try connect(last, middle)
      try connect(thief, last)
      try await last.wait(forPeers: ["middle", "thief"])
      try await middle.wait(forPeers: ["first", "last"])
      let events = last.network.events()
      let list = try rig.list(rig.entries(0..<1_200) + [rig.entry(.key(thiefKey.peerKey))])
      #expect(try first.network.addRevocations(list).changed.count == 1)
      await waitForEnd(of: thiefKey.peerKey, events)
      for peer in [first, middle, last] {
        expect(peer.network.revocations.contains(thiefKey.peerKey))
        expectEqual(peer.network.revocations.status.lists.map(\.count), [1_201])
      }
      // The thief goes to a device that has not heard of it yet, and which then meets one that has.
      let meeting = away.network.events()
      try connect(thief, away)
      await waitForPeer(thiefKey.peerKey, meeting)
      try connect(away, last)
      await waitForEnd(of: thiefKey.peerKey, meeting)
      // Others go on: a later list extends the first one.
      let more = try rig.list([rig.entry(.user("nobody", issuedBefore: 5))], after: list)
      _ = try away.network.addRevocations(more)
      try await wait { first.network.revocations.status.lists.map(\.number) == [2] }
      try await first.fill("things", 0..<3)
      try await away.wait { try away.documents("things").count == 3 }
      #expect(try thief.documents("things").isEmpty)
      for peer in [first, middle, last, away, thief] { await peer.end() }
    }

    @Test func `neighbours hear again and again which lists are held, in one session`() async throws {
      let (first, second) = (try peer("first", telling: .milliseconds(20)), try peer("second"))
      _ = try first.network.addRevocations(rig.list([]))
      let (confirmed, signal) = AsyncStream.makeStream(of: Bool.self)
      second.network.onRevocations { signal.yield($0.isConfirmed) }
      try connect(first, second)
      var count = 0
      for await isConfirmed in confirmed where isConfirmed {
        count += 1
        if count == 4 { break }
      }
      #expect(count == 4)
      for peer in [first, second] { await peer.end() }
    }

    private func waitForPeer(_ key: PeerKey, _ events: AsyncStream<NetworkEvent>) async {
      for await event in events {
        guard case .connected(let connection) = event, connection.identity?.key == key else { continue }
        break
      }
    }

    enum Named: CaseIterable { case key, certificate, user }

    @Test(arguments: Named.allCases, [true, false])
    func `a running session of what is named ends, and a later certificate of its user is good`(
      _ named: Named, _ isByRoot: Bool
    ) async throws {
      let key = DeviceKey()
      let certificate = try rig.intermediate.issue(
        for: key.peerKey, user: "ann", validity: rig.validity)
      let credentials = try PeerCredentials(
        key: key, certificate: certificate, trusted: rig.authority.trusted)
      let (hub, ann) = (try peer("hub"), try peer("ann", key, credentials))
      let events = hub.network.events()
      try connect(ann, hub)
      await waitForPeer(key.peerKey, events)
      let facts = try #require(CertificateFacts(certificate.chain, below: rig.authority.trusted))
      let start = Int64(rig.validity.lowerBound.timeIntervalSince1970)
      let subject: RevocationEntry.Subject =
        switch named {
        case .key: .key(key.peerKey)
        case .certificate:
          .certificate(issuer: rig.intermediate.hash, serialNumber: facts.name.serialNumber)
        case .user: .user("ann", issuedBefore: start + 1)
        }
      _ = try hub.network.addRevocations(
        rig.list([rig.entry(subject)], by: isByRoot ? rig.authority : rig.intermediate))
      await waitForEnd(of: key.peerKey, events)
      guard named != .key else {
        for peer in [hub, ann] { await peer.end() }
        return
      }
      let later = try rig.authority.issue(
        for: key.peerKey, user: "ann", validity: rig.validity.lowerBound + 60..<rig.validity.upperBound)
      ann.network.prove(
        with: try PeerCredentials(key: key, certificate: later, trusted: rig.authority.trusted))
      await waitForPeer(key.peerKey, events)
      for peer in [hub, ann] { await peer.end() }
    }

    @Test func `who lists are for is told, and the session says so first`() async throws {
      let (hub, ann) = (try peer("hub"), try peer("ann"))
      _ = try hub.network.addRevocations(rig.list([]))
      try connect(ann, hub)
      try await wait { ann.network.revocations.status.lists.map(\.count) == [0] }
      #expect(ann.network.revocations.heads == hub.network.revocations.heads)
      for peer in [hub, ann] { await peer.end() }
    }

    @Test func `a peer that is held sends and takes nothing and confirms nothing, until it is released`()
      async throws
    {
      let key = DeviceKey()
      var options = StoreOptions()
      options.siteOfSalt = { (salt, _) throws(StoreError) in key.peerKey.site(salt: salt) }
      let held = try TestPeer("held", storeOptions: options) {
        $0.requiresProof = true
        $0.canHold = true
      }
      held.network.prove(with: try rig.credentials(key))
      held.network.subscribe(to: try everything("things"))
      let ann = try peer("ann")
      _ = try held.network.addRevocations(rig.list([]))
      #expect(held.network.hold(true))
      #expect(!held.network.hold(true))
      try await held.fill("things", 0..<3)
      try await ann.fill("things", 10..<13)
      try connect(ann, held)
      try await held.wait(forPeers: ["ann"])
      try await ann.wait(forPeers: ["held"])
      // Whatever is sent in answer to a list comes before what is sent later.
      _ = try ann.network.addRevocations(rig.list([], by: rig.intermediate))
      try await wait { held.network.revocations.status.lists.count == 2 }
      #expect(try held.documents("things").count == 3)
      #expect(try ann.documents("things").count == 3)
      #expect(ann.network.revocations.status.lists.count == 1)
      held.network.subscribe(to: try everything("things"))
      #expect(held.network.hold(false))
      try await held.wait { try held.documents("things").count == 6 }
      try await ann.wait { try ann.documents("things").count == 6 }
      try await wait { ann.network.revocations.status.lists.count == 2 }
      for peer in [held, ann] { await peer.end() }
    }

    @Test func `with a shared key no list is exchanged, and peers sync`() async throws {
      let secret = (0..<32).map { UInt8($0) &* 11 | 0x81 }
      func shared(_ name: String) throws -> TestPeer {
        let key = DeviceKey()
        return try peer(
          name, key, try PeerCredentials(sharedKey: secret, application: "test", key: key))
      }
      let (hub, ann) = (try shared("hub"), try shared("ann"))
      let list = try rig.list(rig.entries(0..<1))
      let error = #expect(throws: LinkError.self) { try hub.network.addRevocations(list) }
      #expect(error?.code == .credentials)
      hub.network.revocations.load([HeldRevocations(list: list)])
      try connect(ann, hub)
      try await hub.fill("things", 0..<3)
      try await ann.wait { try ann.documents("things").count == 3 }
      #expect(ann.network.revocations.status.lists.isEmpty)
      for peer in [hub, ann] { await peer.end() }
    }

    @Test func `a peer that sends what was not asked for is disconnected`() async throws {
      let key = DeviceKey()
      let (hub, hostile) = (try peer("hub"), try peer("hostile", key))
      let events = hub.network.events()
      try connect(hostile, hub)
      await waitForPeer(key.peerKey, events)
      let message = RevocationMessage.head(token: 1, try rig.list([]).head.bytes).bytes
      hostile.network.tellNeighbours { message }
      for await event in events {
        guard case .disconnected(_, let end) = event else { continue }
        expectEqual(end.sessionCode, .malformed, "\(end)")
        break
      }
      #expect(hub.network.revocations.heads == nil)
      for peer in [hub, hostile] { await peer.end() }
    }
  }
#endif
