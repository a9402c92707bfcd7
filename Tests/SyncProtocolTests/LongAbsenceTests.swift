import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// A peer that was away for longer than tombstones live, and comes back with what was deleted meanwhile.
@Suite struct LongAbsenceTests {
  private static let day: UInt64 = 86_400_000
  private static let all = "SELECT * FROM things"

  /// Two peers that held `x`; then `a` deleted it, and has nothing left of it but a certificate.
  private func parted(
    others: Int = 0, subscribers: [String] = ["a", "b"], _ meanwhile: (TestPeer) throws -> Void = { _ in }
  ) throws -> (TestNetwork, TestPeer, TestPeer) {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    for peer in [a, b] { try peer.subscribe(Self.all) }
    try a.put("x", ["n": .int(1)])
    for number in 0..<others { try a.put("other\(number)", ["n": .int(1)]) }
    let (end, _) = try network.connect(a, b)
    try network.settle()
    #expect(try b.document("x") != nil)
    network.cut(end)
    for peer in [a, b] where !subscribers.contains(peer.name) { try peer.subscribe() }
    try a.remove("x")
    network.clock.advance(by: 3 * Self.day)
    try meanwhile(b)
    network.clock.advance(by: 27 * Self.day)
    try a.forget()
    // Nobody is told of a commit a month later.
    for peer in [a, b] { try peer.distribute() }
    #expect(try a.store.read { try $0.certificateCount() } == 1)
    return (network, a, b)
  }

  private func summary(_ peer: TestPeer) throws -> Summary? {
    try peer.store.read { tx in
      guard let things = try tx.collection("things") else { return nil }
      return try tx.withRecord(things, DocumentID("x")) { $1 }
    }
  }

  @Test(arguments: [0, 5, 300], [["a", "b"], ["b"]])
  func `learns of the deletion and brings nothing back`(others: Int, subscribers: [String]) throws {
    let (network, a, b) = try parted(others: others, subscribers: subscribers)
    try network.connect(a, b)
    try network.settle()
    for peer in [a, b] {
      try expect(peer.document("x") == nil)
      try expectEqual(peer.documents().count, others)
    }
    // Another meeting has nothing more to say.
    let sent = network.endpoints.map(\.sentBytes)
    try network.connect(a, b)
    try network.settle()
    #expect(try b.document("x") == nil)
    #expect(network.endpoints.prefix(2).map(\.sentBytes) == sent)
  }

  @Test func `what it wrote unaware of the deletion is kept, and reported when it goes`() throws {
    let (network, a, b) = try parted { b in
      try b.write { try $0.update(DocumentID("x"), in: "things", [.set(["offline"], .int(1))]) }
    }
    try network.connect(a, b)
    try network.settle()
    for peer in [a, b] { try expect(peer.document("x") == nil) }
    #expect(try summary(a) == summary(b))
    #expect(try a.store.read { try $0.certificateCount() } == 0)
    network.clock.advance(by: 8 * Self.day)
    for peer in [a, b] {
      try peer.forget()
      try expectEqual(peer.store.read { try $0.certificateCount() }, 1)
      expect(peer.log.all.contains { $0.contains("forgotten") })
    }
    #expect(try summary(a) == summary(b))
  }

  @Test func `an upsert that it made unaware of the deletion revives the document everywhere`() throws {
    let (network, a, b) = try parted { b in try b.put("x", ["m": .int(2)]) }
    try network.connect(a, b)
    try network.settle()
    for peer in [a, b] { try expectEqual(peer.document("x"), ["n": .int(1), "m": .int(2)]) }
    #expect(try a.store.read { try $0.certificateCount() } == 0)
  }

  @Test
  func `an insert over a certificate starts afresh everywhere, with what was written after the deletion`()
    throws
  {
    let (network, a, b) = try parted { b in
      try b.write { try $0.update(DocumentID("x"), in: "things", [.set(["offline"], .int(1))]) }
    }
    try a.put("x", ["new": .int(1)])
    try network.connect(a, b)
    try network.settle()
    for peer in [a, b] { try expectEqual(peer.document("x"), ["new": .int(1), "offline": .int(1)]) }
  }

  @Test func `a certificate that has had its time too no longer holds an older copy off: that is its limit`()
    throws
  {
    let (network, a, b) = try parted()
    a.store.certificateLifetime = .seconds(3_600)
    network.clock.advance(by: Self.day)
    try a.store.collect()
    #expect(try a.store.read { try $0.certificateCount() } == 0)
    let c = try network.addPeer("c")
    try c.subscribe(Self.all)
    try network.connect(b, c)
    try network.settle()
    try network.connect(c, a)
    try network.settle()
    for peer in [a, b, c] { try expectEqual(peer.document("x"), ["n": .int(1)]) }
  }

  @Test func `a tombstone that was evicted holds an older copy off as a collected one does`() throws {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    for peer in [a, b] { try peer.subscribe(Self.all) }
    try a.put("x", ["n": .int(1)])
    let (end, _) = try network.connect(a, b)
    try network.settle()
    network.cut(end)
    try a.remove("x")
    try a.write { try $0.evict(DocumentID("x"), in: "things") }
    try network.connect(a, b)
    try network.settle()
    for peer in [a, b] { try expect(peer.document("x") == nil) }
  }

  /// Three peers come and go for hours or years; every document is made once, and some are deleted once.
  @Test(arguments: 1...25)
  func `in random histories nothing deleted comes back, and nothing else is lost`(seed: UInt64) throws {
    let network = TestNetwork(seed: seed)
    var random = SeededGenerator(seed: seed)
    let peers = try ["a", "b", "c"].map { try network.addPeer($0) }
    for peer in peers {
      try peer.subscribe(Self.all)
      peer.store.certificateLifetime = nil
    }
    var removed: Set<String> = []
    var expected: [String: [TextKey: Value]] = [:]
    for step in 0..<40 {
      let peer = random.pick(peers)
      let known = try peer.documents().keys.sorted()
      switch random.int(below: 8) {
      case 0, 1:
        try peer.put("d\(step)", ["n": .int(Int64(step))])
        expected["d\(step)"] = ["n": .int(Int64(step))]
      case 2, 3:
        guard !known.isEmpty else { continue }
        let id = random.pick(known)
        try peer.write {
          try $0.update(DocumentID(id), in: "things", [.set(["u\(step)"], .int(Int64(step)))])
        }
        expected[id]?["u\(step)"] = .int(Int64(step))
      case 4:
        guard !known.isEmpty else { continue }
        let id = random.pick(known)
        try peer.remove(id)
        removed.insert(id)
      case 5:
        let absence = random.pick([3_600_000, 3 * Self.day, 30 * Self.day, 3_650 * Self.day])
        network.clock.advance(by: absence)
        for peer in peers {
          if absence > 7 * Self.day { try peer.forget() } else { try peer.store.collect() }
        }
      default:
        let other = random.pick(peers)
        guard other !== peer else { continue }
        let (end, _) = try network.connect(peer, other)
        try network.settle()
        network.cut(end)
      }
    }
    for (left, right) in [(0, 1), (1, 2), (0, 2), (0, 1), (1, 2)] {
      let (end, _) = try network.connect(peers[left], peers[right])
      try network.settle()
      network.cut(end)
    }
    for id in removed { expected[id] = nil }
    for peer in peers {
      let documents = try peer.documents()
      try expectEqual(peer.store.verify().damages, [])
      expectEqual(documents, expected, "seed \(seed), peer \(peer.name)")
    }
  }
}
