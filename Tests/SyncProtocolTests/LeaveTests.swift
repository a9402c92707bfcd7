import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// What leaves a query arrives in its last state, and then is kept or let go of, without losing anything.
@Suite struct LeaveTests {
  private static let open = "SELECT * FROM things WHERE open"

  /// A source with three documents of which all match, and a peer that lets go of what leaves.
  private static func pair(
    seed: UInt64 = 1, evicts: Bool = true
  ) throws -> (network: TestNetwork, source: TestPeer, peer: TestPeer) {
    let network = TestNetwork(seed: seed)
    let source = try network.addPeer("source")
    let peer = try network.addPeer("peer")
    try source.subscribe("SELECT * FROM things")
    try peer.subscribe(evicts ? [] : [open], evicting: evicts ? [open] : [])
    for id in ["a", "b", "c"] { try source.put(id, ["open": .bool(true)]) }
    return (network, source, peer)
  }

  private static func close(_ id: String, at peer: TestPeer) throws {
    try peer.put(id, ["open": .bool(false)])
  }

  @Test(arguments: [false, true])
  func `in session the last state comes, and stays or goes as the subscription says`(evicts: Bool) throws {
    let (network, source, peer) = try Self.pair(evicts: evicts)
    var closed: [TextKey: Value]?
    peer.onCommit = { commit in
      for change in commit.changes where change.kind == .write { closed = try peer.document("a") ?? closed }
    }
    try network.connect(source, peer)
    try network.settle()
    #expect(try peer.documents().count == 3)
    try Self.close("a", at: source)
    try network.settle()
    #expect(closed == ["open": .bool(false)])
    #expect(try peer.document("a") == (evicts ? nil : ["open": .bool(false)]))
    #expect(try peer.documents().count == (evicts ? 2 : 3))
    #expect(try source.documents().count == 3)
  }

  @Test(arguments: [false, true])
  func `across reconnects the same holds`(evicts: Bool) throws {
    let (network, source, peer) = try Self.pair(evicts: evicts)
    let (end, _) = try network.connect(source, peer)
    try network.settle()
    network.cut(end)
    try Self.close("a", at: source)
    try network.connect(source, peer)
    try network.settle()
    #expect(try peer.document("a") == (evicts ? nil : ["open": .bool(false)]))
    #expect(try peer.documents().count == (evicts ? 2 : 3))
  }

  @Test func `a peer that asks for nothing keeps nothing from going`() throws {
    let (network, source, peer) = try Self.pair()
    let writer = try network.addPeer("writer")
    try network.connect(source, peer)
    try network.connect(peer, writer)
    try writer.put("d", ["open": .bool(true)])
    try network.settle()
    #expect(try peer.document("d") == ["open": .bool(true)])
    try Self.close("d", at: writer)
    try network.settle()
    #expect(try peer.document("d") == nil)
    #expect(try source.document("d") == ["open": .bool(false)])
  }

  @Test func `what left and cannot be read stays, and ends no session`() throws {
    let (network, source, peer) = try Self.pair()
    let (end, _) = try network.connect(source, peer)
    try network.settle()
    network.cut(end)
    try peer.put("a", ["open": .bool(false), "text": .string("the words of a.")])
    try peer.distribute()
    #expect(try peer.damage("the words of a.", by: "The words of a.") >= 1)
    try network.connect(source, peer)
    try network.settle()
    try source.put("d", ["open": .bool(true)])
    try network.settle()
    #expect(network.endpoints.allSatisfy { $0.closed == nil })
    #expect(try peer.document("d") == ["open": .bool(true)])
  }

  @Test func `what matches again comes back, in session and later`() throws {
    let (network, source, peer) = try Self.pair()
    var (end, _) = try network.connect(source, peer)
    try network.settle()
    for round in 0..<3 {
      try Self.close("a", at: source)
      try network.settle()
      try expect(peer.document("a") == nil, "\(round)")
      if round == 1 { network.cut(end) }
      try source.put("a", ["open": .bool(true), "round": .int(Int64(round))])
      if round == 1 { (end, _) = try network.connect(source, peer) }
      try network.settle()
      try expectEqual(peer.document("a")?["round"], .int(Int64(round)), "\(round)")
    }
    #expect(try network.debts().map(\.description) == [])
  }

  @Test func `what another subscription wants stays, and one that keeps has the last word`() throws {
    let (network, source, peer) = try Self.pair()
    try source.put("a", ["open": .bool(true), "mine": .bool(true)])
    try peer.subscribe(["SELECT * FROM things WHERE mine"], evicting: [Self.open])
    try network.connect(source, peer)
    try network.settle()
    try source.put("a", ["open": .bool(false)])
    try network.settle()
    #expect(try peer.document("a") == ["open": .bool(false), "mine": .bool(true)])
    try source.put("a", ["mine": .bool(false)])
    try network.settle()
    #expect(try peer.document("a") == ["open": .bool(false), "mine": .bool(false)])
    // Both at once: it matched one that keeps.
    try source.put("b", ["mine": .bool(true)])
    try network.settle()
    try source.put("b", ["open": .bool(false), "mine": .bool(false)])
    try network.settle()
    #expect(try peer.document("b") == ["open": .bool(false), "mine": .bool(false)])
  }

  @Test func `what was never of interest, and what is evicted by hand, is left alone`() throws {
    let (network, source, peer) = try Self.pair()
    try peer.put("own", ["open": .bool(false)])
    try network.connect(source, peer)
    try network.settle()
    try peer.put("own", ["open": .bool(false), "n": .int(1)])
    try network.settle()
    #expect(try peer.document("own") != nil)
    try peer.evict("a")
    try network.settle()
    #expect(try peer.document("a") == ["open": .bool(true)])
  }

  @Test func `a local write that makes a document leave is let go of only when a peer keeps it`() throws {
    let (network, source, peer) = try Self.pair()
    try network.connect(source, peer)
    try network.settle()
    try Self.close("a", at: peer)
    try network.settle()
    #expect(try peer.document("a") == nil)
    #expect(try source.document("a") == ["open": .bool(false)])
  }

  @Test func `two that both let go do not lose what one of them wrote`() throws {
    let network = TestNetwork(seed: 5)
    let peers = try ["a", "b"].map { try network.addPeer($0) }
    for peer in peers { try peer.subscribe([], evicting: [Self.open]) }
    try peers[0].put("x", ["open": .bool(true)])
    try network.connect(peers[0], peers[1])
    try network.settle()
    try Self.close("x", at: peers[0])
    try network.settle()
    #expect(try peers[0].document("x") == ["open": .bool(false)])
    #expect(try peers[1].document("x") == nil)
    // A third one that keeps all makes it dispensable.
    let keeper = try network.addPeer("keeper")
    try keeper.subscribe("SELECT * FROM things")
    try network.connect(keeper, peers[0])
    try network.settle()
    #expect(try keeper.document("x") == ["open": .bool(false)])
    #expect(try peers[0].document("x") == nil)
  }

  @Test func `a write of one's own that nobody has keeps the document here`() throws {
    let (network, source, peer) = try Self.pair()
    try source.subscribe()
    let (end, other) = try network.connect(peer, source)
    try network.settle()
    network.cut(end)
    _ = other
    // The source does not ask for anything, so what is written here stays here.
    try peer.put("a", ["note": .string("mine")])
    try Self.close("a", at: source)
    try network.connect(peer, source)
    try network.settle()
    #expect(try peer.document("a") == ["open": .bool(false), "note": .string("mine")])
    try peer.restart()
    try network.connect(peer, source)
    try network.settle()
    #expect(try peer.document("a") == ["open": .bool(false), "note": .string("mine")])
    try source.subscribe("SELECT * FROM things")
    try network.settle()
    #expect(try source.document("a") == ["open": .bool(false), "note": .string("mine")])
    #expect(try peer.document("a") == nil)
  }

  @Test func `a write meanwhile is not lost`() throws {
    let (network, source, peer) = try Self.pair()
    try source.subscribe()
    let (_, end) = try network.connect(source, peer)
    try network.settle()
    try Self.close("a", at: source)
    // Up to the point where the eviction is about to be carried out.
    for _ in 0..<10_000 {
      if end.applies.contains(where: { $0.documentCount == 0 }) { break }
      _ = try network.step()
    }
    #expect(end.applies.contains { $0.documentCount == 0 })
    try peer.put("a", ["note": .string("mine")])
    try network.settle()
    #expect(try peer.document("a") == ["open": .bool(false), "note": .string("mine")])
  }

  @Test func `a crash between the last state and the eviction is made up for`() throws {
    let (network, source, peer) = try Self.pair()
    let (_, end) = try network.connect(source, peer)
    try network.settle()
    try Self.close("a", at: source)
    for _ in 0..<10_000 {
      if end.applies.contains(where: { $0.documentCount == 0 }) { break }
      _ = try network.step()
    }
    network.cut(end)
    try peer.restart()
    #expect(try peer.document("a") == ["open": .bool(false)])
    try network.connect(source, peer)
    try network.settle()
    #expect(try peer.document("a") == nil)
    #expect(try peer.documents().count == 2)
  }

  @Test func `a deletion is no leaving`() throws {
    let (network, source, peer) = try Self.pair()
    try network.connect(source, peer)
    try network.settle()
    try source.remove("a")
    try network.settle()
    let things = try #require(try peer.store.read { try $0.collection("things") })
    let isKnown = try peer.store.read { try $0.record(things, try DocumentID("a")) != nil }
    #expect(isKnown)
    try Self.close("b", at: source)
    try network.settle()
    try source.remove("b")
    try network.settle()
    #expect(try peer.documents().count == 1)
    #expect(try network.debts().map(\.description) == [])
  }

  @Test func `an older copy elsewhere does not come back, a newer one does`() throws {
    let (network, source, peer) = try Self.pair()
    let other = try network.addPeer("other")
    try other.subscribe("SELECT * FROM things")
    let (link, _) = try network.connect(other, source)
    try network.settle()
    network.cut(link)
    try network.connect(source, peer)
    try network.settle()
    try Self.close("a", at: source)
    try network.settle()
    #expect(try peer.document("a") == nil)
    var sees = 0
    peer.onCommit = { commit in sees += commit.changes.count { $0.id.value == .string("a") } }
    for _ in 0..<3 {
      let (end, _) = try network.connect(other, peer)
      try network.settle()
      try expect(peer.document("a") == nil)
      network.cut(end)
      try peer.restart()
      for end in peer.endpoints { network.cut(end) }
      try network.connect(source, peer)
      try network.settle()
    }
    #expect(sees == 0)
    // What was written there without knowing of it is news.
    try other.put("a", ["note": .string("news")])
    try network.connect(other, peer)
    try network.settle()
    try network.connect(other, source)
    try network.settle()
    #expect(try source.document("a") == ["open": .bool(false), "note": .string("news")])
    #expect(try peer.document("a") == nil)
  }

  @Test func `another subscription gets what an earlier one let go of`() throws {
    let (network, source, peer) = try Self.pair()
    try network.connect(source, peer)
    try network.settle()
    try Self.close("a", at: source)
    try network.settle()
    #expect(try peer.document("a") == nil)
    try peer.subscribe(["SELECT * FROM things WHERE NOT open"], evicting: [Self.open])
    try network.settle()
    #expect(try peer.document("a") == ["open": .bool(false)])
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `a relay tells those behind it before it lets go`(seed: UInt64) throws {
    let (network, source, relay) = try Self.pair(seed: seed)
    let last = try network.addPeer("last")
    try last.subscribe(Self.open)
    network.maximumPiece = 64
    try network.connect(source, relay)
    try network.connect(relay, last)
    try network.settle()
    #expect(try last.documents().count == 3)
    try Self.close("a", at: source)
    try Self.close("b", at: source)
    try network.settle()
    #expect(try last.document("a") == ["open": .bool(false)])
    #expect(try last.document("b") == ["open": .bool(false)])
    #expect(try relay.documents().count == 1)
  }

  @Test func `many leave at once`() throws {
    let (network, source, peer) = try Self.pair()
    let count = 2_000
    try source.write { transaction in
      for index in 0..<count {
        try transaction.upsert(["open": .bool(true)], id: try DocumentID("d\(index)"), into: "things")
      }
    }
    try network.connect(source, peer)
    try network.settle()
    #expect(try peer.documents().count == count + 3)
    try source.write { transaction in
      for index in 0..<count {
        try transaction.upsert(["open": .bool(false)], id: try DocumentID("d\(index)"), into: "things")
      }
    }
    try network.settle()
    #expect(try peer.documents().count == 3)
    #expect(try source.documents().count == count + 3)
  }
}
