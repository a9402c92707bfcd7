import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// Two peers that write the same documents at the same time, so that their changes cross on the way.
///
/// They hold rule 2 in `Documentation/Sync.md`.
@Suite struct CrossingWritesTests {
  private func pair() throws -> (network: TestNetwork, a: Endpoint, b: Endpoint) {
    let network = TestNetwork(seed: 3)
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    for peer in [a, b] { try peer.subscribe("SELECT * FROM things") }
    let (first, second) = try network.connect(a, b)
    try network.settle()
    return (network, first, second)
  }

  @Test func `each change of one document crosses the link once`() throws {
    let (network, a, b) = try pair()
    try a.peer.put("x", ["n": .int(0)])
    try network.settle()
    let before = a.session.statistics.documentsSent + b.session.statistics.documentsSent
    let rounds = 50
    for round in 1...rounds {
      try a.peer.put("x", ["a": .int(Int64(round))])
      try b.peer.put("x", ["b": .int(Int64(round))])
      try network.settle()
    }
    let sent = Int(a.session.statistics.documentsSent + b.session.statistics.documentsSent - before)
    // Two changes a round. After sixteen changes the sender tries an operation delta again, which a crossing
    // change refuses.
    #expect(sent <= rounds * 2 + rounds / 2, "\(sent)")
    #expect(try a.peer.documents() == b.peer.documents())
    #expect(try network.debts().map(\.description) == [])
  }

  @Test func `a document that was evicted while changes crossed comes back`() throws {
    let (network, a, b) = try pair()
    try a.peer.put("x", ["n": .int(0)])
    try network.settle()
    for round in 1...10 {
      try a.peer.put("x", ["a": .int(Int64(round))])
      try b.peer.put("x", ["b": .int(Int64(round))])
      try b.peer.evict("x")
      try network.settle()
      try expectEqual(a.peer.documents(), b.peer.documents())
    }
    #expect(a.closed == nil && b.closed == nil)
  }
}
