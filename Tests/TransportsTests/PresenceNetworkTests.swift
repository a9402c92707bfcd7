import CRDTCore
import DocStore
import NIOConcurrencyHelpers
import SyncProtocol
import TestKit
import Testing
import Transports

@Suite(.timeLimit(.minutes(15))) struct PresenceNetworkTests {
  private func peer(
    _ name: String, kind: PeerKind = .small, absence: Duration = .seconds(5)
  ) throws -> TestPeer {
    try TestPeer(name, kind: kind) { options in
      options.device = PeerNetwork.Device(name: name, system: "test system", release: "1.2")
      options.absence = absence
    }
  }

  private func connect(_ dialing: TestPeer, _ listening: TestPeer) throws {
    try listening.network.start()
    let port = try #require(try listening.network.listeningPorts.first ?? listening.network.listen())
    dialing.network.connect(host: "127.0.0.1", port: port)
    try dialing.network.start()
  }

  /// Waits until what is known of the neighbours is as it should be, looking after each event.
  private func wait(
    for peer: TestPeer, _ events: AsyncStream<NetworkEvent>, until holds: ([Neighbour]) -> Bool
  ) async {
    if holds(peer.network.neighbours) { return }
    for await _ in events where holds(peer.network.neighbours) { return }
  }

  @Test func `who observes learns what a neighbour is, and each change, and nobody else does`() async throws {
    let (left, right) = (try peer("left"), try peer("right"))
    try right.network.tell(metadata: ["room": .string("galley")])
    let (events, others) = (left.network.events(), right.network.events())
    let observation = left.network.observePresence()
    try connect(left, right)
    await wait(for: left, events) { $0.first?.presence?.metadata == ["room": .string("galley")] }
    let neighbour = try #require(left.network.neighbours.first)
    #expect(neighbour.presence?.deviceName == "right" && neighbour.presence?.system == "test system")
    #expect(neighbour.presence?.release == "1.2" && neighbour.presence?.reachesBigPeer == false)
    #expect(neighbour.presence?.site == right.store.site && neighbour.id == right.store.site)
    #expect(neighbour.connections.map(\.direction) == [.outgoing])
    try right.network.tell(metadata: ["room": .string("cockpit")])
    await wait(for: left, events) { $0.first?.presence?.metadata == ["room": .string("cockpit")] }
    let version = try #require(left.network.neighbours.first?.presence?.version)
    #expect(version > (neighbour.presence?.version ?? .none))
    // The other one never asked.
    await wait(for: right, others) { $0.count == 1 }
    #expect(right.network.neighbours.map(\.presence) == [nil])
    observation.cancel()
    await left.end()
    await right.end()
  }

  @Test func `a device says whether it is connected to a big peer`() async throws {
    let (device, other, cloud) = (try peer("device"), try peer("other"), try peer("cloud", kind: .big))
    let events = other.network.events()
    let observation = other.network.observePresence()
    try connect(other, device)
    await wait(for: other, events) { $0.first?.presence?.reachesBigPeer == false }
    try connect(device, cloud)
    await wait(for: other, events) { $0.first?.presence?.reachesBigPeer == true }
    await cloud.end()
    await wait(for: other, events) { $0.first?.presence?.reachesBigPeer == false }
    observation.cancel()
    await device.end()
    await other.end()
  }

  @Test func `a neighbour that leaves stays for the stated time, and goes then`() async throws {
    let (left, right) = (try peer("left", absence: .milliseconds(300)), try peer("right"))
    let events = left.network.events()
    try connect(left, right)
    await wait(for: left, events) { $0.count == 1 }
    await right.end()
    var course: [String] = []
    for await event in events {
      switch event {
      case .disconnected(let connection, _) where connection.peer != nil:
        course.append("disconnected")
        expectEqual(left.network.neighbours.map(\.connections.count), [0])
      case .left(let peer):
        course.append("left")
        expect(peer.name == "right" && left.network.neighbours.isEmpty)
      default: continue
      }
      if course.last == "left" { break }
    }
    #expect(course == ["disconnected", "left"])
    await left.end()
  }

  @Test func `however many peers come and go, one task waits to forget them`() async throws {
    let clock = ManualClock()
    let peer = try TestPeer("peer", clock: TransportClock(clock)) { $0.absence = .seconds(5) }
    try peer.network.start()
    let events = peer.network.events()
    for number in 1...40 as ClosedRange<UInt64> {
      let hand = HandPeer(.outgoing, to: peer.network)
      try await hand.sayHello(as: SiteID(high: 7, low: number))
      _ = try await hand.hear(.hello)
      hand.hangUp()
    }
    await wait(for: peer, events) { $0.count == 40 && $0.allSatisfy(\.connections.isEmpty) }
    try await peer.wait { _ in clock.sleeperCount == 1 }
    clock.advance(by: .seconds(5))
    await wait(for: peer, events, until: \.isEmpty)
    await peer.end()
  }

  @Test func `one that comes back in time never left`() async throws {
    let (left, right) = (try peer("left", absence: .seconds(3_600)), try peer("right"))
    let events = left.network.events()
    try connect(left, right)
    await wait(for: left, events) { $0.first?.connections.count == 1 }
    let port = try #require(right.network.listeningPorts.first)
    await right.network.stop()
    await wait(for: left, events) { $0.first?.connections.isEmpty == true }
    try right.network.listen(port: port)
    try right.network.start()
    await wait(for: left, events) { $0.first?.connections.count == 1 }
    #expect(left.network.neighbours.count == 1)
    // Whoever is waited for does not keep the network from its end.
    await right.end()
    await wait(for: left, events) { $0.first?.connections.isEmpty == true }
    await left.end()
    #expect(left.network.neighbours.isEmpty)
  }

  @Test func `more than the limit is refused, and what was told before stays`() async throws {
    let peer = try peer("peer")
    try peer.network.tell(metadata: ["a": .int(1)])
    let failure = #expect(throws: SyncError.self) {
      try peer.network.tell(metadata: ["a": .string(String(repeating: "x", count: 5_000))])
    }
    #expect(failure?.code == .limit && failure?.message.contains("4096") == true)
    #expect(peer.network.ownPresence.metadata == ["a": .int(1)])
    await peer.end()
  }

  @Test func `a signature that is not right ends the session`() async throws {
    let peer = try peer("peer")
    try peer.network.start()
    let observation = peer.network.observePresence()
    let site = SiteID(high: 7, low: 7)
    func say(_ signature: [UInt8]) async throws -> HandPeer.Goodbye? {
      let hand = HandPeer(.outgoing, to: peer.network)
      try await hand.sayHello(as: site)
      _ = try await hand.hear(.presenceWanted)
      let presence = PeerPresence(
        site: site, version: .init(start: 1, number: 1), kind: .small, deviceName: "hand", system: "",
        release: "", reachesBigPeer: false)
      let signed = SignedPresence(presence) { (_: [UInt8]) in signature }
      try await hand.say(.presence) { signed.encode(to: &$0) }
      if signature.isEmpty {
        await wait(for: peer, peer.network.events()) { $0.first?.presence?.deviceName == "hand" }
        hand.hangUp()
        return nil
      }
      return try await hand.hearBye()
    }
    // Who proves nothing signs nothing.
    #expect(try await say([1, 2, 3])?.code == "malformed")
    #expect(try await say([]) == nil)
    observation.cancel()
    await peer.end()
  }

  @Test func `a store that takes a new site tells of that`() async throws {
    let (left, right) = (try peer("left"), try peer("right"))
    let events = left.network.events()
    let observation = left.network.observePresence()
    try connect(left, right)
    await wait(for: left, events) { $0.first?.presence?.site == right.store.site }
    let former = right.store.site
    try await right.store.renewSite(.cloned)
    await wait(for: left, events) { $0.contains { $0.presence?.site == right.store.site } }
    #expect(right.store.site != former)
    try right.network.tell(metadata: ["a": .int(1)])
    await wait(for: left, events) { $0.contains { $0.presence?.metadata == ["a": .int(1)] } }
    observation.cancel()
    await left.end()
    await right.end()
  }

  @Test func `what others could not read is refused`() async throws {
    let peer = try peer("peer")
    var value = Value.int(1)
    for _ in 0..<200 { value = .map(["a": value]) }
    let failure = #expect(throws: SyncError.self) { try peer.network.tell(metadata: ["a": value]) }
    #expect(failure?.code == .limit)
    await peer.end()
  }

  @Test func `a closed network tells of its end and does not start again`() async throws {
    let peer = try peer("peer")
    try peer.network.start()
    let events = peer.network.events()
    peer.network.close()
    for await _ in events {}
    for await _ in peer.network.events() {}
    #expect(throws: LinkError.self) { try peer.network.start() }
    await peer.end()
  }

  // MARK: - Requests

  @Test(arguments: [PeerConnection.Direction.incoming, .outgoing])
  func `the application decides about connections of either direction`(
    _ direction: PeerConnection.Direction
  ) async throws {
    let (deciding, other) = (try peer("deciding"), try peer("other"))
    let requests = NIOLockedValueBox<[ConnectionRequest]>([])
    deciding.network.decideConnections { request in
      requests.withLockedValue {
        $0.append(request)
        return $0.count > 2
      }
    }
    let events = other.network.events()
    if direction == .incoming { try connect(other, deciding) } else { try connect(deciding, other) }
    var reasons: [SyncError.Code?] = []
    for await event in events {
      guard case .disconnected(_, .session(let error)) = event else { continue }
      reasons.append(error.code)
      if reasons.count == 2 { break }
    }
    // Who was dialed had said hello already, and learns the reason in words.
    let expected = direction == .incoming ? SyncError.Code.denied : .peerClosed
    #expect(reasons == [expected, expected])
    try await deciding.wait(forPeers: ["other"])
    let first = try #require(requests.withLockedValue { $0.first })
    #expect(first.peer.name == "other" && first.direction == direction && first.endpoint.kind == "tcp")
    await deciding.end()
    await other.end()
  }

  @Test func `an application that does not answer denies, and holds nobody up`() async throws {
    let clock = ManualClock()
    let deciding = try TestPeer("deciding", clock: TransportClock(clock))
    let other = try peer("other")
    let (asked, continuation) = AsyncStream.makeStream(of: Void.self)
    let (ended, end) = AsyncStream.makeStream(of: Void.self)
    deciding.network.decideConnections { _ in
      continuation.yield()
      while !Task.isCancelled { await pause() }
      end.yield()
      return true
    }
    let events = other.network.events()
    try connect(other, deciding)
    for await _ in asked { break }
    // The alarm may be set a moment after the question.
    let passing = Task {
      while !Task.isCancelled {
        clock.advance(by: PeerNetwork.decisionDeadline)
        await pause()
      }
    }
    for await event in events {
      guard case .disconnected(_, .session(let error)) = event else { continue }
      expectEqual(error.code, .denied)
      break
    }
    // Nobody waits for an answer any more that came too late.
    for await _ in ended { break }
    await other.end()
    await deciding.end()
    passing.cancel()
  }

  @Test func `a peer that is full says so`() async throws {
    let hub = try TestPeer("hub") { $0.limits = ConnectionLimits(sessions: 1) }
    let (first, second) = (try peer("first"), try peer("second"))
    try connect(first, hub)
    try await hub.wait(forPeers: ["first"])
    let events = second.network.events()
    try connect(second, hub)
    for await event in events {
      guard case .disconnected(_, .session(let error)) = event else { continue }
      expectEqual(error.code, .full)
      expect(error.message.contains("1 of 1 sessions are in use"), "\(error)")
      break
    }
    for peer in [first, second, hub] { await peer.end() }
  }

  @Test func `connections that wait for an application are limited, and the refusal says how`() async throws {
    let hub = try TestPeer("hub") { $0.limits.undecidedByOrigin = 2 }
    let (asked, continuation) = AsyncStream.makeStream(of: Void.self)
    hub.network.decideConnections { _ in
      continuation.yield()
      while !Task.isCancelled { await pause() }
      return false
    }
    let waiting = [try peer("first"), try peer("second")]
    var questions = asked.makeAsyncIterator()
    for peer in waiting {
      try connect(peer, hub)
      _ = await questions.next(isolation: #isolation)
    }
    let last = try peer("last")
    let events = last.network.events()
    try connect(last, hub)
    for await event in events {
      guard case .disconnected(_, .session(let error)) = event else { continue }
      expectEqual(error.code, .full)
      expect(
        error.message.contains("2 connections from this address wait for the application's"), "\(error)")
      expect(error.message.contains("denied after 8"), "\(error)")
      break
    }
    for peer in waiting + [last, hub] { await peer.end() }
  }
}
