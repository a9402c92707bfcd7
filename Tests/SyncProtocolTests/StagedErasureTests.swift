import CRDTCore
import DocStore
import Foundation
import SyncProtocol
import TestKit
import Testing

/// What is staged of an erased document goes with the erasure, and the transfers arrive without it.
@Suite struct StagedErasureTests {
  private static let canary = "a canary that must not sing"
  private static let documents = 200
  private static let segmentBytes = 100_000

  /// A source with one transaction in half a dozen segments, the first of which has the canary.
  private static func pair() throws -> (network: TestNetwork, source: TestPeer, peer: TestPeer) {
    let network = TestNetwork(seed: 2)
    network.configure = {
      $0.tuning.transfers.splitBytes = segmentBytes
      $0.tuning.applying.bytes = segmentBytes
    }
    network.maximumPiece = 20_000
    let source = try network.addPeer("source")
    let peer = try network.addPeer("peer")
    try peer.subscribe("SELECT * FROM things")
    try write(at: source)
    return (network, source, peer)
  }

  private static func write(at source: TestPeer) throws {
    var random = SeededGenerator(seed: 1)
    try source.write { transaction in
      for index in 0..<documents {
        let bytes = (0..<3_000).map { _ in UInt8(random.int(below: 256)) }
        var fields: [TextKey: Value] = ["bytes": .bytes(bytes)]
        if index == 5 { fields["text"] = .string(canary) }
        try transaction.upsert(fields, id: try DocumentID("d\(1_000 + index)"), into: "things")
      }
    }
  }

  /// Expects every commit to leave all documents but the erased one, or none.
  private static func watch(_ peer: TestPeer) {
    peer.onCommit = { _ in
      let count = try peer.documents().count
      expect(count == 0 || count == documents - 1, "\(count) documents are seen")
    }
  }

  /// Joins two peers until the first has sent so many bytes, and releases their sessions.
  ///
  /// - Returns: The bytes that the second one had from earlier links, and why its session ended.
  @discardableResult
  private static func connect(
    _ network: TestNetwork, _ a: TestPeer, _ b: TestPeer, until bytes: Int = .max
  ) throws -> (resumed: Int, closed: SyncError?) {
    let (end, other) = try network.connect(a, b)
    end.bytesUntilCut = bytes
    try network.settle()
    network.cut(end)
    return (Int(other.session.statistics.resumedBytes), other.closed)
  }

  private static func erase(_ id: String, at peer: TestPeer) throws {
    try peer.write { _ = try $0.erase(DocumentID(id), in: "things") }
  }

  /// Whether the file of a peer has the canary.
  private static func holds(_ peer: TestPeer) throws -> Bool {
    try Data(contentsOf: peer.file).range(of: Data(canary.utf8)) != nil
  }

  /// Whether it has the canary once its free pages are gone.
  private static func holdsInUse(_ peer: TestPeer) throws -> Bool {
    try peer.store.compact()
    return try holds(peer)
  }

  private static func staged(at peer: TestPeer) throws -> Set<StagingID> {
    try peer.store.read { try $0.stagedIDs() }
  }

  // MARK: - Transactions in segments

  @Test(arguments: [false, true])
  func `the segment with the document goes, and the others are reused`(restarts: Bool) throws {
    let (network, source, peer) = try Self.pair()
    try Self.connect(network, source, peer, until: 400_000)
    if restarts { try peer.restart() }
    #expect(try Self.holds(peer))
    try Self.erase("d1005", at: peer)
    #expect(try !Self.holdsInUse(peer))
    #expect(try !Self.staged(at: peer).isEmpty)
    Self.watch(peer)
    let second = try Self.connect(network, source, peer)
    #expect(second.closed == nil)
    #expect(second.resumed > 100_000, "\(second.resumed)")
    #expect(try peer.documents().count == Self.documents - 1)
    #expect(try !Self.holdsInUse(peer))
  }

  @Test func `one that was reported to a peer before goes, too, and the next session reuses the others`()
    throws
  {
    let (network, source, peer) = try Self.pair()
    let other = try network.addPeer("other")
    try Self.connect(network, source, peer, until: 400_000)
    // The stage in memory knows the segments now.
    let (end, _) = try network.connect(other, peer)
    try network.settle()
    try Self.erase("d1005", at: peer)
    #expect(try !Self.holdsInUse(peer))
    network.cut(end)
    Self.watch(peer)
    let second = try Self.connect(network, source, peer)
    #expect(second.closed == nil)
    #expect(second.resumed > 100_000, "\(second.resumed)")
    #expect(try peer.documents().count == Self.documents - 1)
    #expect(try !Self.holdsInUse(peer))
  }

  @Test(arguments: [false, true])
  func `the erasure of another document leaves what is staged`(restarts: Bool) throws {
    let (network, source, peer) = try Self.pair()
    try Self.connect(network, source, peer, until: 400_000)
    if restarts { try peer.restart() }
    let before = try Self.staged(at: peer)
    try Self.erase("another", at: peer)
    #expect(try Self.staged(at: peer) == before && !before.isEmpty)
    let second = try Self.connect(network, source, peer)
    #expect(second.resumed > 200_000, "\(second.resumed)")
    #expect(try peer.documents() == source.documents())
  }

  @Test(arguments: [false, true])
  func `an erasure reads nothing of which it is known what it names`(restarts: Bool) throws {
    let (network, source, peer) = try Self.pair()
    try Self.connect(network, source, peer, until: 400_000)
    if restarts { try peer.restart() }
    try Self.erase("another", at: peer)
    let reads = peer.shared.stagedReads
    // What has arrived of a segment is a transfer, which is read once.
    #expect(restarts ? reads > 1 : reads <= 1, "\(reads)")
    for number in 0..<10 { try Self.erase("another \(number)", at: peer) }
    #expect(peer.shared.stagedReads == reads)
    #expect(try Self.holds(peer))
    try Self.erase("d1005", at: peer)
    #expect(peer.shared.stagedReads == reads)
    #expect(try !Self.holdsInUse(peer))
    #expect(try !Self.staged(at: peer).isEmpty)
  }

  @Test(arguments: [false, true])
  func `a transaction that is arriving arrives as a whole, without the document`(isHere: Bool) throws {
    let (network, source, peer) = try Self.pair()
    // If the source erases it, all of the transaction may arrive before that.
    if isHere { Self.watch(peer) }
    let (_, there) = try network.connect(source, peer)
    while try !Self.holds(peer) { try #require(try network.step()) }
    try Self.erase("d1005", at: isHere ? peer : source)
    if isHere { #expect(try !Self.holdsInUse(peer)) }
    try network.settle()
    #expect(there.closed == nil, "\(there.closed as Any)")
    #expect(try peer.documents().count == Self.documents - 1)
    #expect(try Self.staged(at: peer).isEmpty)
    #expect(try !Self.holdsInUse(peer))
    #expect(try peer.store.verify().damages == [])
  }

  @Test func `what a session leaves that was running during the erasure is not kept`() throws {
    let (network, source, peer) = try Self.pair()
    func runForAWhile() throws {
      let (end, there) = try network.connect(source, peer)
      // The segment with the document is there, and is staged after the erasure.
      while there.applies.isEmpty { try #require(try network.step()) }
      there.holdsApplies = true
      try Self.erase("d1005", at: peer)
      there.holdsApplies = false
      while try !Self.holds(peer) { try #require(try network.step()) }
      network.cut(end)
    }
    try runForAWhile()
    // The next session drops what the last one has left.
    Self.watch(peer)
    #expect(try Self.connect(network, source, peer).resumed == 0)
    #expect(try peer.documents().count == Self.documents - 1)
    peer.onCommit = { _ in }
    try source.put("last", ["n": .int(0)])
    try Self.connect(network, source, peer)
    #expect(try peer.exists("last"))
    #expect(try Self.staged(at: peer).isEmpty)
    #expect(try !Self.holdsInUse(peer))
  }

  // MARK: - Large documents

  /// A document with the canary in each of its sections, which hardly get smaller when they are packed.
  private static let sections: [TextKey: Value] = {
    var random = SeededGenerator(seed: 4)
    var fields: [TextKey: Value] = ["title": .string("report")]
    for index in 0..<240 {
      let noise = String(decoding: (0..<900).map { _ in UInt8(33 + random.int(below: 90)) }, as: UTF8.self)
      fields["s\(10_000 + index)"] = .string(canary + noise)
    }
    return fields
  }()

  /// A link over which the document has come in part, and is staged in part.
  private static func link() throws -> SlowLink {
    let link = try SlowLink()
    try link.sender.put("large", sections)
    try link.connect()
    try link.run { link.arrivedBytes[1] > 40_000 }
    #expect(try holds(link.receiver) && !link.receiver.exists("large"))
    return link
  }

  @Test(arguments: [false, true])
  func `what a broken link has left of a large document goes`(restarts: Bool) throws {
    let link = try Self.link()
    link.cut()
    if restarts { try link.receiver.restart() }
    try Self.erase("large", at: link.receiver)
    #expect(try Self.staged(at: link.receiver).isEmpty)
    #expect(link.receiver.shared.stage.isEmpty)
    #expect(try !Self.holdsInUse(link.receiver))
    try link.connect()
    try link.run(for: .seconds(30))
    #expect(link.ends[1].session.statistics.resumedBytes == 0)
    #expect(try link.receiver.documents().isEmpty)
    #expect(try !Self.holdsInUse(link.receiver))
  }

  @Test func `the erasure of another document leaves what is staged of a large one`() throws {
    let link = try Self.link()
    link.cut()
    try Self.erase("another", at: link.receiver)
    let reads = link.receiver.shared.stagedReads
    #expect(reads > 0)
    for number in 0..<3 { try Self.erase("another \(number)", at: link.receiver) }
    #expect(link.receiver.shared.stagedReads == reads)
    #expect(try !Self.staged(at: link.receiver).isEmpty)
    try link.connect()
    let resumed = link.ends[1]
    try link.run { try link.receiver.exists("large") }
    #expect(resumed.session.statistics.resumedBytes > 40_000)
  }

  @Test func `of a large document that is arriving nothing more is staged`() throws {
    let link = try Self.link()
    try Self.erase("large", at: link.receiver)
    #expect(try Self.staged(at: link.receiver).isEmpty)
    try link.run(for: .milliseconds(1_500))
    #expect(try Self.staged(at: link.receiver).isEmpty)
    link.cut()
    #expect(link.receiver.shared.stage.isEmpty)
    #expect(try !Self.holdsInUse(link.receiver))
  }

  @Test func `a large document that is arriving while another one is erased arrives, and can be resumed`()
    throws
  {
    let link = try Self.link()
    try Self.erase("another", at: link.receiver)
    let arrived = link.arrivedBytes[1]
    try link.run { link.arrivedBytes[1] > arrived + 5_000 }
    link.cut()
    try link.connect()
    let resumed = link.ends[1]
    try link.run { try link.receiver.exists("large") }
    #expect(resumed.session.statistics.resumedBytes > 40_000)
    #expect(try link.receiver.documents() == link.sender.documents())
  }
}
