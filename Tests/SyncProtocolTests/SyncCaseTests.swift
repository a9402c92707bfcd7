import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// What is promised of sync, one by one.
@Suite struct SyncCaseTests {
  private func pair() throws -> (TestNetwork, TestPeer, TestPeer) {
    let network = TestNetwork()
    return (network, try network.addPeer("a"), try network.addPeer("b"))
  }

  @Test func `changes made apart merge when the peers meet`() throws {
    let (network, a, b) = try pair()
    for peer in [a, b] { try peer.subscribe("SELECT * FROM things") }
    try a.put("x", ["n": .int(1), "count": .counter(0)])
    let (end, _) = try network.connect(a, b)
    try network.settle()
    network.cut(end)
    try a.write {
      try $0.update(try DocumentID("x"), in: "things", [.set(["left"], .int(1)), .increment(["count"], 2)])
    }
    try b.write {
      try $0.update(try DocumentID("x"), in: "things", [.set(["right"], .int(2)), .increment(["count"], 3)])
    }
    try network.connect(a, b)
    try network.settle()
    for peer in [a, b] {
      try expectEqual(
        peer.document("x"), ["n": .int(1), "count": .counter(5), "left": .int(1), "right": .int(2)])
    }
  }

  @Test func `evict, write, resubscribe: nothing is lost anywhere`() throws {
    let (network, a, b) = try pair()
    for peer in [a, b] { try peer.subscribe("SELECT * FROM things") }
    try a.put("x", ["first": .int(1)])
    try network.connect(a, b)
    try network.settle()
    try b.subscribe()
    try network.settle()
    try b.put("x", ["mine": .int(2)])
    try network.settle()
    try b.evict("x")
    try network.settle()
    try b.put("x", ["again": .int(3)])
    try network.settle()
    try b.subscribe("SELECT * FROM things")
    try network.settle()
    for peer in [a, b] {
      try expectEqual(peer.document("x"), ["first": .int(1), "mine": .int(2), "again": .int(3)])
    }
  }

  @Test func `a document that is evicted under a subscription comes back`() throws {
    let (network, a, b) = try pair()
    try a.put("x", ["n": .int(1)])
    try b.subscribe("SELECT * FROM things")
    try network.connect(a, b)
    try network.settle()
    try b.evict("x")
    try network.settle()
    #expect(try b.document("x") == ["n": .int(1)])
  }

  @Test func `a receiver that lacks what a change builds on asks for the rest`() throws {
    let (network, a, b) = try pair()
    try a.write { transaction in
      for id in ["x", "y"] { try transaction.upsert(["n": .int(1)], id: try DocumentID(id), into: "things") }
    }
    try b.subscribe("SELECT * FROM things")
    let (_, receiver) = try network.connect(a, b)
    try network.settle()
    // Evicted, and changed at the sender before that is known there.
    try b.evict("x")
    try a.write { transaction in
      for id in ["x", "y"] { try transaction.upsert(["n": .int(2)], id: try DocumentID(id), into: "things") }
    }
    var isTorn = false
    b.onCommit = { _ in
      let held = try b.documents()
      if let x = held["x"], x != held["y"] { isTorn = true }
    }
    try network.settle()
    #expect(try b.documents() == a.documents())
    #expect(!isTorn)
    #expect(receiver.closed == nil)
  }

  @Test func `a deletion reaches a peer that was away`() throws {
    let (network, a, b) = try pair()
    try a.put("x", ["n": .int(1)])
    try b.subscribe("SELECT * FROM things WHERE n = 1")
    let (end, _) = try network.connect(a, b)
    try network.settle()
    network.cut(end)
    try a.remove("x")
    try network.connect(a, b)
    try network.settle()
    #expect(try b.document("x") == nil)
  }

  @Test func `a document that left the query while the peer was away leaves there too`() throws {
    let (network, a, b) = try pair()
    try a.put("x", ["color": .string("red")])
    try b.subscribe("SELECT * FROM things WHERE color = 'red'")
    let (end, _) = try network.connect(a, b)
    try network.settle()
    network.cut(end)
    try a.put("x", ["color": .string("blue")])
    try network.connect(a, b)
    try network.settle()
    #expect(try b.document("x")?["color"] == .string("blue"))
  }

  @Test func `data crosses a peer that subscribes to it`() throws {
    let network = TestNetwork()
    let peers = try (0..<4).map { try network.addPeer("p\($0)") }
    for peer in peers.dropFirst() { try peer.subscribe("SELECT * FROM things") }
    for (left, right) in zip(peers, peers.dropFirst()) { try network.connect(left, right) }
    try network.settle()
    try peers[0].put("x", ["n": .int(1)])
    try network.settle()
    #expect(try peers[3].document("x") == ["n": .int(1)])
    #expect(network.endpoints.allSatisfy { $0.session.statistics.documentsSent <= 1 })
  }

  @Test func `nothing is sent to a peer that asks for nothing`() throws {
    let (network, a, b) = try pair()
    try b.subscribe("SELECT * FROM things")
    let (sender, receiver) = try network.connect(a, b)
    try network.settle()
    try b.put("x", ["n": .int(1)])
    try network.settle()
    #expect(receiver.session.statistics.documentsSent == 0)
    #expect(sender.session.statistics.documentsReceived == 0)
    #expect(try a.documents().isEmpty)
  }

  @Test func `a new subscription is caught up with, and a cancelled one is not`() throws {
    let (network, a, b) = try pair()
    try a.put("r", ["color": .string("red")])
    try a.put("b", ["color": .string("blue")])
    try b.subscribe("SELECT * FROM things WHERE color = 'red'")
    let (_, receiver) = try network.connect(a, b)
    try network.settle()
    #expect(receiver.caughtUp == 1)
    try b.subscribe("SELECT * FROM things WHERE color = 'red'", "SELECT * FROM things WHERE color = 'blue'")
    try network.settle()
    #expect(receiver.caughtUp == 2)
    #expect(try b.documents().count == 2)
    try b.subscribe()
    try network.settle()
    try a.put("late", ["color": .string("red")])
    try network.settle()
    #expect(try b.document("late") == nil)
  }

  @Test func `default data settles by value the same everywhere`() throws {
    let (network, a, b) = try pair()
    for (index, peer) in [a, b].enumerated() {
      try peer.subscribe("SELECT * FROM things")
      try peer.write { transaction in
        try transaction.upsert(
          ["n": .int(Int64(index)), "m": .int(Int64(5 - index))], id: try DocumentID("x"), into: "things",
          strategy: .insertDefaultIfAbsent)
      }
    }
    try network.connect(a, b)
    try network.settle()
    #expect(try a.document("x") == b.document("x"))
    try b.write { transaction in
      try transaction.upsert(
        ["n": .int(8)], id: try DocumentID("y"), into: "things", strategy: .insertDefaultIfAbsent)
    }
    try network.settle()
    #expect(try a.document("y") == ["n": .int(8)])
    #expect(try network.debts().isEmpty)
  }

  @Test func `default data that both have is not sent back`() throws {
    let (network, a, b) = try pair()
    for peer in [a, b] { try peer.subscribe("SELECT * FROM things") }
    let ends = try network.connect(a, b)
    try network.settle()
    // Both at once, so that each gets the other's over its own.
    for peer in [a, b] {
      try peer.write { transaction in
        try transaction.upsert(
          ["n": .int(1)], id: try DocumentID("d"), into: "things", strategy: .insertDefaultIfAbsent)
      }
    }
    try network.settle()
    for end in [ends.0, ends.1] { expectEqual(end.session.statistics.documentsSent, 1) }
    #expect(try b.documents() == a.documents())
  }

  @Test func `a peer whose copies come from elsewhere is told when newer ones appear at a neighbour`() throws
  {
    let network = TestNetwork()
    let origin = try network.addPeer("origin")
    let hub = try network.addPeer("hub")
    let reader = try network.addPeer("reader")
    try hub.subscribe("SELECT * FROM things")
    try reader.subscribe("SELECT * FROM things WHERE color = 'red'")
    for index in 0..<200 { try origin.put("held\(index)", ["color": .string("red")]) }
    let (old, _) = try network.connect(origin, reader)
    try network.settle()
    network.cut(old)
    try network.connect(hub, reader)
    try network.settle()
    // The reader holds 200 red documents that the hub has never heard of; at the origin they turn blue.
    try origin.write { transaction in
      for index in 0..<200 {
        try transaction.upsert(["color": .string("blue")], id: try DocumentID("held\(index)"), into: "things")
      }
      for index in 0..<2_000 {
        try transaction.upsert(
          ["color": .string("blue")], id: try DocumentID("other\(index)"), into: "things")
      }
    }
    var offered = 0
    var filterBytes = 0
    network.onSend = { end, bytes in
      if end.peer === hub, FrameType(of: bytes) == .offer { offered += bytes.count }
      if FrameType(of: bytes) == .filter { filterBytes += bytes.count }
    }
    try network.connect(origin, hub)
    try network.settle()
    #expect(try reader.documents().count == 200)
    #expect(try reader.documents().values.allSatisfy { $0["color"] == .string("blue") })
    #expect(try network.debts().isEmpty)
    // The filter has about forty bits for each document. Offers go out for its matches and the first few
    // documents, not for all 2,200.
    #expect(filterBytes > 200 && filterBytes < 1_200)
    #expect(offered < 400 * 30)
  }

  @Test func `a session cut at any byte leaves nothing half done, and the next one finishes`() throws {
    // A conversation of a group and a large document, cut after each of many prefixes.
    for cut in stride(from: 1, to: 2_600, by: 61) {
      let network = TestNetwork(seed: UInt64(cut))
      network.configure = { $0.initialWindowBytes = 8 << 10 }
      let a = try network.addPeer("a")
      let b = try network.addPeer("b")
      try a.write { transaction in
        for id in ["x", "y"] {
          try transaction.upsert(["n": .int(1)], id: try DocumentID(id), into: "things")
        }
      }
      try a.put("large", ["text": .string(String(repeating: "lorem ipsum ", count: 8_000))])
      try b.subscribe("SELECT * FROM things")
      let (sender, receiver) = try network.connect(a, b)
      sender.bytesUntilCut = cut
      try network.settle()
      network.cut(receiver)
      let held = try b.documents()
      expectEqual(held["x"] == nil, held["y"] == nil)
      try expect(held["large"] == nil || held["large"] == a.document("large"))
      try network.connect(a, b)
      try network.settle()
      try expectEqual(b.documents(), a.documents(), "cut after \(cut) bytes")
    }
  }

  /// Two peers, of which one holds a transaction that the other wants, and that takes several frames.
  private static func pairForCut() throws -> (network: TestNetwork, sender: Endpoint, receiver: Endpoint) {
    let network = TestNetwork()
    network.configure = { $0.initialWindowBytes = 1_536 }
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    var random = SeededGenerator(seed: 3)
    try a.write { transaction in
      for id in ["x", "y"] {
        let noise = Value.bytes((0..<500).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        try transaction.upsert(["noise": noise], id: try DocumentID(id), into: "things")
      }
    }
    try b.subscribe("SELECT * FROM things")
    let (sender, receiver) = try network.connect(a, b)
    return (network, sender, receiver)
  }

  @Test(arguments: 0..<8)
  func `a short session cut at every byte of either end leaves nothing half done`(part: Int) throws {
    let whole = try Self.pairForCut()
    var fragments = 0
    whole.network.onSend = { _, bytes in fragments += FrameType(of: bytes) == .fragment ? 1 : 0 }
    try whole.network.settle()
    #expect(fragments > 1)
    for isSender in [true, false] {
      let byteCount = (isSender ? whole.sender : whole.receiver).sentBytes
      try #require((100..<2_000).contains(byteCount))
      for cut in stride(from: part, to: byteCount, by: 8) {
        let (network, sender, receiver) = try Self.pairForCut()
        // The hellos are out by now, and may be cut as well.
        let end = isSender ? sender : receiver
        let early = min(end.outbound.count, cut)
        end.outbound.removeLast(end.outbound.count - early)
        end.bytesUntilCut = cut - early
        try network.settle()
        network.cut(receiver)
        let held = try receiver.peer.documents()
        expect(held.isEmpty || held.count == 2, "byte \(cut), \(isSender)")
        try network.connect(sender.peer, receiver.peer)
        try network.settle()
        try expectEqual(receiver.peer.documents(), sender.peer.documents(), "byte \(cut), \(isSender)")
      }
    }
  }
}
