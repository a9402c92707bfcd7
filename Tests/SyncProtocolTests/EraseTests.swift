import CRDTCore
import DocStore
import Foundation
import SyncProtocol
import TestKit
import Testing

/// Erasures reach every peer that has the document, and nothing that was written before comes back.
@Suite struct EraseTests {
  private static let day: UInt64 = 86_400_000
  private static let all = "SELECT * FROM things"
  private static let canary = "a canary that must not sing"

  /// Three peers in a row, all with the document `x`.
  private func row() throws -> (network: TestNetwork, peers: [TestPeer]) {
    let network = TestNetwork()
    let peers = try ["a", "b", "c"].map { try network.addPeer($0) }
    for peer in peers { try peer.subscribe(Self.all) }
    try peers[0].put("x", ["name": .string(Self.canary), "n": .int(1)])
    try peers[0].put("y", ["n": .int(1)])
    try network.connect(peers[0], peers[1])
    try network.connect(peers[1], peers[2])
    try network.settle()
    for peer in peers { try expect(peer.document("x") != nil) }
    return (network, peers)
  }

  private func erase(_ peer: TestPeer) throws {
    try peer.write { _ = try $0.erase(DocumentID("x"), in: "things") }
  }

  /// Compacts the store of a peer, and searches its file for the text.
  private func holdsCanary(_ peer: TestPeer) throws -> Bool {
    try peer.store.compact()
    let file = try Data(contentsOf: peer.file)
    return file.range(of: Data(Self.canary.utf8)) != nil
  }

  private func expectErased(_ peers: [TestPeer]) throws {
    for peer in peers {
      try expect(peer.document("x") == nil)
      try expect(!holdsCanary(peer))
      try expectEqual(peer.documents().count, 1)
    }
  }

  @Test func `in session it reaches all peers, and none of their files has the content`() throws {
    let (network, peers) = try row()
    try erase(peers[0])
    try network.settle()
    try expectErased(peers)
  }

  @Test func `a document that was removed before is erased at connected peers, too`() throws {
    let (network, peers) = try row()
    try peers[0].remove("x")
    try network.settle()
    try erase(peers[0])
    try network.settle()
    try expectErased(peers)
  }

  @Test(arguments: [false, true])
  func `a peer that was away loses its copy, whatever is left of the erasure`(isForgotten: Bool) throws {
    let (network, peers) = try row()
    for end in network.endpoints { network.cut(end) }
    try erase(peers[0])
    if isForgotten {
      network.clock.advance(by: 40 * Self.day)
      try peers[0].forget()
      #expect(try peers[0].store.read { try $0.certificateCount() } == 1)
    }
    for peer in peers { try peer.distribute() }
    // The old copy meets the peer that has heard of it from both sides.
    try network.connect(peers[1], peers[2])
    try network.settle()
    try network.connect(peers[0], peers[1])
    try network.settle()
    try expectErased(peers)
  }

  @Test(arguments: [false, true])
  func `what a peer has of an unfinished transfer goes when it hears of the erasure`(restarts: Bool) throws {
    let network = TestNetwork()
    network.configure = {
      $0.tuning.transfers.splitBytes = 100_000
      $0.tuning.applying.bytes = 100_000
    }
    network.maximumPiece = 20_000
    let peers = try ["a", "b", "c"].map { try network.addPeer($0) }
    for peer in peers { try peer.subscribe(Self.all) }
    var random = SeededGenerator(seed: 1)
    try peers[0].write { transaction in
      try transaction.upsert(["name": .string(Self.canary)], id: try DocumentID("x"), into: "things")
      for index in 0..<200 {
        let bytes = (0..<3_000).map { _ in UInt8(random.int(below: 256)) }
        let id = try DocumentID("y\(1_000 + index)")
        try transaction.upsert(["bytes": .bytes(bytes)], id: id, into: "things")
      }
    }
    try network.connect(peers[0], peers[1])
    try network.settle()
    func meet(until bytes: Int = .max) throws {
      let (end, _) = try network.connect(peers[1], peers[2])
      end.bytesUntilCut = bytes
      try network.settle()
      network.cut(end)
    }
    try meet(until: 300_000)
    let file = try Data(contentsOf: peers[2].file)
    #expect(file.range(of: Data(Self.canary.utf8)) != nil)
    if restarts { try peers[2].restart() }
    try erase(peers[0])
    try network.settle()
    // It hears of the erasure while the transfer goes on, which may end the session: parts that it has
    // announced are gone.
    for _ in 0..<3 { try meet() }
    for peer in peers {
      try expect(peer.document("x") == nil)
      try expectEqual(peer.documents().count, 200)
      try expect(!holdsCanary(peer))
    }
  }

  @Test func `a later write of a peer that was away starts an empty document everywhere`() throws {
    let (network, peers) = try row()
    for end in network.endpoints { network.cut(end) }
    try erase(peers[0])
    network.clock.advance(by: 1_000)
    try peers[2].put("x", ["n": .int(2)])
    try network.connect(peers[0], peers[1])
    try network.connect(peers[1], peers[2])
    try network.settle()
    for peer in peers {
      try expectEqual(peer.document("x"), ["n": .int(2)])
      try expect(!holdsCanary(peer))
    }
  }

  @Test func `another meeting has nothing more to say`() throws {
    let (network, peers) = try row()
    try erase(peers[0])
    try network.settle()
    for end in network.endpoints { network.cut(end) }
    let first = network.endpoints.count
    try network.connect(peers[0], peers[1])
    try network.settle()
    let sent = network.endpoints.dropFirst(first).map(\.sentBytes)
    for end in network.endpoints { network.cut(end) }
    let second = network.endpoints.count
    try network.connect(peers[0], peers[1])
    try network.settle()
    #expect(network.endpoints.dropFirst(second).allSatisfy { $0.sentBytes <= (sent.max() ?? 0) })
  }

  /// Three peers write, remove, erase, evict and forget, and meet now and then.
  @Test(arguments: 1...25)
  func `in random histories nothing erased comes back, and all come to the same`(seed: UInt64) throws {
    let network = TestNetwork(seed: seed)
    var random = SeededGenerator(seed: seed)
    let peers = try ["a", "b", "c"].map { try network.addPeer($0) }
    for peer in peers {
      try peer.subscribe(Self.all)
      peer.store.certificateLifetime = nil
    }
    var written: [(text: String, id: String, time: UInt64)] = []
    var erased: [String: UInt64] = [:]
    for step in 0..<40 {
      network.clock.advance(by: 1 + UInt64(random.int(below: 50)))
      let peer = random.pick(peers)
      let id = "d\(random.int(below: 3))"
      switch random.int(below: 9) {
      case 0, 1, 2:
        let text = "text \(step) of \(seed)"
        try peer.put(id, [TextKey("t\(random.int(below: 3))"): .string(text)])
        written.append((text, id, network.clock.milliseconds))
      case 3: try peer.remove(id)
      case 4:
        try peer.write { _ = try $0.erase(DocumentID(id), in: "things") }
        erased[id] = network.clock.milliseconds
      case 5: try peer.evict(id)
      case 6:
        network.clock.advance(by: random.pick([3_600_000, 3 * Self.day, 30 * Self.day]))
        for peer in peers { try peer.forget() }
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
    let documents = try peers.map { try $0.documents() }
    for (peer, found) in zip(peers, documents) {
      expectEqual(found, documents[0], "seed \(seed), peer \(peer.name)")
      try expectEqual(peer.store.verify().damages, [])
      for write in written where erased[write.id].map({ write.time <= $0 }) ?? false {
        let values = found[write.id].map { Array($0.values) } ?? []
        expect(!values.contains(.string(write.text)), "seed \(seed): \(write.text) is back")
      }
    }
  }
}
