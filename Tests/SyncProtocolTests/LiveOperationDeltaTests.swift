import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// Live changes as single writes on top of the state that the peer has.
@Suite struct LiveOperationDeltaTests {
  private static let id = "abcdefghijklmnopqrstuvwx"
  private static let query = "SELECT * FROM things"

  /// Peers that all subscribe to everything from each other, at rest, with one document.
  private func mesh(_ names: String...) throws -> (TestNetwork, [TestPeer]) {
    let network = TestNetwork()
    let peers = try names.map { try network.addPeer($0) }
    try peers[0].put(Self.id, ["status": .string("open"), "n": .int(1), "views": .counter(0)])
    for peer in peers { try peer.subscribe(Self.query) }
    for (index, peer) in peers.enumerated() {
      for other in peers[..<index] { try network.connect(other, peer) }
    }
    try network.settle()
    return (network, peers)
  }

  private func missing(_ peer: TestPeer) -> UInt64 {
    peer.endpoints.reduce(0) { $0 + $1.session.statistics.transactionsMissingBase }
  }

  private func received(_ peer: TestPeer) -> UInt64 {
    peer.endpoints.reduce(0) { $0 + $1.session.statistics.plainBytesReceived }
  }

  @Test func `one field goes out in at most 60 bytes with an id of 24 letters`() throws {
    let (network, peers) = try mesh("a", "b")
    for round in 0..<6 {
      let writer = peers[round % 2]
      let reader = peers[1 - round % 2]
      network.clock.advance(by: 3_600_000)
      let before = received(reader)
      try writer.put(Self.id, ["status": .string("step \(round)")])
      try network.settle()
      try expectEqual(reader.document(Self.id)?["status"], .string("step \(round)"))
      // The group adds its length, a count, the collection, flags, and the length of the document.
      let group = 1 + 1 + 7 + 1 + 1
      // Whoever writes for the first time names the site.
      if round != 1 { expect(Int(received(reader) - before) <= 60 + group, "round \(round)") }
    }
    #expect(missing(peers[0]) + missing(peers[1]) == 0)
  }

  @Test func `what comes by two ways is known the second time`() throws {
    let (network, peers) = try mesh("a", "b", "c", "d")
    for round in 0..<12 {
      try peers[round % 4].write { transaction in
        try transaction.update(
          try DocumentID(Self.id), in: "things",
          round % 3 == 0 ? [.increment(["views"], 1)] : [.set(["n"], .int(Int64(round)))])
      }
      try network.settle()
      for peer in peers { try expectEqual(peer.document(Self.id), peers[0].document(Self.id)) }
    }
    #expect(try peers[3].document(Self.id)?["views"] == .counter(4))
    #expect(peers.reduce(0) { $0 + missing($1) } == 0)
  }

  @Test func `writes at both ends at once cross, are asked for, and then go as deltas for a while`() throws {
    let (network, peers) = try mesh("a", "b")
    func crossing(_ round: Int) throws {
      for (index, peer) in peers.enumerated() {
        try peer.write { transaction in
          try transaction.update(
            try DocumentID(Self.id), in: "things",
            [.set(["from\(index)"], .int(Int64(round))), .increment(["views"], 1)])
        }
      }
      try network.settle()
      for peer in peers {
        try expectEqual(peer.document(Self.id)?["from0"], .int(Int64(round)))
        try expectEqual(peer.document(Self.id)?["from1"], .int(Int64(round)))
        try expectEqual(peer.document(Self.id)?["views"], .counter(Int64(2 * round)))
      }
    }
    try crossing(1)
    let asked = missing(peers[0]) + missing(peers[1])
    #expect(asked > 0)
    for round in 2..<12 { try crossing(round) }
    #expect(missing(peers[0]) + missing(peers[1]) == asked)
  }

  @Test func `a group with a document that was written at both ends becomes visible whole`() throws {
    let (network, peers) = try mesh("a", "b")
    try peers[0].put("other", ["n": .int(0)])
    try network.settle()
    var seen: [[Int64?]] = []
    peers[1].onCommit = { commit in
      guard commit.origin != .user else { return }
      seen.append(
        try ["other", Self.id].map { id in
          if case .int(let n)? = try peers[1].document(id)?["n"] { n } else { nil }
        })
    }
    try peers[0].write { transaction in
      for id in ["other", Self.id] {
        try transaction.update(try DocumentID(id), in: "things", [.set(["n"], .int(7))])
      }
    }
    try peers[1].put("other", ["mine": .int(1)])
    try network.settle()
    #expect(!seen.isEmpty && seen.allSatisfy { $0 == [7, 7] })
    #expect(try peers[0].documents() == peers[1].documents())
  }
}
