import CRDTCore
import DocStore
import ScopePolicy
import SyncProtocol
import TestKit
import Testing

/// Neither end counts as caught up while a document that the other wants is withheld as too large.
///
/// Both count as caught up again when no document is withheld.
@Suite struct WithheldTests {
  private static let limit = 2_000
  private static let large: Value = .string(String(repeating: "x", count: 3_000))

  /// A source with a small document and one that is too large, a peer that asks for both, and their link.
  private static func pair(
    _ query: String = "SELECT * FROM things"
  ) throws -> (network: TestNetwork, source: TestPeer, peer: TestPeer, link: Endpoint) {
    let network = TestNetwork()
    let source = try network.addPeer("source", hardDocumentBytes: limit)
    let peer = try network.addPeer("peer", hardDocumentBytes: limit)
    try source.put("small", ["n": .int(1)])
    try source.put("large", ["n": .int(1), "text": large])
    try peer.subscribe(query)
    let (link, _) = try network.connect(source, peer)
    try network.settle()
    return (network, source, peer, link)
  }

  /// Expects so many documents to be kept back at the source, and both ends to say what follows from that.
  private static func expectWithheld(
    _ count: Int, at link: Endpoint, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let source = link.session.progress
    let peer = try #require(link.other).session.progress
    #expect(source.withheldDocuments == count, sourceLocation: sourceLocation)
    #expect(peer.documentsWithheldByPeer == count, sourceLocation: sourceLocation)
    #expect((source.confirmedSequence == nil) == (count > 0), sourceLocation: sourceLocation)
    for progress in [source, peer] {
      expectEqual(progress.isCaughtUp, count == 0, sourceLocation: sourceLocation)
    }
  }

  @Test func `what the peer has beside it is known, document by document`() throws {
    let (network, source, peer, link) = try Self.pair()
    let delivery = link.session.delivery
    #expect(delivery.servedSequence == (try source.store.read { $0.sequence }))
    #expect(delivery.queries == peer.queries && delivery.isInterestKnown && !delivery.pullsNothing)
    let keys = try source.store.read { transaction in
      let things = try #require(try transaction.collection("things"))
      return try ["small", "large"].map { DocumentKey(collection: things.id, id: try DocumentID($0)) }
    }
    #expect(keys.map(delivery.withholds) == [false, true] && delivery.withheldDocuments == 1)
    let kept = delivery.kept(atMost: delivery.interestBytes)
    #expect(kept.queries == peer.queries && kept.servedSequence == delivery.servedSequence)
    let unknown = delivery.kept(atMost: delivery.interestBytes - 1)
    #expect(!unknown.isInterestKnown && !unknown.pullsNothing && unknown.queries.isEmpty)
    // All that the source asks for is there, and the peer's is not.
    #expect(link.session.hasAllOfPeer && link.other?.session.hasAllOfPeer == false)
    try peer.subscribe([])
    try network.settle()
    #expect(link.session.delivery.pullsNothing && link.session.delivery.servedSequence == nil)
    #expect(link.session.delivery.kept(atMost: 0).pullsNothing)
    #expect(link.other?.session.hasAllOfPeer == true)
  }

  @Test func `what was kept back is kept back also when the two meet again`() throws {
    var (network, source, peer, link) = try Self.pair()
    try Self.expectWithheld(1, at: link)
    // Long enough for the cursor to be written that the next session goes on from.
    for _ in 0..<3 {
      try network.wait(.seconds(40))
      try network.settle()
    }
    network.cut(link)
    (link, _) = try network.connect(source, peer)
    try network.settle()
    try Self.expectWithheld(1, at: link)
    // Made small while both are apart, it comes.
    network.cut(link)
    try source.put("large", ["text": .null])
    (link, _) = try network.connect(source, peer)
    try network.settle()
    #expect(try peer.exists("large"))
    try Self.expectWithheld(0, at: link)
  }

  @Test func `what grows while both are connected is kept back also when they meet again`() throws {
    var (network, source, peer, link) = try Self.pair()
    try source.put("large", ["text": .null])
    try network.settle()
    try Self.expectWithheld(0, at: link)
    try source.put("other", ["text": Self.large])
    for _ in 0..<3 {
      try network.wait(.seconds(40))
      try network.settle()
    }
    try Self.expectWithheld(1, at: link)
    network.cut(link)
    (link, _) = try network.connect(source, peer)
    try network.settle()
    try Self.expectWithheld(1, at: link)
  }

  @Test func `no mark goes out before the word that something is kept back`() throws {
    let (network, source, _, link) = try Self.pair()
    try source.put("large", ["text": .null])
    try network.settle()
    try network.wait(.seconds(40))
    try network.settle()
    var frames: [FrameType] = []
    network.onSend = { end, frame in
      if end === link, let type = FrameType(of: frame) { frames.append(type) }
    }
    try source.put("other", ["text": Self.large])
    try source.put("next", ["n": .int(1)])
    try network.settle()
    try network.wait(.seconds(40))
    try network.settle()
    let word = try #require(frames.firstIndex(of: .withheld))
    if let mark = frames.firstIndex(of: .mark) { #expect(word < mark) }
  }

  @Test func `asking for another collection, too, forgets nothing that is kept back`() throws {
    let (network, source, peer, link) = try Self.pair()
    try peer.subscribe("SELECT * FROM things", "SELECT * FROM parts")
    try network.settle()
    try Self.expectWithheld(1, at: link)
    // Who asks for the collection no longer is kept nothing back of it.
    try peer.subscribe("SELECT * FROM parts")
    try network.settle()
    try Self.expectWithheld(0, at: link)
    try peer.subscribe("SELECT * FROM things")
    try network.settle()
    try Self.expectWithheld(1, at: link)
    try source.evict("large")
    try network.settle()
    try Self.expectWithheld(0, at: link)
  }

  @Test func `what matches no longer is not kept back`() throws {
    let (network, source, _, link) = try Self.pair("SELECT * FROM things WHERE n < 5")
    try Self.expectWithheld(1, at: link)
    try source.put("large", ["n": .int(7)])
    try network.settle()
    try Self.expectWithheld(0, at: link)
  }

  @Test func `what a scope keeps here is none of the peer's concern`() throws {
    let (network, source, peer, link) = try Self.pair()
    try peer.subscribe("SELECT * FROM things", "SELECT * FROM parts")
    try network.settle()
    try source.scopes.set(["things": .localPeerOnly])
    try link.perform(link.session.policyChanged(now: network.now))
    try network.settle()
    try Self.expectWithheld(0, at: link)
    try source.scopes.set([:] as [TextKey: SyncScope])
    try link.perform(link.session.policyChanged(now: network.now))
    try network.settle()
    try Self.expectWithheld(1, at: link)
  }

  @Test func `beyond those that are told apart further ones of a collection count as one`() throws {
    let network = TestNetwork()
    let source = try network.addPeer("source", hardDocumentBytes: 200)
    let peer = try network.addPeer("peer")
    let text = Value.string(String(repeating: "x", count: 300))
    try source.write { transaction in
      for index in 0..<1_030 {
        try transaction.upsert(["text": text], id: try DocumentID("d\(index)"), into: "things")
      }
    }
    try peer.subscribe("SELECT * FROM things")
    var (link, _) = try network.connect(source, peer)
    try network.settle()
    try Self.expectWithheld(1_025, at: link)
    // Whichever of them were told apart, some of the others stay.
    try source.write { transaction in
      for index in 0..<1_029 { try transaction.evict(try DocumentID("d\(index)"), in: "things") }
    }
    try network.settle()
    #expect(!link.session.progress.isCaughtUp && link.session.progress.isAnythingWithheld)
    network.cut(link)
    (link, _) = try network.connect(source, peer)
    try network.settle()
    try Self.expectWithheld(1, at: link)
  }

  @Test func `what the peer has got another way is not kept back`() throws {
    let (network, source, peer, link) = try Self.pair()
    try Self.expectWithheld(1, at: link)
    let generous = try network.addPeer("generous")
    // A peer with another limit holds a copy as it was once, and so is sent what is new.
    try generous.subscribe("SELECT * FROM things")
    try source.put("large", ["text": .null])
    let (other, _) = try network.connect(source, generous)
    try network.settle()
    network.cut(link)
    let (third, _) = try network.connect(generous, peer)
    try network.settle()
    network.cut(third)
    try peer.evict("large")
    try source.put("large", ["text": Self.large])
    try network.settle()
    #expect(try generous.exists("large"))
    let (again, _) = try network.connect(source, peer)
    try network.settle()
    try Self.expectWithheld(1, at: again)
    let (last, _) = try network.connect(generous, peer)
    try network.settle()
    #expect(try peer.document("large")?["text"] == Self.large)
    try Self.expectWithheld(0, at: again)
    for end in [other, last] { expect(end.session.progress.isCaughtUp) }
  }
}
