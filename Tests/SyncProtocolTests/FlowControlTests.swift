import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

@Suite struct FlowControlTests {
  @Test func `a receiver that does not apply stops the sender at the window`() throws {
    let network = TestNetwork()
    network.configure = { $0.initialWindowBytes = 32 << 10 }
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    var random = SeededGenerator(seed: 4)
    for index in 0..<400 {
      try a.put(
        "d\(index)", ["bytes": .bytes((0..<2_000).map { _ in UInt8(truncatingIfNeeded: random.next()) })])
    }
    try b.subscribe("SELECT * FROM things")
    let (sender, receiver) = try network.connect(a, b)
    receiver.holdsApplies = true
    try network.settle()
    // The window, one more piece, and what is no data.
    #expect(sender.sentBytes < (32 << 10) + (64 << 10) + 2_000)
    #expect(sender.sentBytes > 16 << 10)
    receiver.holdsApplies = false
    try network.settle()
    #expect(try b.documents().count == 400)
  }

  @Test func `nothing is acknowledged before it is applied`() throws {
    let network = TestNetwork()
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    try a.put("x", ["n": .int(1)])
    try b.subscribe("SELECT * FROM things")
    let (_, receiver) = try network.connect(a, b)
    var acknowledgements = 0
    network.onSend = { end, bytes in
      if end === receiver, FrameType(of: bytes) == .acknowledge { acknowledgements += 1 }
    }
    receiver.holdsApplies = true
    try network.settle()
    #expect(acknowledgements == 0)
    #expect(receiver.applies.count == 1)
    receiver.holdsApplies = false
    try network.settle()
    #expect(acknowledgements == 1)
    #expect(receiver.caughtUp != nil)
  }

  @Test func `a store that fails ends the session and acknowledges nothing`() throws {
    let network = TestNetwork()
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    try a.put("x", ["n": .int(1)])
    try b.subscribe("SELECT * FROM things")
    let (sender, receiver) = try network.connect(a, b)
    receiver.holdsApplies = true
    try network.settle()
    let batch = try #require(receiver.applies.first)
    struct Full: Error {}
    try receiver.perform(receiver.session.applied(batch.ticket, .failure(Full()), now: network.now))
    #expect(receiver.closed?.code == .storage)
    try network.settle()
    #expect(sender.closed?.code == .peerClosed)
  }

  @Test func `what a session was never told of is found by comparing`() throws {
    let network = TestNetwork()
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    for index in 0..<20 { try a.put("d\(index)", ["n": .int(0)]) }
    try a.subscribe("SELECT * FROM things")
    try b.subscribe("SELECT * FROM things")
    let (first, second) = try network.connect(a, b)
    try network.settle()
    for index in 10..<30 { try a.put("d\(index)", ["n": .int(1)]) }
    try b.evict("d3")
    for (peer, endpoint) in [(a, first), (b, second)] {
      try peer.distribute()
      let sequence = try #require(endpoint.commits.last?.sequence)
      endpoint.commits = []
      try endpoint.perform(endpoint.session.lostCommits(through: sequence, now: network.now))
    }
    try network.settle()
    #expect(try b.documents() == a.documents())
    #expect(try b.documents().count == 30)
    #expect(try network.debts().isEmpty)
    // And from then on what happens is told again.
    try a.put("d0", ["n": .int(2)])
    try network.settle()
    #expect(try b.document("d0")?["n"] == .int(2))
  }

  @Test func `two peers that agree spend few bytes to find that out`() throws {
    let network = TestNetwork()
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    try a.write { transaction in
      for index in 0..<2_000 {
        try transaction.upsert(["n": .int(Int64(index))], id: try DocumentID("d\(index)"), into: "things")
      }
    }
    try b.subscribe("SELECT * FROM things")
    let (end, _) = try network.connect(a, b)
    try network.settle()
    network.cut(end)
    let (sender, receiver) = try network.connect(a, b)
    try network.settle()
    #expect(receiver.caughtUp != nil)
    #expect(sender.sentBytes + receiver.sentBytes < 300)
  }

  @Test func `one difference among many is found in few bytes`() throws {
    let network = TestNetwork()
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    try a.write { transaction in
      for index in 0..<5_000 {
        try transaction.upsert(["n": .int(Int64(index))], id: try DocumentID("d\(index)"), into: "things")
      }
    }
    try b.subscribe("SELECT * FROM things")
    let (end, _) = try network.connect(a, b)
    try network.settle()
    network.cut(end)
    try a.put("d1234", ["n": .int(-1)])
    let (sender, receiver) = try network.connect(a, b)
    try network.settle()
    #expect(try b.document("d1234")?["n"] == .int(-1))
    #expect(sender.sentBytes + receiver.sentBytes < 5_000)
  }
}
