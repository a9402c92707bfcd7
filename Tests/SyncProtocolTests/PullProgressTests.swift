import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// A pull says how far it has come: it never goes backwards, and ends at the true numbers.
@Suite struct PullProgressTests {
  private static let count = 1_300

  /// What one end has said of its pull, and what the next word must not contradict.
  private struct Watch {
    let end: Endpoint
    private(set) var last: PullProgress
    /// What was expected first.
    private(set) var firstExpected: UInt64?
    /// How many different parts of the whole there were.
    private(set) var steps = 0

    init(_ end: Endpoint) {
      self.end = end
      last = end.session.progress.pull
    }

    mutating func look() {
      let now = end.session.progress.pull
      defer { last = now }
      if let expected = now.documentsExpected { expect(expected >= now.documentsReceived, "\(now)") }
      if let expected = now.bytesExpected { expect(expected >= now.bytesReceived, "\(now)") }
      expect((0.0...1.0).contains(now.fractionCompleted), "\(now)")
      let isOver = now.fractionCompleted == 1
      if isOver { expect(!now.isEstimate && now.documentsExpected == now.documentsReceived, "\(now)") }
      firstExpected = firstExpected ?? now.documentsExpected
      // Another pull begins after the end of one.
      if last.fractionCompleted == 1, !isOver { return }
      expect(now.documentsReceived >= last.documentsReceived, "\(now) after \(last)")
      expect(now.bytesReceived >= last.bytesReceived, "\(now) after \(last)")
      expect(now.fractionCompleted >= last.fractionCompleted, "\(now) after \(last)")
      expect(last.documentsExpected == nil || now.documentsExpected != nil, "\(now) after \(last)")
      if now.fractionCompleted > last.fractionCompleted { steps += 1 }
    }
  }

  /// Lets everything happen until all is quiet, and looks after each step.
  private static func settle(_ network: TestNetwork, _ watches: inout [Watch]) throws {
    for _ in 0..<200_000 {
      guard try network.step() else { return }
      for index in watches.indices { watches[index].look() }
    }
  }

  private static func source(in network: TestNetwork, _ name: String = "source") throws -> TestPeer {
    let source = try network.addPeer(name)
    for index in 0..<count {
      try source.write { transaction in
        try transaction.upsert(["n": .int(Int64(index))], id: try DocumentID("d\(index)"), into: "things")
      }
    }
    // No session is to send them as changes of its own time.
    _ = source.takeCommits()
    return source
  }

  /// Expects the numbers of a session whose first pull is over.
  private static func expectTrue(_ end: Endpoint, documents: Int) {
    let (pull, statistics) = (end.session.progress.pull, end.session.statistics)
    expect(end.session.progress.isCaughtUp)
    expectEqual(pull.documentsReceived, UInt64(documents))
    expectEqual(pull.documentsReceived, statistics.documentsReceived)
    expectEqual(pull.documentsExpected, statistics.documentsReceived)
    expectEqual(pull.bytesReceived, statistics.plainBytesReceived)
    expectEqual(pull.bytesExpected, statistics.plainBytesReceived)
    expectEqual(pull.fractionCompleted, 1)
    expect(!pull.isEstimate)
  }

  @Test(arguments: 1...2 as ClosedRange<UInt64>, [nil, 100])
  func `a first sync is expected from its beginning, and ends at the true numbers`(
    seed: UInt64, matching: Int?
  ) throws {
    let network = TestNetwork(seed: seed)
    network.maximumPiece = 2_000
    let source = try Self.source(in: network)
    let peer = try network.addPeer("peer")
    try peer.subscribe("SELECT * FROM things" + (matching.map { " WHERE n < \($0)" } ?? ""))
    let (end, other) = try network.connect(peer, source)
    var watches = [Watch(end), Watch(other)]
    try Self.settle(network, &watches)
    Self.expectTrue(end, documents: matching ?? Self.count)
    // The sender knows how many documents there are, and finds out how many of them match.
    let first = try #require(watches[0].firstExpected)
    if let matching {
      #expect((UInt64(matching)...UInt64(Self.count)).contains(first))
    } else {
      #expect(first == UInt64(Self.count))
    }
    #expect(watches[0].steps >= 2)
    // What is written later does not belong to the first sync.
    try source.put("later", ["n": .int(1)])
    try Self.settle(network, &watches)
    #expect(end.session.statistics.documentsReceived == UInt64((matching ?? Self.count) + 1))
    #expect(end.session.progress.pull.documentsReceived == UInt64(matching ?? Self.count))
    // Who pulls nothing has no progress.
    #expect(other.session.progress.pull == PullProgress())
  }

  @Test(arguments: 1...2 as ClosedRange<UInt64>)
  func `a first sync that broke goes on, and so does one with other subscriptions`(seed: UInt64) throws {
    let network = TestNetwork(seed: seed)
    let source = try Self.source(in: network)
    let peer = try network.addPeer("peer")
    try peer.subscribe("SELECT * FROM things WHERE n < 1000")
    let (first, _) = try network.connect(peer, source)
    var watches = [Watch(first)]
    while try peer.documents().count < 200, try network.step() { watches[0].look() }
    network.cut(first)
    let held = try peer.documents().count
    let (second, _) = try network.connect(peer, source)
    watches = [Watch(second)]
    try Self.settle(network, &watches)
    #expect(try peer.documents().count == 1_000)
    #expect(second.session.progress.pull.fractionCompleted == 1)
    #expect(second.session.progress.pull.documentsReceived >= UInt64(1_000 - held))
    try peer.subscribe("SELECT * FROM things")
    try Self.settle(network, &watches)
    #expect(try peer.documents().count == Self.count)
    // The numbers are those of the later pull.
    let later = second.session.progress.pull
    #expect((300..<600).contains(later.documentsReceived))
    #expect(later.documentsExpected == later.documentsReceived)
    #expect(second.session.progress.pull.fractionCompleted == 1)
  }

  @Test(arguments: 1...2 as ClosedRange<UInt64>)
  func `of several senders each is measured for itself`(seed: UInt64) throws {
    let network = TestNetwork(seed: seed)
    let source = try Self.source(in: network)
    let second = try network.addPeer("second")
    try second.subscribe("SELECT * FROM things")
    try network.connect(source, second)
    try network.settle()
    let peer = try network.addPeer("peer")
    try peer.subscribe("SELECT * FROM things")
    var watches = try [source, second].map { Watch(try network.connect(peer, $0).0) }
    try Self.settle(network, &watches)
    #expect(try peer.documents().count == Self.count)
    let pulls = watches.map(\.end.session.progress.pull)
    #expect(pulls.allSatisfy { $0.fractionCompleted == 1 && $0.documentsExpected == $0.documentsReceived })
    #expect(pulls.reduce(0) { $0 + $1.documentsReceived } >= UInt64(Self.count))
  }

  @Test func `few documents are not forecast, and a reconnection has nothing to expect`() throws {
    let network = TestNetwork()
    let source = try network.addPeer("source")
    let peer = try network.addPeer("peer")
    for index in 0..<20 { try source.put("d\(index)", ["n": .int(1)]) }
    _ = source.takeCommits()
    try peer.subscribe("SELECT * FROM things")
    let (end, _) = try network.connect(peer, source)
    var watches = [Watch(end)]
    try Self.settle(network, &watches)
    #expect(watches[0].firstExpected == 20)
    Self.expectTrue(end, documents: 20)
    network.cut(end)
    let (again, _) = try network.connect(peer, source)
    watches = [Watch(again)]
    try Self.settle(network, &watches)
    #expect(again.session.progress.pull.documentsReceived == 0)
    #expect(again.session.progress.pull.documentsExpected == 0)
    #expect(again.session.progress.pull.fractionCompleted == 1)
  }
}
