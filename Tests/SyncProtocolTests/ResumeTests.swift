import CRDTCore
import DocStore
import ScopePolicy
import SyncProtocol
import TestKit
import Testing

/// A large document whose link breaks goes on where it was: with the same peer or another, while it changes.
@Suite struct ResumeTests {
  /// A document of sections, as applications write them.
  private static func sections(_ count: Int, seed: UInt64 = 1) -> [TextKey: Value] {
    var fields: [TextKey: Value] = ["title": .string("report")]
    for index in 0..<count {
      fields["s\(10_000 + index)"] = .map([
        "body": .string(DensePackingTests.prose(900, seed: seed &* 1_000 + UInt64(index))),
        "rev": .int(Int64(index)),
      ])
    }
    return fields
  }

  private static func link() throws -> SlowLink {
    try SlowLink()
  }

  /// Every transfer is worth going on with.
  private static func goOn(_ configuration: inout SessionConfiguration) {
    configuration.initialWindowBytes = 2 << 10
    configuration.tuning.transfers.slowSpan = .zero
    configuration.tuning.transfers.stagingSpan = .zero
  }

  @Test(arguments: [0.25, 0.5, 0.9])
  func `after a cut next to nothing is sent again`(part: Double) throws {
    let fields = Self.sections(120)
    let whole = try Self.link()
    try whole.sender.put("large", fields)
    try whole.connect()
    try whole.run { try whole.receiver.exists("large") }
    let link = try Self.link()
    try link.sender.put("large", fields)
    try link.connect()
    try link.run { Double(link.arrivedBytes[1]) > part * Double(whole.arrivedBytes[1]) }
    link.cut()
    try link.connect()
    try link.run { try link.receiver.exists("large") }
    #expect(try link.receiver.documents() == link.sender.documents())
    // The piece that was cut, and what meeting twice takes; what was lost on the line is none of ours.
    let again = link.arrivedBytes[1] - whole.arrivedBytes[1]
    #expect(again < 1_800, "\(again) of \(whole.arrivedBytes[1])")
  }

  @Test func `an update meanwhile sends what it changed, and the document is as it is now`() throws {
    let link = try Self.link()
    try link.sender.put("large", Self.sections(120))
    try link.connect()
    try link.run { link.arrivedBytes[1] > 10_000 }
    link.cut()
    let before = link.arrivedBytes[1]
    try link.sender.write { transaction in
      try transaction.update(
        try DocumentID("large"), in: "things",
        [
          .set(["s10003", "rev"], .int(-1)), .set(["s10110", "rev"], .int(-2)),
          .set(["title"], .string("new")),
        ])
    }
    try link.connect()
    let resumed = link.ends[0]
    try link.run { try link.receiver.exists("large") }
    #expect(try link.receiver.documents() == link.sender.documents())
    #expect(resumed.session.statistics.resumedBytes > 20_000, "\(before)")
    // What is not needed any more is not kept.
    #expect(link.receiver.shared.stage.isEmpty)
  }

  @Test(arguments: [true, false])
  func `a new life or a new writer meanwhile leaves what it did not write as it was`(isLife: Bool) throws {
    let link = try Self.link()
    let other = try link.network.addPeer("other")
    try link.sender.put("large", Self.sections(120))
    try other.subscribe("SELECT * FROM things")
    try link.network.connect(link.sender, other)
    try link.network.settle()
    link.network.cut(try #require(link.network.endpoints.last))
    try link.connect()
    try link.run { link.arrivedBytes[1] > 10_000 }
    link.cut()
    let before = link.arrivedBytes[1]
    if isLife {
      try link.sender.put("large", ["title": .string("new")])
    } else {
      try other.write { transaction in
        try transaction.update(try DocumentID("large"), in: "things", [.set(["title"], .string("new"))])
      }
      try link.network.connect(link.sender, other)
      try link.sender.subscribe("SELECT * FROM things")
      try link.network.settle()
      link.network.cut(try #require(link.network.endpoints.last))
    }
    try link.connect()
    let resumed = link.ends[0]
    try link.run { try link.receiver.exists("large") }
    try link.run(for: .seconds(3))
    #expect(try link.receiver.documents() == link.sender.documents())
    #expect(resumed.session.statistics.resumedBytes > 20_000, "\(before)")
  }

  @Test func `what was put aside survives the process, and is forgotten when it has served`() throws {
    let link = try Self.link()
    try link.sender.put("large", Self.sections(240))
    try link.connect()
    try link.run { link.arrivedBytes[1] > 40_000 }
    link.cut()
    try link.receiver.restart()
    try link.connect()
    let resumed = link.ends[0]
    try link.run { try link.receiver.exists("large") }
    #expect(resumed.session.statistics.resumedBytes > 40_000)
    #expect(try link.receiver.documents() == link.sender.documents())
    try link.receiver.put("another", ["n": .int(1)])
    try link.sender.put("third", ["n": .int(1)])
    try link.run { try link.receiver.exists("third") }
    #expect(try link.receiver.store.read { try $0.stagedIDs().isEmpty })
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `whoever has the rest, whatever was written meanwhile, all agree in the end`(seed: UInt64) throws {
    let network = TestNetwork(seed: seed)
    network.configure = Self.goOn
    var random = SeededGenerator(seed: seed)
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    let reader = try network.addPeer("reader")
    for peer in network.peers { try peer.subscribe("SELECT * FROM things") }
    try a.put("large", Self.sections(40 + random.int(below: 80), seed: seed))
    try a.put("small", ["n": .int(1)])
    try network.connect(a, b)
    try network.settle()
    var resumed: UInt64 = 0
    for round in 0..<4 {
      let source = random.pick([a, b])
      let (end, other) = try network.connect(source, reader)
      end.bytesUntilCut = 300 + random.int(below: 30_000)
      try network.run(steps: 200 + random.int(below: 2_000))
      resumed += end.session.statistics.resumedBytes
      network.cut(other)
      try random.pick([a, b, reader]).write { transaction in
        try transaction.upsert(
          ["s\(10_000 + random.int(below: 60))": .map(["rev": .int(Int64(-round))])],
          id: try DocumentID("large"), into: "things")
      }
    }
    try network.connect(a, reader)
    try network.settle()
    #expect(network.endpoints.compactMap(\.closed).map { "\($0)" } == [])
    #expect(try network.debts().map(\.description) == [])
    #expect(try a.documents() == reader.documents())
  }

  /// Joins two peers until some of the large document is there; nothing of their sessions is left then.
  private static func connectForAWhile(_ network: TestNetwork, _ a: TestPeer, _ b: TestPeer) throws {
    let (end, other) = try network.connect(a, b)
    end.bytesUntilCut = 8_000
    try network.run(steps: 4_000)
    network.cut(other)
  }

  @Test func `what came from others is not told to a peer that may not know of it`() throws {
    let network = TestNetwork()
    network.configure = Self.goOn
    let a = try network.addPeer("a")
    let cloud = try network.addPeer("cloud", .big)
    let reader = try network.addPeer("reader")
    try reader.scopes.set(["things": .smallPeersOnly])
    try reader.subscribe("SELECT * FROM things")
    for peer in [a, cloud] { try peer.put("large", Self.sections(100)) }
    try Self.connectForAWhile(network, a, reader)
    #expect(!reader.shared.stage.isEmpty)
    var told = 0
    network.onSend = { end, bytes in
      if FrameType(of: bytes) == .staged { told += end.peer === reader ? 1 : 0 }
    }
    try network.connect(reader, cloud)
    try network.settle()
    #expect(told == 0)
    try network.connect(reader, a)
    try network.settle()
    #expect(told == 1)
  }
}
