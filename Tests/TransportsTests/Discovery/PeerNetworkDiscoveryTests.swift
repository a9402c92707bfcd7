import CRDTCore
import DocStore
import TestKit
import Testing

@testable import Transports

@Suite(.timeLimit(.minutes(15))) struct PeerNetworkDiscoveryTests {
  private let board = DiscoveryBoard()

  private func peer(_ name: String, appID: String = "test") throws -> TestPeer {
    let peer = try TestPeer(name, appID: appID) { options in
      options.candidateBackoff = Backoff(initial: .milliseconds(5), longest: .milliseconds(50))
    }
    peer.network.subscribe(to: try everything("things"))
    return peer
  }

  private func discover(_ peer: TestPeer) throws {
    try peer.network.discover(using: board, host: "127.0.0.1")
  }

  @Test func `neighbours find each other and sync, over one connection`() async throws {
    let (left, right) = (try peer("left"), try peer("right"))
    try await left.fill("things", 0..<100)
    for peer in [left, right] {
      try discover(peer)
      expectEqual(board.advertised.count, peer === left ? 0 : 1)
      try peer.network.start()
      while board.advertised.count < (peer === left ? 1 : 2) { await pause() }
    }
    try await right.wait(with: left) { try right.documents("things") == left.documents("things") }
    try await left.wait(forPeers: ["right"])
    try await right.wait(forPeers: ["left"])
    // The one with the greater instance would have dialed by now, and sees that it need not.
    try await Task.sleep(for: CandidateBook.crossingDelay + .milliseconds(100))
    #expect(left.network.connections.count == 1 && right.network.connections.count == 1)
    await left.end()
    await right.end()
    #expect(board.advertised.isEmpty)
  }

  @Test func `peers of another application are strangers`() async throws {
    let (left, right) = (try peer("left"), try peer("right", appID: "another"))
    for peer in [left, right] {
      try discover(peer)
      try peer.network.start()
    }
    while board.advertised.count < 2 { await pause() }
    let tags = Set(board.advertised.map { $0.tag(5) })
    #expect(tags.count == 2)
    await left.end()
    await right.end()
  }

  @Test func `a peer that is said to be gone keeps its connection, and is dialed no more after that`()
    async throws
  {
    let (left, right) = (try peer("left"), try peer("right"))
    for peer in [left, right] {
      try discover(peer)
      try peer.network.start()
    }
    try await left.wait(forPeers: ["right"])
    right.network.stopDiscovering()
    while board.advertised.count > 1 { await pause() }
    try await left.fill("things", 0..<3)
    try await right.wait { try right.documents("things").count == 3 }
    await right.network.stop()
    try await left.wait { $0.isEmpty }
    try right.network.start()
    try await left.fill("things", 3..<5)
    #expect(left.network.connections.isEmpty)
    // Asked for again, it is found again.
    try discover(right)
    try await right.wait { try right.documents("things").count == 5 }
    await left.end()
    await right.end()
  }

  @Test func `a peer that restarts is found again, as another instance`() async throws {
    let (left, right) = (try peer("left"), try peer("right"))
    for peer in [left, right] {
      try discover(peer)
      try peer.network.start()
    }
    try await left.wait(forPeers: ["right"])
    let before = Set(board.advertised.map(\.instance))
    await right.network.stop()
    try await left.wait { $0.isEmpty }
    try right.network.start()
    try await left.wait(forPeers: ["right"])
    while board.advertised.count < 2 { await pause() }
    #expect(Set(board.advertised.map(\.instance)).intersection(before).count == 1)
    await left.end()
    await right.end()
  }

  @Test func `a store with a new site is advertised as another instance`() async throws {
    let left = try peer("left")
    try discover(left)
    try left.network.start()
    while board.advertised.isEmpty { await pause() }
    let before = board.advertised.map(\.instance)
    try await left.store.renewSite(.cloned)
    while board.advertised.map(\.instance) == before || board.advertised.isEmpty { await pause() }
    let secret = DiscoverySecret.unsafeDevelopment(application: "test")
    #expect(board.advertised.allSatisfy { secret.isInstance($0.instance, of: left.store.site) })
    await left.end()
  }

  @Test func `candidates that lead nowhere keep nobody from being found`() async throws {
    let (left, right) = (try peer("left"), try peer("right"))
    let taken = try await TCPListener.bind()
    let port = taken.port
    await taken.close()
    try discover(left)
    try left.network.start()
    while board.advertised.isEmpty { await pause() }
    let endpoint = try #require(PeerCandidate.Endpoint(host: "127.0.0.1", port: port))
    for number in 0..<3 {
      board.tellAll(.found(PeerCandidate(id: "zzz\(number)", endpoints: [endpoint])))
    }
    board.tellAll(.found(PeerCandidate(id: "zzzz", endpoints: [])))
    try discover(right)
    try right.network.start()
    try await left.wait(forPeers: ["right"])
    await left.end()
    await right.end()
  }

  @Test func `what the application offers is dialed, and no more when it is withdrawn`() async throws {
    let (left, right) = (try peer("left"), try peer("right"))
    try left.network.start()
    let port = try #require(try left.network.listen())
    let endpoint = try #require(PeerCandidate.Endpoint(host: "127.0.0.1", port: port))
    right.network.offer(PeerCandidate(id: "by name", endpoints: [endpoint]))
    try right.network.start()
    try await right.wait(forPeers: ["left"])
    // A restart of the other end is no reason to forget it.
    await left.network.stop()
    try await right.wait { $0.isEmpty }
    right.network.withdraw(candidate: "by name")
    let again = PeerNetwork(setup: left.setup)
    _ = try again.listen(port: port)
    try again.start()
    #expect(right.network.connections.isEmpty)
    right.network.offer(PeerCandidate(id: "by another name", endpoints: [endpoint]))
    try await right.wait(forPeers: ["left"])
    await again.stop()
    await left.end()
    await right.end()
  }

  @Test func `conditions are values and events, and go when nobody looks any more`() async throws {
    let left = try peer("left")
    let events = left.network.events()
    try discover(left)
    try left.network.start()
    while board.advertised.isEmpty { await pause() }
    board.tellAll(.conditions([.noMulticast]))
    #expect(left.network.conditions == [.noMulticast])
    left.network.stopDiscovering()
    var seen: [Set<TransportCondition>] = []
    for await event in events {
      if case .conditions(let conditions) = event { seen.append(conditions) }
      if seen.count == 2 { break }
    }
    #expect(seen == [[.noMulticast], []])
    #expect(left.network.conditions.isEmpty)
    await left.end()
  }

  @Test func `a port that is taken is an error, and nothing is advertised`() async throws {
    let taken = try await TCPListener.bind()
    let left = try peer("left")
    try left.network.start()
    let error = await linkError {
      try left.network.discover(using: board, host: "127.0.0.1", port: taken.port)
    }
    #expect(error?.code == .portInUse)
    try discover(left)
    while board.advertised.isEmpty { await pause() }
    await left.end()
    await taken.close()
  }

  #if TLS
    @Test func `a peer that has yet to prove who it is advertises nothing`() async throws {
      let left = try TestPeer("left") { $0.requiresProof = true }
      try discover(left)
      try left.network.start()
      let key = (0..<32).map { UInt8(truncatingIfNeeded: 3 &+ $0 &* 7) }
      #expect(board.advertised.isEmpty)
      let credentials = try PeerCredentials(sharedKey: key, application: "test", key: DeviceKey())
      left.network.prove(with: credentials)
      while board.advertised.isEmpty { await pause() }
      let tag = credentials.discoverySecret.tag(ofDay: 5)
      #expect(board.advertised.map { $0.tag(5) } == [tag])
      await left.end()
    }
  #endif

  @Test func `a port of which neighbours are told is listened on again when it was closed`()
    async throws
  {
    let peer = try peer("peer")
    let shared = ListeningAddress(host: "127.0.0.1", port: 0, scheme: LinkSchemes.standard)
    try peer.network.start()
    let port = try #require(try peer.network.listen(on: shared))
    try peer.network.discover(using: board, host: "127.0.0.1", port: port)
    while board.advertised.isEmpty { await pause() }
    #expect(peer.network.listeningPorts == [port])
    peer.network.stopListening(on: shared)
    #expect(peer.network.listeningPorts.isEmpty)
    try peer.network.renewDiscovery()
    while board.advertised.map(\.port) != [port] { await pause() }
    #expect(peer.network.listeningPorts == [port])
    await peer.end()
  }
}
