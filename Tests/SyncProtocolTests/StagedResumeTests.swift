import CRDTCore
import DocStore
import ScopePolicy
import SyncProtocol
import TestKit
import Testing

/// A transaction too large for one group goes on where its link broke, part for part.
@Suite struct StagedResumeTests {
  private static let partBytes = 100_000
  private static let documents = 400
  /// About what one document takes on the wire, with text that does not pack well.
  private static let documentBytes = 3_000

  /// A source with one transaction in a dozen parts, and a peer that subscribes to it.
  private static func pair(
    isWritten: Bool = true, stagedBytes: Int? = nil
  ) throws -> (network: TestNetwork, source: TestPeer, peer: TestPeer) {
    let network = TestNetwork(seed: 2)
    network.configure = {
      $0.tuning.transfers.splitBytes = partBytes
      $0.tuning.applying.bytes = partBytes
    }
    network.maximumPiece = 20_000
    let source = try network.addPeer("source")
    let peer = try network.addPeer("peer", stagedBytes: stagedBytes)
    try peer.subscribe("SELECT * FROM things")
    if isWritten { try write(at: source) }
    watch(peer)
    return (network, source, peer)
  }

  private static func write(at source: TestPeer) throws {
    var random = SeededGenerator(seed: 1)
    try source.write { transaction in
      for index in 0..<documents {
        let bytes = (0..<documentBytes).map { _ in UInt8(random.int(below: 256)) }
        let id = try DocumentID("d\(1_000 + index)")
        try transaction.upsert(["bytes": .bytes(bytes)], id: id, into: "things")
      }
    }
  }

  /// Expects every commit to leave all documents, or none, beside others.
  private static func watch(_ peer: TestPeer, and others: Int = 0) {
    peer.onCommit = { _ in
      let count = try peer.documents().count - others
      expect(count == 0 || count == documents, "\(count) documents are seen")
    }
  }

  /// Joins two peers until the first has sent so many bytes, and lets go of their sessions.
  ///
  /// - Returns: What it sent, and what of it the other one had.
  @discardableResult
  private static func connect(
    _ network: TestNetwork, _ a: TestPeer, _ b: TestPeer, until bytes: Int = .max
  ) throws -> (sent: Int, resumed: Int) {
    let (end, other) = try network.connect(a, b)
    end.bytesUntilCut = bytes
    try network.settle()
    expectEqual([end, other].compactMap(\.closed).map { "\($0)" }, [])
    network.cut(end)
    return (min(end.sentBytes, bytes), Int(other.session.statistics.resumedBytes))
  }

  @Test(arguments: [true, false], [250_000, 640_000, 1_100_000])
  func `after a cut next to nothing is sent again`(restarts: Bool, bytes: Int) throws {
    let (network, source, peer) = try Self.pair()
    let first = try Self.connect(network, source, peer, until: bytes)
    #expect(first.resumed == 0)
    if restarts { try peer.restart() }
    let second = try Self.connect(network, source, peer)
    #expect(try peer.documents() == source.documents())
    let all = Self.documents * Self.documentBytes
    // The data in flight and the bytes after the last whole chunk. After a restart, also the segment not yet
    // staged.
    let again = first.sent + second.sent - all
    #expect(again < 60_000 + (restarts ? Self.partBytes : 0), "\(again) of \(all)")
    #expect(second.resumed > bytes - 60_000 - (restarts ? Self.partBytes : 0))
  }

  @Test func `over a link that never lasts for half of it it arrives all the same`() throws {
    let (network, source, peer) = try Self.pair()
    var rounds = 0
    while try peer.documents().isEmpty, rounds < 12 {
      rounds += 1
      try Self.connect(network, source, peer, until: 300_000)
      if rounds % 3 == 0 { try peer.restart() }
    }
    #expect(try !peer.documents().isEmpty)
  }

  @Test func `so does one that is made while the link is there`() throws {
    for isHeld in [false, true] {
      let (network, source, peer) = try Self.pair(isWritten: false)
      if isHeld { try source.subscribe("SELECT * FROM things") }
      try source.put("first", ["n": .int(1)])
      peer.onCommit = { _ in }
      let (end, _) = try network.connect(source, peer)
      try network.settle()
      Self.watch(peer, and: 1)
      end.bytesUntilCut = 700_000
      try Self.write(at: source)
      try network.settle()
      network.cut(end)
      try expectEqual(peer.documents().count, 1)
      try expect(Self.connect(network, source, peer).resumed > 500_000)
      try expectEqual(peer.documents(), source.documents())
    }
  }

  @Test func `a change meanwhile sends what it changed`() throws {
    let (network, source, peer) = try Self.pair()
    try Self.connect(network, source, peer, until: 700_000)
    try source.write { transaction in
      for id in ["d1010", "d1100"] {
        try transaction.update(try DocumentID(id), in: "things", [.set(["n"], .int(1))])
      }
    }
    let second = try Self.connect(network, source, peer)
    #expect(try peer.documents() == source.documents())
    #expect(second.resumed > 700_000 - 3 * Self.partBytes)
  }

  @Test func `another peer that has all of it goes on with it`() throws {
    let (network, source, peer) = try Self.pair()
    let other = try network.addPeer("other")
    try other.subscribe("SELECT * FROM things")
    try Self.connect(network, source, other)
    try Self.connect(network, source, peer, until: 700_000)
    let second = try Self.connect(network, other, peer)
    #expect(try peer.documents() == source.documents())
    #expect(second.resumed > 500_000)
  }

  @Test func `nobody is told of it who may not know`() throws {
    let (network, source, peer) = try Self.pair()
    let cloud = try network.addPeer("cloud", .big)
    try peer.scopes.set(["things": .smallPeersOnly])
    try Self.connect(network, source, peer, until: 700_000)
    for restarts in [false, true] {
      if restarts { try peer.restart() }
      var told = 0
      network.onSend = { end, bytes in
        if FrameType(of: bytes) == .staged { told += end.peer === peer ? 1 : 0 }
      }
      try Self.connect(network, cloud, peer)
      expectEqual(told, 0)
    }
    #expect(try Self.connect(network, source, peer).resumed > 500_000)
  }

  @Test func `where there is room for it only once it is seen whole all the same`() throws {
    let (network, source, peer) = try Self.pair(stagedBytes: 1_500_000)
    try Self.connect(network, source, peer, until: 1_100_000)
    let second = try Self.connect(network, source, peer)
    #expect(try peer.documents() == source.documents())
    // What takes more than half of the room is let go of.
    #expect(500_000..<750_000 ~= second.resumed)
  }

  @Test func `parts that are gone end the session, and the next one sends all`() throws {
    let (network, source, peer) = try Self.pair()
    try Self.connect(network, source, peer, until: 700_000)
    var isTold = false
    network.onSend = { _, bytes in if FrameType(of: bytes) == .staged { isTold = true } }
    let (end, there) = try network.connect(source, peer)
    while !isTold { try #require(try network.step()) }
    for id in try peer.store.read({ try $0.stagedIDs() }) {
      _ = try peer.store.write { try $0.unstage(id) }
    }
    try network.settle()
    #expect(there.closed?.code == .closed)
    network.cut(end)
    #expect(try Self.connect(network, source, peer).resumed == 0)
    #expect(try peer.documents() == source.documents())
  }

  @Test func `parts that the store has forgotten meanwhile are not told of`() throws {
    let (network, source, peer) = try Self.pair()
    try Self.connect(network, source, peer, until: 700_000)
    let other = try network.addPeer("other")
    // Whoever comes first learns of them.
    try Self.connect(network, other, peer)
    for id in try peer.store.read({ try $0.stagedIDs() }) {
      _ = try peer.store.write { try $0.unstage(id) }
    }
    let second = try Self.connect(network, source, peer)
    #expect(second.resumed < Self.partBytes)
    #expect(try peer.documents() == source.documents())
  }

  @Test func `a receiver that is slow to store is not given all at once`() throws {
    let (network, source, peer) = try Self.pair()
    try Self.connect(network, source, peer, until: 900_000)
    let configure = network.configure
    network.configure = {
      configure(&$0)
      $0.tuning.applying.creditBytes = 150_000
    }
    let (_, there) = try network.connect(source, peer)
    there.holdsApplies = true
    try network.settle()
    // One part, until it has said what it takes; then about that.
    #expect(Self.partBytes..<(2 * Self.partBytes) ~= there.session.footprint.unappliedBytes)
    there.holdsApplies = false
    while there.applies.isEmpty { try #require(try network.step()) }
    var most = 0
    while try network.step() { most = max(most, there.session.footprint.unappliedBytes) }
    #expect(most < 150_000 + 2 * Self.partBytes)
    #expect(try peer.documents() == source.documents())
  }

  @Test func `what was kept of it goes when it is here`() throws {
    let (network, source, peer) = try Self.pair()
    try Self.connect(network, source, peer, until: 700_000)
    try Self.connect(network, source, peer)
    #expect(peer.shared.stage.isEmpty)
    peer.onCommit = { _ in }
    try source.put("another", ["n": .int(1)])
    try Self.connect(network, source, peer)
    #expect(try peer.store.read { try $0.stagedIDs() } == [])
  }
}
