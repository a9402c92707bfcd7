import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// What comes from others is announced and asked for once; whatever is cut, nothing is lost.
@Suite struct MeshTests {
  /// A group of peers that all subscribe to all, joined by links of 1 to 50 ms.
  private struct Mesh {
    let timed: TimedNetwork
    let peers: [TestPeer]
    var random: SeededGenerator
    var written: [Int]

    init(seed: UInt64, peers count: Int, links: [(Int, Int)]) throws {
      timed = TimedNetwork(seed: seed)
      var random = SeededGenerator(seed: seed)
      peers = try (0..<count).map { [timed] in try timed.network.addPeer("p\($0)") }
      for peer in peers { try peer.subscribe("SELECT * FROM things") }
      for (a, b) in links {
        try timed.connect(peers[a], peers[b], roundTrip: .milliseconds(1 + random.int(below: 50)))
      }
      self.random = random
      written = Array(repeating: 0, count: count)
      try timed.run(for: .seconds(2))
    }

    /// A transaction of one to three documents at one of the peers.
    mutating func write(documents: Int, at writer: Int? = nil) throws {
      let index = writer ?? random.int(below: peers.count)
      written[index] += 1
      let text = Value.string(String(repeating: "x", count: 200 + random.int(below: 100)))
      var ids: Set<Int> = []
      for _ in 0...random.int(below: 3) { ids.insert(random.int(below: documents)) }
      try peers[index].write { [written] transaction in
        for id in ids.sorted() {
          try transaction.upsert(
            ["text": text, "by": .int(Int64(index)), "n": .int(Int64(written[index]))],
            id: try DocumentID("d\(id)"), into: "things")
        }
      }
    }

    var sessions: [(from: TestPeer, statistics: SyncStatistics)] {
      timed.network.endpoints.map { ($0.peer, $0.session.statistics) }
    }

    func sum(_ value: (SyncStatistics) -> UInt64) -> Int {
      sessions.reduce(0) { $0 + Int(value($1.statistics)) }
    }

    func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
      let debts = try timed.network.debts().map(\.description)
      #expect(debts.isEmpty, "\(debts.prefix(3))", sourceLocation: sourceLocation)
      #expect(timed.network.endpoints.allSatisfy { $0.closed == nil }, sourceLocation: sourceLocation)
      let first = try peers[0].documents()
      for peer in peers { try expectEqual(peer.documents(), first, sourceLocation: sourceLocation) }
    }
  }

  private static func complete(_ count: Int) -> [(Int, Int)] {
    (0..<count).flatMap { a in (a + 1..<max(count, a + 1)).map { (a, $0) } }
  }

  @Test(arguments: [1] as [UInt64])
  func `five peers, each linked to each, bring each other every transaction once`(seed: UInt64) throws {
    var mesh = try Mesh(seed: seed, peers: 5, links: Self.complete(5))
    for _ in 0..<500 {
      try mesh.write(documents: 2_000)
      try mesh.timed.run(for: .milliseconds(mesh.random.int(below: 12)))
    }
    try mesh.timed.run(for: .seconds(5))
    try mesh.check()
    let received = mesh.sum(\.transactionsReceived)
    let known = mesh.sum(\.transactionsKnown)
    // The writer sends each transaction once over each of its links, and little else: at most a tenth more on
    // a single link, and a twentieth on all together.
    var (sentOnAll, writtenForAll) = (0, 0)
    for (index, peer) in mesh.peers.enumerated() {
      for end in peer.endpoints {
        let sent = Int(end.session.statistics.transactionsSent)
        expect(sent >= mesh.written[index])
        expect(sent * 10 <= mesh.written[index] * 11, "\(peer.name): \(sent) of \(mesh.written[index])")
        (sentOnAll, writtenForAll) = (sentOnAll + sent, writtenForAll + mesh.written[index])
      }
    }
    #expect(sentOnAll * 20 <= writtenForAll * 21, "\(sentOnAll) of \(writtenForAll)")
    #expect(known * 20 <= received, "\(known) of \(received)")
  }

  @Test func `alike changes go column by column, and are known when they come twice`() throws {
    var mesh = try Mesh(seed: 7, peers: 4, links: Self.complete(4))
    let ids = try (0..<20).map { try DocumentID("d\($0)") }
    try mesh.peers[0].write { transaction in
      for id in ids { try transaction.upsert(["n": .int(-1)], id: id, into: "things") }
    }
    try mesh.timed.run(for: .seconds(3))
    for round in 0..<120 {
      try mesh.peers[mesh.random.int(below: 4)].write { transaction in
        for id in ids { try transaction.update(id, in: "things", [.set(["n"], .int(Int64(round)))]) }
      }
      try mesh.timed.run(for: .milliseconds(100 + mesh.random.int(below: 100)))
    }
    try mesh.timed.run(for: .seconds(5))
    try mesh.check()
    let received = mesh.sum(\.transactionsReceived)
    let known = mesh.sum(\.transactionsKnown)
    #expect(known * 20 <= received, "\(known) of \(received)")
    // Each of the twelve directions carries at most 120 transactions once, at no more than twenty bytes a
    // change and a head.
    let bytes = mesh.sum(\.plainBytesSent)
    #expect(bytes < 4 * 120 * 20 * 20, "\(bytes) bytes")
  }

  @Test func `a chain forwards at once after the first transactions`() throws {
    var mesh = try Mesh(seed: 2, peers: 4, links: [(0, 1), (1, 2), (2, 3)])
    for _ in 0..<20 {
      try mesh.write(documents: 2_000)
      try mesh.timed.run(for: .milliseconds(200))
    }
    try mesh.timed.run(for: .seconds(3))
    let announced = mesh.sum(\.transactionsAnnounced)
    for _ in 0..<50 {
      try mesh.write(documents: 2_000)
      try mesh.timed.run(for: .milliseconds(20))
    }
    try mesh.timed.run(for: .seconds(3))
    try mesh.check()
    #expect(announced > 0)
    #expect(mesh.sum(\.transactionsAnnounced) == announced)
    #expect(mesh.sum(\.transactionsKnown) == 0)
  }

  @Test func `a link that brings nothing any more is replaced`() throws {
    var mesh = try Mesh(seed: 3, peers: 4, links: [(0, 1), (0, 2), (1, 3), (2, 3)])
    for _ in 0..<10 {
      try mesh.write(documents: 100, at: 0)
      try mesh.timed.run(for: .milliseconds(300))
    }
    // One of the two depends on 3's other neighbour by now: whichever goes, the other takes over.
    for silent in [1, 2] {
      let link = try #require(mesh.peers[silent].endpoints.first { $0.other?.peer === mesh.peers[3] })
      // The bytes of the link go nowhere, and neither end hears of it.
      link.bytesUntilCut = 0
      try mesh.write(documents: 100, at: 0)
      try mesh.timed.run(for: .seconds(3))
      try expectEqual(mesh.peers[3].documents(), mesh.peers[0].documents(), "without \(silent)")
      mesh.timed.cut(link)
      try mesh.timed.connect(mesh.peers[silent], mesh.peers[3], roundTrip: .milliseconds(10))
      try mesh.timed.run(for: .seconds(3))
    }
    try mesh.check()
  }

  @Test(arguments: [false, true])
  func `default data that comes with a write reaches those that have the write`(writesOn: Bool) throws {
    let timed = TimedNetwork(seed: 4)
    let peers = try ["writer", "holder", "middle", "far"].map { try timed.network.addPeer($0) }
    let (writer, holder, middle, far) = (peers[0], peers[1], peers[2], peers[3])
    for peer in peers.dropFirst() { try peer.subscribe("SELECT * FROM things") }
    try holder.write {
      try $0.upsert(
        ["extra": .int(5)], id: try DocumentID("a"), into: "things", strategy: .insertDefaultIfAbsent)
    }
    try timed.connect(writer, holder, roundTrip: .milliseconds(2))
    try timed.connect(writer, far, roundTrip: .milliseconds(2))
    try timed.connect(far, middle, roundTrip: .seconds(2))
    try writer.put("a", ["n": .int(1)])
    try timed.run(for: .seconds(20))
    #expect(try middle.documents() == ["a": ["n": .int(1)]])
    // What the far one has to tell of the write is on its way for a second.
    try writer.put("a", ["n": .int(2)])
    try timed.connect(holder, middle, roundTrip: .milliseconds(2))
    try timed.run(for: .milliseconds(500))
    #expect(try middle.documents() == ["a": ["n": .int(2), "extra": .int(5)]])
    #expect(try far.documents() == ["a": ["n": .int(2)]])
    // Then the far one is ahead of what the middle one has told it.
    if writesOn { try writer.put("a", ["n": .int(3)]) }
    try timed.run(for: .seconds(20))
    #expect(try far.documents() == ["a": ["n": .int(writesOn ? 3 : 2), "extra": .int(5)]])
    let debts = try timed.network.debts().map(\.description)
    #expect(debts.isEmpty, "\(debts.prefix(3))")
  }
}
