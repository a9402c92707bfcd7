import CRDTCore
import DocStore
import ScopePolicy
import SyncProtocol
import TestKit
import Testing

@Suite struct LargeDocumentTests {
  /// Text that compresses to about half, so that chunks are packed and still many.
  private static func text(_ count: Int, seed: UInt64 = 3) -> String {
    var random = SeededGenerator(seed: seed)
    return String((0..<count).map { _ in Character(UnicodeScalar(UInt8(97 + random.int(below: 16)))) })
  }

  @Test(arguments: [60_000, 70_000, 249_000, 1_500_000])
  func `a document of any allowed size arrives whole`(size: Int) throws {
    let network = TestNetwork()
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    let fields: [TextKey: Value] = ["text": .string(Self.text(size))]
    try a.put("large", fields)
    try b.subscribe("SELECT * FROM things")
    try network.connect(a, b)
    try network.settle()
    #expect(try b.document("large") == fields)
    #expect(try network.debts().isEmpty)
  }

  /// A change that others know is announced by what it adds: that there was something before nobody heard.
  @Test(arguments: 0..<8 as Range<UInt64>)
  func `what was too large is told of whole when it is small again`(seed: UInt64) throws {
    let network = TestNetwork(seed: seed)
    let ahead = ManualClock()
    ahead.advance(by: 86_400_000)
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b", hardDocumentBytes: 3_000))
    let c = try network.addPeer("c", clock: ahead)
    for peer in [a, b, c] { try peer.subscribe("SELECT * FROM things") }
    for (one, other) in [(a, b), (b, c), (a, c)] { try network.connect(one, other) }
    try network.settle()
    // Alive there, whatever is removed elsewhere; and it stays there.
    try c.scopes.set(["things": .localPeerOnly])
    try network.settle()
    try c.put("x", ["c": .int(1)])
    try network.settle()
    try a.put("x", ["a": .int(1)])
    try network.settle()
    try b.put("x", ["text": .string(Self.text(4_000))])
    try network.settle()
    try a.remove("x")
    try network.settle()
    #expect(try network.debts().map(\.description) == [])
  }

  @Test(arguments: [0, 1, 9])
  func `every compression level carries what does not compress`(level: Int) throws {
    let network = TestNetwork()
    network.configure = { $0.compressionLevel = level }
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    var random = SeededGenerator(seed: 9)
    let noise = (0..<200_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    try a.put("large", ["bytes": .bytes(noise)])
    for index in 0..<40 {
      try a.put(
        "s\(index)", ["bytes": .bytes((0..<5_000).map { _ in UInt8(truncatingIfNeeded: random.next()) })])
    }
    try a.put("text", ["text": .string(Self.text(20_000))])
    try b.subscribe("SELECT * FROM things")
    try network.connect(a, b)
    try network.settle()
    #expect(try b.documents() == a.documents())
  }

  @Test func `a small change passes between the chunks of a large document`() throws {
    let network = TestNetwork()
    network.configure = { $0.initialWindowBytes = 16 << 10 }
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    try b.subscribe("SELECT * FROM things")
    try network.connect(a, b)
    try network.settle()
    var order: [String] = []
    b.onCommit = { commit in
      order += commit.changes.compactMap { if case .string(let id) = $0.id.value { id } else { nil } }
    }
    try a.put("large", ["text": .string(Self.text(1_000_000))])
    try network.run(steps: 12)
    try a.put("small", ["n": .int(1)])
    try network.settle()
    #expect(order == ["small", "large"])
  }

  @Test func `a document above the hard limit stays, is told of once, and the rest syncs on`() throws {
    let network = TestNetwork()
    let a = try network.addPeer("a", hardDocumentBytes: 10_000)
    let b = try network.addPeer("b", hardDocumentBytes: 10_000)
    try a.put("under", ["text": .string(Self.text(9_900))])
    try a.put("over", ["text": .string(Self.text(10_001))])
    try a.put("small", ["n": .int(1)])
    try b.subscribe("SELECT * FROM things")
    let (end, _) = try network.connect(a, b)
    try network.settle()
    #expect(try b.documents().keys.sorted() == ["small", "under"])
    try a.put("over", ["more": .int(1)])
    try a.put("small", ["n": .int(2)])
    try network.settle()
    #expect(try b.document("small")?["n"] == .int(2))
    #expect(try b.document("over") == nil)
    let told = end.events.filter {
      if case .oversize(_, let id, _) = $0 { id.value == .string("over") } else { false }
    }
    #expect(told.count == 1)
    // Made small again, it flows.
    try a.put("over", ["text": .null])
    try network.settle()
    #expect(try b.document("over")?["more"] == .int(1))
  }

  /// Two peers that each add to a document what together is too much.
  private static func merged() throws -> (TestNetwork, a: TestPeer, b: TestPeer) {
    let network = TestNetwork()
    let a = try network.addPeer("a", hardDocumentBytes: 10_000)
    let b = try network.addPeer("b", hardDocumentBytes: 10_000)
    for peer in [a, b] { try peer.subscribe("SELECT * FROM things") }
    let (end, _) = try network.connect(a, b)
    try a.put("x", ["text": .string(Self.text(4_000))])
    try network.settle()
    network.cut(end)
    try a.put("x", ["a": .string(Self.text(4_000, seed: 4))])
    try b.put("x", ["b": .string(Self.text(4_000, seed: 5))])
    return (network, a, b)
  }

  @Test func `what a merge makes too large goes on between those who hold it`() throws {
    let (network, a, b) = try Self.merged()
    var (end, other) = try network.connect(a, b)
    try network.settle()
    #expect(try a.document("x")?.count == 3 && a.documents() == b.documents())
    for one in [end, other] {
      expect(one.session.progress.isCaughtUp && !one.session.progress.isAnythingWithheld)
    }
    // Live, by what it adds.
    let sent = end.session.statistics.plainBytesSent
    try a.put("x", ["n": .int(1)])
    try network.settle()
    #expect(try b.document("x")?["n"] == .int(1))
    #expect(end.session.statistics.plainBytesSent - sent < 500)
    #expect(end.session.progress.isCaughtUp && !end.session.progress.isAnythingWithheld)
    // And after one was away.
    network.cut(end)
    try b.put("x", ["n": .int(2)])
    (end, other) = try network.connect(a, b)
    try network.settle()
    #expect(try a.document("x")?["n"] == .int(2))
    #expect(try network.debts().isEmpty)
    #expect(other.session.progress.isCaughtUp && !other.session.progress.isAnythingWithheld)
  }

  @Test func `a peer that holds nothing of what is too large is told so, until it is small enough`() throws {
    let (network, a, b) = try Self.merged()
    try network.connect(a, b)
    try network.settle()
    let c = try network.addPeer("c", hardDocumentBytes: 10_000)
    try c.subscribe("SELECT * FROM things")
    try b.put("small", ["n": .int(1)])
    let (there, here) = try network.connect(a, c)
    try network.settle()
    #expect(try c.exists("small") && !c.exists("x"))
    func isCaughtUp(_ end: Endpoint) -> Bool {
      end.events.contains { if case .caughtUp = $0 { true } else { false } }
    }
    #expect(
      there.session.progress.withheldDocuments == 1 && here.session.progress.documentsWithheldByPeer == 1)
    #expect(there.session.progress.confirmedSequence == nil && !here.session.progress.isCaughtUp)
    #expect(!isCaughtUp(here) && here.events.contains(.withheldByPeer(documents: 1)))
    // A change of it does not make it come either.
    try b.put("x", ["n": .int(1)])
    try network.settle()
    #expect(try !c.exists("x") && a.document("x")?["n"] == .int(1))
    try b.put("x", ["a": .null])
    try network.settle()
    #expect(try c.document("x") == b.document("x"))
    for one in [there, here] { expect(!one.session.progress.isAnythingWithheld) }
    #expect(here.session.progress.isCaughtUp && isCaughtUp(here))
    #expect(there.session.progress.confirmedSequence != nil)
    // Who asks for nothing of it is kept nothing back.
    try b.put("x", ["a": .string(Self.text(4_000, seed: 6))])
    try network.settle()
    try c.subscribe("SELECT * FROM things WHERE n > 5")
    try network.settle()
    #expect(!here.session.progress.isAnythingWithheld && here.session.progress.isCaughtUp)
  }
}
