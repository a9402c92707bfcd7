import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing
import Transports

/// What becomes of a second link to a peer that is connected, or is claimed to be.
@Suite(.timeLimit(.minutes(15))) struct SecondLinkTests {
  /// The names of two peers, the one that dials and the other one.
  private static let pairs = [("dialer", "listener"), ("listener", "dialer")]

  /// A peer whose time stands still, with the limits of every day.
  private func peer(at clock: ManualClock = ManualClock()) throws -> TestPeer {
    try TestPeer("peer", clock: TransportClock(clock)) { $0.limits = ConnectionLimits() }
  }

  private struct Pair {
    let dialer: TestPeer
    let listener: TestPeer
    let port: Int

    func peer(_ name: String) -> TestPeer { name == "dialer" ? dialer : listener }

    func expectSync() async throws {
      for (writer, reader) in [(dialer, listener), (listener, dialer)] {
        let collection = reader === dialer ? "there" : "here"
        reader.network.subscribe(to: try everything(collection))
        try await writer.fill(collection, 0..<5)
        try await reader.wait { try reader.documents(collection).count == 5 }
      }
    }

    func end() async {
      await dialer.end()
      await listener.end()
    }
  }

  private func connectedPair() async throws -> Pair {
    let pair = (dialer: try TestPeer("dialer"), listener: try TestPeer("listener"))
    for peer in [pair.dialer, pair.listener] { try peer.network.start() }
    let port = try #require(try pair.listener.network.listen())
    pair.dialer.network.connect(host: "127.0.0.1", port: port)
    try await pair.dialer.wait(forPeers: ["listener"])
    try await pair.listener.wait(forPeers: ["dialer"])
    return Pair(dialer: pair.dialer, listener: pair.listener, port: port)
  }

  @Test(arguments: pairs)
  func `who dials a peer and claims to be one that is connected is refused`(
    attacked: String, claimed: String
  ) async throws {
    let pair = try await connectedPair()
    let (victim, other) = (pair.peer(attacked), pair.peer(claimed))
    let port = try #require(try victim.network.listen())
    let honest = victim.network.connections.map(\.id)
    let attacker = try await HandPeer(dialing: port)
    try await attacker.sayHello(as: other.store.site)
    #expect(try await attacker.hearBye() == HandPeer.Goodbye(code: "siteClash", site: victim.store.site))
    try await victim.wait(forPeers: [claimed])
    #expect(victim.network.connections.map(\.id) == honest)
    try await pair.expectSync()
    await pair.end()
  }

  @Test(arguments: pairs)
  func `who is dialed by a peer and claims to be one that is connected is refused`(
    attacked: String, claimed: String
  ) async throws {
    let pair = try await connectedPair()
    let (victim, other) = (pair.peer(attacked), pair.peer(claimed))
    let honest = victim.network.connections.map(\.id)
    let trap = try await TCPListener.bind()
    victim.network.connect(host: "127.0.0.1", port: trap.port)
    var links = trap.links.makeAsyncIterator()
    let attacker = HandPeer(try #require(await links.next(isolation: #isolation)))
    #expect(try await attacker.hear(.hello) != nil)
    try await attacker.sayHello(as: other.store.site)
    #expect(try await attacker.hearBye() == HandPeer.Goodbye(code: "siteClash", site: nil))
    try await victim.wait(forPeers: [claimed])
    #expect(victim.network.connections.map(\.id) == honest)
    try await pair.expectSync()
    await pair.end()
    await trap.close()
  }

  @Test func `a peer that comes back is let in as soon as its first link is known to be dead`() async throws {
    let clock = ManualClock()
    let peer = try peer(at: clock)
    let back = try TestPeer("back")
    for peer in [peer, back] { try peer.network.start() }
    let dead = HandPeer(.outgoing, to: peer.network)
    try await dead.sayHello(as: back.store.site, name: "dead")
    #expect(try await dead.hear(.hello) != nil)
    let links = MemoryLink.pair()
    back.network.adopt(links.0, direction: .outgoing)
    peer.network.adopt(links.1, direction: .incoming)
    // It is asked for a sign of life and gives none; nothing is said to the other meanwhile.
    #expect(try await dead.hear(.ping) != nil)
    #expect(back.network.connections.allSatisfy { $0.peer == nil })
    clock.advance(by: .milliseconds(1_999))
    #expect(peer.network.connections.count { $0.peer != nil } == 1)
    clock.advance(by: .milliseconds(1))
    #expect(try await dead.hearBye() == HandPeer.Goodbye(code: "timeout", site: nil))
    try await peer.wait(forPeers: ["back"])
    try await back.wait(forPeers: ["peer"])
    back.network.subscribe(to: try everything("things"))
    try await peer.fill("things", 0..<5)
    try await back.wait { try back.documents("things").count == 5 }
    await back.end()
    await peer.end()
  }

  @Test func `a peer that comes back is let in at once where its first link breaks meanwhile`() async throws {
    let peer = try peer()
    try peer.network.start()
    let site = SiteID.random()
    let (first, second) = (HandPeer(.outgoing, to: peer.network), HandPeer(.outgoing, to: peer.network))
    try await first.sayHello(as: site, name: "first")
    #expect(try await first.hear(.hello) != nil)
    try await second.sayHello(as: site, name: "second")
    #expect(try await first.hear(.ping) != nil)
    first.hangUp()
    #expect(try await second.hear(.hello) != nil)
    try await peer.wait(forPeers: ["second"])
    await peer.end(after: second)
  }

  @Test func `a peer that is asked again and again is pinged four times a second at most`() async throws {
    let clock = ManualClock()
    let peer = try peer(at: clock)
    try peer.network.start()
    let site = SiteID.random()
    let first = HandPeer(.outgoing, to: peer.network)
    try await first.sayHello(as: site)
    #expect(try await first.hear(.hello) != nil)
    let heard = Task {
      defer { first.hangUp() }
      var pings = 0
      while let frame = try await first.hear() {
        guard frame.type == .ping else { continue }
        pings += 1
        try await first.say(.pong) { $0.write(frame.payload) }
      }
      return pings
    }
    for _ in 0..<40 {
      let attacker = HandPeer(.outgoing, to: peer.network)
      try await attacker.sayHello(as: site)
      try await expectEqual(attacker.hearBye()?.code, "siteClash")
      clock.advance(by: .milliseconds(25))
    }
    await peer.network.stop()
    #expect((3...4).contains(try await heard.value))
    await peer.end()
  }

  /// Both have dialed, and each has admitted the other's connection.
  @Test(arguments: [true, false])
  func `where connections cross the one that the smaller site dialed stays`(isHandSmaller: Bool) async throws
  {
    let peer = try peer()
    try peer.network.start()
    let site = isHandSmaller ? SiteID(high: 0, low: 1) : SiteID(high: .max, low: .max)
    let dialed = HandPeer(.incoming, to: peer.network)
    #expect(try await dialed.hear(.hello) != nil)
    let dialing = HandPeer(.outgoing, to: peer.network)
    try await dialing.sayHello(as: site)
    #expect(try await dialing.hear(.hello) != nil)
    try await dialed.sayHello(as: site)
    let loser = isHandSmaller ? dialed : dialing
    #expect(try await loser.hearBye() == HandPeer.Goodbye(code: "closed", site: nil))
    try await peer.wait { connections in
      connections.count == 1 && connections[0].peer != nil
        && connections[0].direction == (isHandSmaller ? .incoming : .outgoing)
    }
    await peer.end(after: dialed, dialing)
  }

  /// A second connection does not replace the first one if the two did not cross.
  ///
  /// It was dialed after the first one was accepted, or its hello comes too late for a call that crosses
  /// another.
  @Test(arguments: [true, false])
  func `a connection that only seems to cross another is refused`(isTooLate: Bool) async throws {
    let clock = ManualClock()
    let peer = try peer(at: clock)
    try peer.network.start()
    // The one that the peer dialed would stay if they had crossed.
    let site = SiteID(high: .max, low: .max)
    let early = HandPeer(.incoming, to: peer.network)
    let first = HandPeer(.outgoing, to: peer.network)
    try await first.sayHello(as: site, name: "first")
    #expect(try await first.hear(.hello) != nil)
    clock.advance(by: isTooLate ? .seconds(6) : .milliseconds(1))
    let dialed = isTooLate ? early : HandPeer(.incoming, to: peer.network)
    try await dialed.sayHello(as: site, name: "dialed")
    let ping = try #require(try await first.hear(.ping))
    try await first.say(.pong) { $0.write(ping) }
    #expect(try await dialed.hearBye() == HandPeer.Goodbye(code: "siteClash", site: nil))
    #expect(peer.network.connections.compactMap { $0.peer?.name } == ["first"])
    await peer.end(after: early, first)
  }

  @Test func `peers that dial each other keep one connection, the same at both ends`() async throws {
    for _ in 0..<20 {
      let (left, right) = (try TestPeer("left"), try TestPeer("right"))
      for peer in [left, right] { try peer.network.start() }
      let leftPort = try #require(try left.network.listen())
      let rightPort = try #require(try right.network.listen())
      left.network.connect(host: "127.0.0.1", port: rightPort)
      right.network.connect(host: "127.0.0.1", port: leftPort)
      left.network.subscribe(to: try everything("things"))
      try await right.fill("things", 0..<5)
      try await left.wait { try left.documents("things").count == 5 }
      try await left.wait(forPeers: ["right"])
      try await right.wait(forPeers: ["left"])
      expect(left.network.connections.first?.direction != right.network.connections.first?.direction)
      await left.end()
      await right.end()
    }
  }

  @Test func `a peer that is dialed at two addresses keeps one connection, and is not dialed again`()
    async throws
  {
    let (peer, dialer) = (try TestPeer("peer"), try TestPeer("dialer"))
    for peer in [peer, dialer] { try peer.network.start() }
    let port = try #require(try peer.network.listen())
    let events = peer.network.events()
    for host in ["127.0.0.1", "localhost"] { dialer.network.connect(host: host, port: port) }
    var (met, refused) = (0, 0)
    loop: for await event in events {
      switch event {
      case .connected: met += 1
      case .disconnected(_, let end):
        expectEqual(end.sessionCode, .siteClash)
        refused += 1
      case .attemptFailed, .session, .presence, .left, .conditions: continue
      }
      if met == 1, refused == 1 { break loop }
    }
    try await peer.wait(forPeers: ["dialer"])
    try await dialer.wait(forPeers: ["peer"])
    // A refused dialer that went on would be back within a few milliseconds.
    dialer.network.subscribe(to: try everything("things"))
    for id in 0..<50 {
      try await peer.fill("things", id..<id + 1)
      try await dialer.wait { try dialer.documents("things").count == id + 1 }
      expect(peer.network.connections.count == 1 && dialer.network.connections.count == 1)
    }
    await peer.end()
    await dialer.end()
  }

  @Test func `who is refused by a peer hears of nothing but the refusal`() async throws {
    let dialer = try TestPeer("dialer")
    try dialer.network.start()
    let events = dialer.network.events()
    let dialed = HandPeer(.incoming, to: dialer.network)
    #expect(try await dialed.hear(.hello) != nil)
    try await dialed.say(.bye) { out in
      out.writeString("limit")
      out.writeString("no room")
      out.write(SiteID.random())
    }
    dialed.hangUp()
    for await event in events {
      guard case .disconnected(let connection, let end) = event else {
        Issue.record("\(event)")
        break
      }
      expect(connection.peer == nil && end.sessionCode == .peerClosed)
      break
    }
    await dialer.end()
  }
}
