import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// Documents that are more, together, than a document may be.
@Suite struct DocumentLimitTests {
  private static let query = "SELECT * FROM things"
  private static let limit = Limits.sitesPerDocument

  private func refusals(_ end: Endpoint) -> Int {
    end.events.count { if case .refused("things", _) = $0 { true } else { false } }
  }

  /// Two linked peers that hold one document each as many sites wrote it, of which two are the other's alone.
  private func crowded() throws -> (TestNetwork, TestPeer, TestPeer, Endpoint, Endpoint) {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    for peer in [a, b] {
      try peer.subscribe(Self.query)
      try peer.take(CrowdedDocument.wire(0..<Self.limit - 1), as: "x")
      try peer.put("x", ["by": .string(peer.name)])
    }
    try a.put("y", ["n": .int(1)])
    let (end, other) = try network.connect(a, b)
    try network.settle()
    return (network, a, b, end, other)
  }

  @Test func `stay as they are, are told of once, and the rest of the session goes on`() throws {
    let (network, a, b, end, other) = try crowded()
    #expect(try b.document("y") == ["n": .int(1)])
    for (peer, end) in [(a, end), (b, other)] {
      try expectEqual(peer.document("x")?["by"], .string(peer.name))
      expectEqual(refusals(end), 1)
      // Neither takes the other, or itself, for one that has all.
      expect(end.caughtUp == nil && !end.session.progress.isCaughtUp)
      expect(end.session.progress.refusedDocuments == 1 && end.session.progress.isPeerUnreadable)
      expect(end.session.progress.confirmedSequence == nil)
    }
    // A transaction with a change of it comes without it.
    for round in 2...4 {
      try a.write { tx in
        for id in ["x", "y", "z"] {
          try tx.upsert(["n": .int(Int64(round))], id: try DocumentID(id), into: "things")
        }
      }
      try network.settle()
      for id in ["y", "z"] { try expectEqual(b.document(id)?["n"], .int(Int64(round))) }
      try expectEqual(b.document("x")?["by"], .string("b"))
    }
    #expect(refusals(other) == 1)
    #expect(network.endpoints.allSatisfy { $0.closed == nil })
  }

  @Test func `keep peers from counting as caught up as long as both hold them`() throws {
    let (network, a, b, end, _) = try crowded()
    network.cut(end)
    let (_, second) = try network.connect(a, b)
    try network.settle()
    #expect(second.caughtUp == nil && refusals(second) == 1)
    network.cut(second)
    try b.evict("x")
    let (_, third) = try network.connect(a, b)
    try network.settle()
    #expect(try b.document("x")?["by"] == .string("a"))
    #expect(third.caughtUp != nil && third.session.progress.refusedDocuments == 0)
    #expect(network.endpoints.allSatisfy { $0.closed == nil })
  }

  /// Which way what was written apart comes to the other: from the log, or as a repair of the whole.
  @Test(arguments: [0, 1])
  func `two that come to more than travels stay apart, and both ends say so`(more: Int) throws {
    let network = TestNetwork()
    let peers = try ["a", "b"].map { try network.addPeer($0, hardDocumentBytes: 64 << 20) }
    func bytes(_ count: Int) -> Value { .bytes([UInt8](repeating: 7, count: count)) }
    for peer in peers { try peer.subscribe(Self.query) }
    try peers[0].put("x", ["n": .int(1)])
    var ends = try network.connect(peers[0], peers[1])
    try network.settle()
    network.cut(ends.0)
    // The larger of both is far below the limit, what both come to is next to it.
    try peers[0].put("x", ["a": bytes(8 << 20)])
    let rest = try peers[0].wireDocument("x").count - (8 << 20)
    try peers[1].put("x", ["b": bytes((8 << 20) - 2 * rest + more * 2 * rest)])
    ends = try network.connect(peers[0], peers[1])
    try network.settle()
    for (peer, name) in zip(peers, ["a", "b"]) {
      try expectEqual(peer.document("x")?.count, more == 0 ? 3 : 2)
      try expect(peer.document("x")?[TextKey(name)] != nil)
    }
    for end in [ends.0, ends.1] {
      expect(end.closed == nil)
      expectEqual(refusals(end), more)
      expectEqual(end.caughtUp == nil, more == 1)
      expectEqual(end.session.progress.refusedDocuments, more)
    }
    // What follows on either side stays with it, and the rest of the session goes on.
    try peers[0].put("x", ["n": .int(2)])
    try peers[0].put("y", ["n": .int(2)])
    try network.settle()
    #expect(try peers[1].document("y") == ["n": .int(2)])
    #expect(try peers[1].document("x")?["n"] == .int(more == 0 ? 2 : 1))
  }

  @Test func `a peer that sends more writers than there may be has its session ended`() throws {
    let raw = try RawPeer()
    try raw.open(subscribing: Self.query)
    try raw.sendDocument("x", wire: CrowdedDocument.wire(0..<Self.limit))
    try raw.apply()
    #expect(raw.closed == nil)
    #expect(try raw.peer.exists("x"))
    try raw.sendDocument("y", wire: CrowdedDocument.wire(0..<Self.limit + 1))
    #expect(raw.closed?.code == .limit)
  }

  /// In a mesh, where what was passed on is announced, over all ways on which a vector travels.
  @Test func `a document of as many writers as there may be never makes a frame that is too long`() throws {
    let network = TestNetwork()
    var longest = 0
    network.onSend = { _, frame in longest = max(longest, frame.count) }
    let peers = try ["a", "b", "c"].map { try network.addPeer($0) }
    for peer in peers { try peer.subscribe(Self.query) }
    func connect() throws {
      for (a, b) in [(0, 1), (1, 2), (0, 2)] { try network.connect(peers[a], peers[b]) }
      try network.settle()
    }
    func cut() { for peer in peers { peer.endpoints.forEach { network.cut($0) } } }
    let ids = ["x0", "x1"]
    for id in ids { try peers[0].take(CrowdedDocument.wire(0..<Self.limit - 3), as: id) }
    try connect()
    for round in 0..<3 {
      // Once live, once from the log, and once by comparing.
      for (index, peer) in peers.enumerated() {
        try peer.write { tx in
          for id in ids {
            try tx.upsert(["n\(index)": .int(Int64(round))], id: try DocumentID(id), into: "things")
          }
        }
        if round == 0 { try network.settle() }
      }
      if round == 2 { for peer in peers { try peer.evict("x0") } }
      if round > 0 {
        cut()
        try connect()
      }
    }
    #expect(network.endpoints.allSatisfy { $0.closed == nil && $0.caughtUp != nil })
    let documents = try peers[0].documents()
    for peer in peers { try expectEqual(peer.documents(), documents) }
    #expect(longest <= SyncLimits.frameBytes + 8)
  }

  /// Of what a relay passes on, a peer that comes back hears by announcements, each transaction in one frame.
  @Test func `a transaction of many documents that is announced fits into a frame, or is found by comparing`()
    throws
  {
    let network = TestNetwork()
    let peers = try ["writer", "relay", "reader"].map { try network.addPeer($0) }
    for peer in peers { try peer.subscribe(Self.query) }
    try network.connect(peers[0], peers[1])
    let (_, reader) = try network.connect(peers[1], peers[2])
    try peers[0].put("first", ["n": .int(1)])
    try network.settle()
    try network.wait(.seconds(60))
    try network.settle()
    network.cut(reader)
    try peers[0].write { tx in
      for number in 0..<8_000 {
        try tx.upsert(["n": .int(1)], id: try DocumentID("document \(number)"), into: "things")
      }
    }
    try network.settle()
    var longest = 0
    network.onSend = { _, frame in longest = max(longest, frame.count) }
    try network.connect(peers[1], peers[2])
    try network.settle()
    #expect(network.endpoints.allSatisfy { $0.closed == nil })
    #expect(try peers[2].documents().count == 8_001)
    #expect(longest <= SyncLimits.frameBytes + 8)
  }
}

extension TestPeer {
  /// Merges a document on the wire, as one that comes from a peer.
  fileprivate func take(_ wire: [UInt8], as id: String) throws {
    let id = try DocumentID(id)
    try store.write(origin: .remote(99)) { _ = try $0.merge(wire: wire.span.bytes, id: id, in: "things") }
  }
}
