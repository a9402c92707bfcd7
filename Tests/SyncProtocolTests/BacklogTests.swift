import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// Changes that come faster than the link, and commits that nobody told a session of.
///
/// They hold rule 8 in `Documentation/Sync.md`.
@Suite struct BacklogTests {
  /// Two peers in sync, of which the first sends; frames from then on are counted.
  private final class Pair {
    let network: TestNetwork
    let a: TestPeer
    let b: TestPeer
    let sender: Endpoint
    let receiver: Endpoint
    var frames: [FrameType: Int] = [:]

    init(seed: UInt64 = 1, both: Bool = false) throws {
      network = TestNetwork(seed: seed)
      network.configure = {
        $0.liveQueueBytes = 20_000
        $0.initialWindowBytes = 8 << 10
      }
      a = try network.addPeer("a")
      b = try network.addPeer("b")
      try b.subscribe("SELECT * FROM things WHERE shown = true")
      if both { try a.subscribe("SELECT * FROM things WHERE shown = true") }
      (sender, receiver) = try network.connect(a, b)
      try network.settle()
      network.onSend = { [unowned self] _, bytes in
        if let type = FrameType(of: bytes) { frames[type, default: 0] += 1 }
      }
    }

    func check() throws {
      try expectEqual(network.debts().map(\.description), [])
      expect(sender.closed == nil && receiver.closed == nil)
    }
  }

  private static func noise(_ random: inout SeededGenerator, _ count: Int = 1_000) -> Value {
    .bytes((0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) })
  }

  @Test func `changes that come faster than the link are announced from the log, and nothing is compared`()
    throws
  {
    let pair = try Pair()
    pair.receiver.holdsApplies = true
    var random = SeededGenerator(seed: 6)
    for index in 0..<200 {
      try pair.a.put("d\(index % 150)", ["shown": .bool(true), "bytes": Self.noise(&random)])
    }
    while !pair.sender.events.contains(.overflow) { try #require(try pair.network.step()) }
    pair.receiver.holdsApplies = false
    try pair.network.settle()
    #expect(try pair.b.documents() == pair.a.documents())
    try pair.check()
    #expect(pair.frames[.announce, default: 0] > 0)
    #expect(pair.frames[.renew] == nil)
    #expect(pair.frames[.compare] == nil)
    // The receiver ends with a cursor at the sender's end.
    try pair.network.wait(.seconds(40))
    try pair.network.settle()
    let types = pair.frames
    pair.network.cut(pair.sender)
    pair.frames = [:]
    try pair.network.connect(pair.a, pair.b)
    try pair.network.settle()
    #expect(pair.frames[.compare] == nil && types[.mark, default: 0] > 0)
    #expect(pair.frames[.announce] == nil)
  }

  @Test func `what was written together is seen together, also where the queue could not hold it`() throws {
    for seed in 0..<6 as Range<UInt64> {
      let pair = try Pair(seed: seed)
      var random = SeededGenerator(seed: seed)
      pair.b.onCommit = { [unowned pair] _ in
        for index in 0..<10 {
          let both = (try pair.b.document("x\(index)")?["n"], try pair.b.document("y\(index)")?["n"])
          expectEqual(both.0, both.1, "\(index), seed \(seed)")
        }
      }
      for round in 0..<150 {
        let index = random.int(below: 10)
        let bytes = Self.noise(&random, random.int(below: 800))
        try pair.a.write { transaction in
          for name in ["x", "y"] {
            try transaction.upsert(
              ["shown": .bool(true), "n": .int(Int64(round)), "bytes": bytes],
              id: try DocumentID("\(name)\(index)"), into: "things")
          }
        }
        pair.receiver.holdsApplies = round % 50 < 35
        if random.oneIn(3) { try pair.network.run(steps: random.int(below: 12)) }
      }
      pair.receiver.holdsApplies = false
      try pair.network.settle()
      expect(pair.sender.events.contains(.overflow))
      try expectEqual(pair.b.documents(), pair.a.documents())
      try pair.check()
    }
  }

  @Test func `commits that were not told are found in the log`() throws {
    for seed in 0..<16 as Range<UInt64> {
      let pair = try Pair(seed: seed, both: true)
      var random = SeededGenerator(seed: seed)
      for round in 0..<60 {
        for peer in [pair.a, pair.b] {
          let id = "d\(random.int(below: 12))"
          switch random.int(below: 8) {
          case 0: try peer.remove(id)
          case 1: _ = try peer.write { _ = try $0.evict(DocumentID(id), in: "things") }
          default: try peer.put(id, ["shown": .bool(!random.oneIn(4)), "\(peer.name)": .int(Int64(round))])
          }
        }
        if random.oneIn(2) { try pair.network.run(steps: random.int(below: 10)) }
        guard random.oneIn(4) else { continue }
        for end in [pair.sender, pair.receiver] where random.oneIn(2) {
          try end.peer.distribute()
          guard let last = end.commits.last?.sequence else { continue }
          end.commits = []
          try end.perform(end.session.lostCommits(through: last, now: pair.network.now))
        }
      }
      try pair.network.settle()
      try pair.check()
    }
  }
}
