import CRDTCore
import DocStore
import NIOCore
import SyncProtocol
import TestKit
import Testing
import Transports

/// How many connections a network keeps, and whose.
@Suite(.timeLimit(.minutes(15))) struct ConnectionLimitsTests {
  /// Connects so many peers that nobody knows, each of which has been let in.
  private func strangers(
    _ count: Int, to peer: TestPeer, from address: String = "hand"
  ) async throws -> [HandPeer] {
    var strangers: [HandPeer] = []
    for _ in 0..<count {
      let stranger = HandPeer(.outgoing, to: peer.network, at: address)
      try await stranger.sayHello(as: .random(), name: "stranger")
      try await expect(stranger.hear(.hello) != nil)
      strangers.append(stranger)
    }
    return strangers
  }

  @Test func `a network keeps as many connections as it says`() {
    let limits = ConnectionLimits()
    #expect(limits.halfOpenByAddress == 16 && limits.halfOpen == 512)
    #expect(limits.arrivalsByAddress == 512 && limits.arrivalsByAddressPerSecond == 128)
    #expect(limits.sessions == 256 && limits.strangers == 192)
    #expect(ConnectionLimits(sessions: 1).strangers == 1)
  }

  @Test func `a peer of many sessions has room for all that come back at once from one address`() {
    let limits = ConnectionLimits(sessions: 2_000)
    #expect(limits.halfOpenByAddress == 125 && limits.halfOpen == 2_000 && limits.knownPeers == 2_000)
    #expect(limits.arrivalsByAddress == 4_000 && limits.arrivalsByAddressPerSecond == 1_000)
    #expect(limits.sessions == 2_000 && limits.strangers == 1_500)
  }

  @Test func `connections count for their address until hello, and again when their session is over`()
    async throws
  {
    let peer = try TestPeer("peer") { $0.limits.halfOpenByAddress = 2 }
    try peer.network.start()
    let port = try #require(try peer.network.listen())
    let silent = [try await HandPeer(dialing: port), try await HandPeer(dialing: port)]
    try await peer.wait { $0.count == 2 }
    #expect(((try? await HandPeer(dialing: port).hear()) ?? nil) == nil)
    var met: [HandPeer] = []
    for _ in 0..<4 {
      let other = met.isEmpty ? silent[0] : try await HandPeer(dialing: port)
      try await other.sayHello(as: .random())
      try await expect(other.hear(.hello) != nil)
      met.append(other)
    }
    // It says why the session ends, and waits for these to hang up: they count.
    for other in met.prefix(2) {
      try await other.sayHello(as: .random())
      try await expect(other.hear(.bye) != nil)
      let end = try await other.hear()
      expect(end == nil)
    }
    #expect(((try? await HandPeer(dialing: port).hear()) ?? nil) == nil)
    await peer.end()
  }

  @Test func `an IPv4 address and half of an IPv6 address is one origin, and all together are limited`()
    throws
  {
    var limits = ConnectionLimits()
    limits.halfOpenByAddress = 1
    limits.halfOpen = 3
    let connections = HalfOpenConnections(limits)
    func enter(_ address: String) throws -> HalfOpenPlace? {
      connections.enter(from: ConnectionOrigin(try SocketAddress(ipAddress: address, port: 1)))
    }
    let first = try #require(try enter("10.0.0.1"))
    #expect(try enter("10.0.0.1") == nil && enter("::ffff:10.0.0.1") == nil)
    let second = try #require(try enter("2001:db8:0:1::1"))
    #expect(try enter("2001:db8:0:1:ffff::2") == nil)
    let third = try #require(try enter("2001:db8:0:2::1"))
    #expect(try enter("::ffff:10.0.0.2") == nil)
    #expect(connections.count == 3)
    second.leave()
    second.leave()
    #expect(try enter("::ffff:10.0.0.2") != nil)
    second.comeBack()
    #expect(connections.count == 4)
    for place in [first, second, third] { place.end() }
    second.comeBack()
    #expect(connections.count == 1)
  }

  /// How a peer comes to be known.
  enum Acquaintance: CaseIterable {
    case wrote, read, wroteBeforeRestart, readBeforeRestart
  }

  @Test(arguments: Acquaintance.allCases)
  func `strangers leave room for peers that are known`(_ acquaintance: Acquaintance) async throws {
    let (peer, friend) = (try TestPeer("peer"), try TestPeer("friend"))
    var options = PeerNetwork.Options()
    options.limits = ConnectionLimits(sessions: 4)
    var network = PeerNetwork(setup: peer.setup, options: options)
    try network.start()
    try friend.network.start()
    func connect() {
      // From where the strangers come.
      let links = MemoryLink.pair(names: ("peer", "hand"))
      network.adopt(links.0, direction: .incoming)
      friend.network.adopt(links.1, direction: .outgoing)
    }
    connect()
    switch acquaintance {
    case .wrote, .wroteBeforeRestart:
      network.subscribe(to: try everything("things"))
      try await friend.fill("things", 0..<1)
      try await peer.wait { try peer.documents("things").count == 1 }
    case .read, .readBeforeRestart:
      friend.network.subscribe(to: try everything("things"))
      try await peer.fill("things", 0..<1)
      try await friend.wait { try friend.documents("things").count == 1 }
    }
    await friend.network.stop()
    while !network.connections.isEmpty { await pause() }
    if acquaintance == .wroteBeforeRestart || acquaintance == .readBeforeRestart {
      await network.stop()
      network = PeerNetwork(setup: peer.setup, options: options)
      try network.start()
    }
    try friend.network.start()
    var strangers: [HandPeer] = []
    for number in 0..<5 {
      let stranger = HandPeer(.outgoing, to: network)
      try await stranger.sayHello(as: .random(), name: "stranger")
      if number < 3 {
        try await expect(stranger.hear(.hello) != nil)
        strangers.append(stranger)
      } else {
        // Refused with a reason, and told by whom.
        try await expectEqual(stranger.hearBye(), HandPeer.Goodbye(code: "full", site: peer.store.site))
      }
    }
    connect()
    if acquaintance == .readBeforeRestart {
      try await friend.wait { $0.isEmpty }
    } else {
      try await friend.wait(forPeers: ["peer"])
    }
    #expect(strangers.count == 3)
    await network.stop()
    await friend.end()
    await peer.end()
  }

  @Test
  func `when there is no room left the oldest stranger gives way to a known peer, and none to a stranger`()
    async throws
  {
    let peer = try TestPeer("peer") { options in
      options.limits = ConnectionLimits(sessions: 3)
      options.limits.strangers = 3
    }
    try peer.network.start()
    peer.network.subscribe(to: try everything("things"))
    let friends = [try TestPeer("one"), try TestPeer("other"), try TestPeer("third"), try TestPeer("fourth")]
    func connect(_ friend: TestPeer) {
      let links = MemoryLink.pair()
      peer.network.adopt(links.0, direction: .incoming)
      friend.network.adopt(links.1, direction: .outgoing)
    }
    for (id, friend) in friends.enumerated() {
      try await friend.fill("things", id..<id + 1)
      try friend.network.start()
      connect(friend)
      try await peer.wait { try peer.documents("things").count == id + 1 }
      await friend.network.stop()
      try await peer.wait { $0.isEmpty }
      try friend.network.start()
    }
    let strangers = try await strangers(3, to: peer)
    let late = HandPeer(.outgoing, to: peer.network)
    try await late.sayHello(as: .random())
    #expect(try await late.hearBye()?.code == "full")
    for (stranger, friend) in zip(strangers, friends) {
      connect(friend)
      try await expectEqual(stranger.hearBye(), HandPeer.Goodbye(code: "full", site: nil))
      try await friend.wait(forPeers: ["peer"])
    }
    try await peer.wait(forPeers: ["one", "other", "third"])
    // All are known now.
    connect(friends[3])
    try await friends[3].wait { $0.isEmpty }
    try await peer.wait(forPeers: ["one", "other", "third"])
    for friend in friends { await friend.end() }
    await peer.end()
  }

  @Test func `a stranger takes the place of one from an address that has more of them`() async throws {
    let peer = try TestPeer("peer") { $0.limits = ConnectionLimits(sessions: 4) }
    try peer.network.start()
    let many = try await strangers(3, to: peer, from: "many")
    _ = try await strangers(1, to: peer, from: "other")
    #expect(try await many[0].hearBye()?.code == "full")
    // Two from one address and one from another: one more makes neither of them fairer.
    for address in ["many", "other"] {
      let late = HandPeer(.outgoing, to: peer.network, at: address)
      try await late.sayHello(as: .random())
      try await expectEqual(late.hearBye()?.code, "full")
    }
    _ = try await strangers(1, to: peer, from: "third")
    #expect(try await many[1].hearBye()?.code == "full")
    await peer.end()
  }

  @Test func `a stranger that has moved documents takes no stranger's place any more`() async throws {
    let (peer, reader) = (
      try TestPeer("peer") { $0.limits = ConnectionLimits(sessions: 4) }, try TestPeer("reader")
    )
    for peer in [peer, reader] { try peer.network.start() }
    try await peer.fill("things", 0..<1)
    reader.network.subscribe(to: try everything("things"))
    let links = MemoryLink.pair()
    peer.network.adopt(links.0, direction: .incoming)
    reader.network.adopt(links.1, direction: .outgoing)
    try await reader.wait { try reader.documents("things").count == 1 }
    while peer.network.connections.first?.statistics.documentsSent == 0 { await pause() }
    let strangers = try await strangers(3, to: peer)
    #expect(strangers.count == 3)
    try await peer.wait { $0.count == 4 }
    await peer.end()
    await reader.end()
  }

  @Test func `the peers that are known for what they read are remembered up to a limit`() async throws {
    let peer = try TestPeer("peer") { options in
      options.limits = ConnectionLimits(sessions: 2)
      options.limits.strangers = 1
      options.limits.knownPeers = 1
    }
    try await peer.fill("things", 0..<1)
    try peer.network.start()
    let readers = [try TestPeer("one"), try TestPeer("other")]
    func connect(_ reader: TestPeer) throws {
      try reader.network.start()
      let links = MemoryLink.pair()
      peer.network.adopt(links.0, direction: .incoming)
      reader.network.adopt(links.1, direction: .outgoing)
    }
    for reader in readers {
      reader.network.subscribe(to: try everything("things"))
      try connect(reader)
      try await reader.wait { try reader.documents("things").count == 1 }
      await reader.network.stop()
      try await peer.wait { $0.isEmpty }
    }
    let stranger = try await strangers(1, to: peer)
    try connect(readers[0])
    try await readers[0].wait { $0.isEmpty }
    try connect(readers[1])
    try await readers[1].wait(forPeers: ["peer"])
    #expect(stranger.count == 1)
    for reader in readers { await reader.end() }
    await peer.end()
  }

  @Test func `what this peer dials is never refused for want of room`() async throws {
    let peer = try TestPeer("peer") { $0.limits = ConnectionLimits(sessions: 1) }
    try peer.network.start()
    for _ in 0..<3 {
      let dialed = HandPeer(.incoming, to: peer.network)
      try await dialed.sayHello(as: .random())
    }
    try await peer.wait { connections in connections.count { $0.peer != nil } == 3 }
    let other = HandPeer(.outgoing, to: peer.network)
    try await other.sayHello(as: .random())
    #expect(try await other.hearBye()?.code == "full")
    await peer.end()
  }

  /// Claims of two peers that are connected, the last of which is one too many.
  @Test(
    arguments: [(\.claimsByPeer, [0, 0, 1, 0]), (\.claims, [0, 1, 0])]
      as [(any WritableKeyPath<ConnectionLimits, Int> & Sendable, [Int])])
  func `so many links wait for whether a peer is gone`(
    _ limit: any WritableKeyPath<ConnectionLimits, Int> & Sendable, _ claims: [Int]
  ) async throws {
    let clock = ManualClock()
    let peer = try TestPeer("peer", clock: TransportClock(clock)) { options in
      options.limits = ConnectionLimits()
      options.limits[keyPath: limit] = 2
    }
    try peer.network.start()
    let sites = [SiteID.random(), .random()]
    var (first, waiting): ([HandPeer], [HandPeer]) = ([], [])
    for site in sites {
      first.append(HandPeer(.outgoing, to: peer.network))
      try await first[first.count - 1].sayHello(as: site)
      _ = try await first[first.count - 1].hear(.hello)
    }
    for claim in claims.dropLast() {
      let other = HandPeer(.outgoing, to: peer.network)
      try await other.sayHello(as: sites[claim])
      waiting.append(other)
      try await peer.wait {
        $0.count == 2 + waiting.count && $0.allSatisfy { $0.statistics.bytesReceived > 0 }
      }
    }
    let last = HandPeer(.outgoing, to: peer.network)
    try await last.sayHello(as: sites[0])
    #expect(try await last.hearBye() == HandPeer.Goodbye(code: "siteClash", site: peer.store.site))
    // The peer is asked, and does not answer: who came first takes its place.
    #expect(try await first[0].hear(.ping) != nil)
    clock.advance(by: .seconds(2))
    #expect(try await waiting[0].hear(.hello) != nil)
    for other in first + waiting { other.hangUp() }
    await peer.end()
  }
}
