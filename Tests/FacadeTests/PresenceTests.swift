import DunlinKit
import Synchronization
import TestKit
import Testing

@Suite(.timeLimit(.minutes(15))) struct PresenceTests {
  private struct Seat: Codable, Equatable { var number: Int, crew: [String] }

  let tablet: Peer
  let phone: Peer

  init() throws {
    tablet = try Peer("tablet")
    phone = try Peer("phone")
  }

  /// The first graph that holds, of those that come.
  private func graph(
    of peer: Peer, where holds: (DunlinPresenceGraph) throws -> Bool
  ) async throws -> DunlinPresenceGraph {
    for await graph in peer.dunlin.presence.graphs where try holds(graph) { return graph }
    throw CancellationError()
  }

  @Test func `a peer sees itself, and what others tell of themselves`() async throws {
    try phone.dunlin.presence.setPeerMetadata(["seat": ["number": 7, "crew": ["ann"]], "note": nil])
    try tablet.connect(to: phone)
    let graph = try await graph(of: tablet) { $0.remotePeers.first?.metadata.isEmpty == false }
    #expect(graph.localPeer.deviceName == "tablet" && graph.localPeer.connections.isEmpty)
    let peer = try #require(graph.remotePeers.first)
    #expect(peer.deviceName == "phone" && peer.version == Dunlin.version && !peer.system.isEmpty)
    #expect(peer.id == phone.dunlin.presence.graph.localPeer.id && peer.peerKey == nil)
    #expect(peer.connections.map(\.kind) == ["tcp"] && !peer.isConnectedToBigPeer)
    #expect((peer.metadata["seat"] as? [String: Any?])?["number"] as? Int == 7)
    #expect(peer.metadata.keys.contains("note"))
    // Whole types go in and come out.
    try phone.dunlin.presence.setPeerMetadata(Seat(number: 8, crew: ["bob", "eve"]))
    let next = try await self.graph(of: tablet) { graph in
      (try? graph.remotePeers.first?.metadata(as: Seat.self))?.number == 8
    }
    #expect(try next.remotePeers.first?.metadata() == Seat(number: 8, crew: ["bob", "eve"]))
  }

  @Test func `metadata that are too large or no values are refused by name`() throws {
    let presence = tablet.dunlin.presence
    try presence.setPeerMetadata(["a": 1])
    let tooLarge = #expect(throws: DunlinError.self) {
      try presence.setPeerMetadata(["a": String(repeating: "x", count: 5_000)])
    }
    #expect(tooLarge?.code == .limit)
    let noValue = #expect(throws: DunlinError.self) { try presence.setPeerMetadata(["a": ["b": tablet]]) }
    #expect(noValue?.code == .unsupportedValue && noValue?.message.contains("a.b") == true)
    #expect(presence.peerMetadata["a"] as? Int == 1)
  }

  @Test func `an observer is called with each change, and no more once it is cancelled`() async throws {
    let events = Events<[String]>()
    let observer = tablet.dunlin.presence.observe { events.send($0.remotePeers.map(\.deviceName)) }
    try tablet.connect(to: phone)
    #expect(await events.next(2) == [[], ["phone"]])
    observer.cancel()
    phone.dunlin.stopSync()
    _ = try await graph(of: tablet) { $0.remotePeers.allSatisfy(\.connections.isEmpty) }
  }

  @Test func `the application decides who connects`() async throws {
    let asked = Events<DunlinConnectionRequest>()
    let allows = Mutex(false)
    phone.dunlin.presence.connectionRequestHandler = { request in
      asked.send(request)
      return allows.withLock { $0 } ? .allow : .deny
    }
    try tablet.connect(to: phone)
    let requests = await asked.next(2)
    #expect(requests.map(\.deviceName) == ["tablet", "tablet"] && requests.allSatisfy(\.isIncoming))
    #expect(requests.map(\.connectionKind) == ["tcp", "tcp"])
    #expect(phone.dunlin.presence.graph.remotePeers.isEmpty)
    allows.withLock { $0 = true }
    _ = try await graph(of: tablet) { $0.remotePeers.map(\.deviceName) == ["phone"] }
    #expect(phone.dunlin.presence.connectionRequestHandler != nil)
    phone.dunlin.presence.connectionRequestHandler = nil
    #expect(phone.dunlin.presence.connectionRequestHandler == nil)
  }

  @Test func `a closed database is kept by no handler of its own`() throws {
    let directory = try TemporaryDirectory()
    weak var closed: Dunlin?
    do {
      let dunlin = try Dunlin(path: directory.file("db"), identity: .unsafeDevelopment(appID: "tests"))
      dunlin.presence.connectionRequestHandler = { _ in dunlin.isSyncActive ? .allow : .deny }
      try dunlin.close()
      closed = dunlin
    }
    #expect(closed == nil)
  }

  @Test func `graphs end with the database`() async throws {
    let graphs = tablet.dunlin.presence.graphs
    try tablet.dunlin.close()
    for await _ in graphs {}
    for await _ in tablet.dunlin.presence.graphs {}
  }
}
