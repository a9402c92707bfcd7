import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@testable import SyncProtocol

/// What a peer may send at most: so much is taken, one more ends the session, and nothing is left half done.
///
/// They hold rule 9 in `Documentation/Sync.md`.
@Suite struct SyncLimitsTests {
  @Test(arguments: Bound.asking + Bound.sending)
  func `as much as a bound allows is taken`(bound: Bound) throws {
    let raw = try bound.meet(sending: 0)
    #expect(raw.closed == nil, "\(raw.closed as Any)")
    #expect(try bound.isTaken(raw))
  }

  @Test(arguments: Bound.asking + Bound.sending)
  func `one more than a bound allows ends the session, and nothing is half done`(bound: Bound) throws {
    let raw = try bound.meet(sending: 1)
    #expect(raw.closed?.code == .limit, "\(raw.closed as Any)")
    #expect(raw.frames.last?.type == .bye)
    #expect(raw.batches.isEmpty)
    #expect(try raw.peer.documents().isEmpty)
  }

  /// What a byte of a query becomes is another thing for each: of these, ten times as much.
  @Test(arguments: [64, 256])
  func `subscriptions are held to what they take in memory`(count: Int) throws {
    let raw = try RawPeer { $0.peerMemoryBytes = 6 << 20 }
    try raw.open()
    let frames = try WideInterest.frames(queries: count)
    let bytes = frames.reduce(0) { $0 + $1.count }
    #expect(bytes < SyncLimits.interestBytes)
    raw.receive(frames: frames.flatMap(\.self))
    #expect(raw.closed?.code == (count == 64 ? nil : .limit))
    #expect((raw.peer.shared.askedBytes > 8 * bytes) == (count == 64))
  }

  /// One that asks for everything is served in a step, and of dear conditions each costs its part.
  @Test func `the dearer a peer's conditions the fewer records a step visits`() throws {
    func steps(_ queries: [String]) throws -> Int {
      let raw = try RawPeer()
      try raw.peer.write { transaction in
        for number in 0..<2_000 {
          try transaction.upsert(["n": .int(1)], id: try DocumentID("d\(number)"), into: "things")
        }
      }
      _ = raw.peer.takeCommits()
      try raw.open(subscribing: "SELECT * FROM others")
      raw.ticksAtOnce = false
      let encoded = try queries.map { query in
        var out = ByteWriter()
        try SubscriptionQuery(dql: query).encode(to: &out)
        return out.bytes
      }
      let frames = InterestFrame.frames(generation: 1, encoded, isContinued: false)
      raw.receive(frames: frames.flatMap(\.self) + Bound.questions(1))
      var steps = 1
      while raw.sent(.answer).isEmpty, steps < 1_000 {
        raw.tick(after: .milliseconds(1))
        steps += 1
      }
      #expect(raw.closed == nil)
      return steps
    }
    #expect(try steps(["SELECT * FROM things"]) <= 3)
    let dear = (0..<64).map { number in
      let terms = (0..<220).map { "n = \(-1 - $0 - number * 220)" }.joined(separator: " OR ")
      return "SELECT * FROM things WHERE \(terms)"
    }
    let needed = try steps(dear)
    #expect(needed >= 10 && needed < 100, "\(needed)")
  }

  @Test func `what was wanted and is answered makes room for more`() throws {
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    try raw.sendInterest("SELECT * FROM things")
    raw.send(.compare) { out in
      out.writeVarint(1)
      out.writeVarint(1)
      RangeQuestion.send(1, KeyRange(collection: "things"), isSecret: true).encode(to: &out)
    }
    for _ in 0..<3 {
      try Bound.fillWants(of: raw)
      expect(raw.closed == nil, "\(raw.closed as Any)")
    }
  }

  @Test func `of a receiver that applies nothing the sender hears how much less it takes`() throws {
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    func room() throws -> UInt64 {
      let payload = try #require(raw.sent(.acknowledge).last)
      var reader = ByteReader(payload.span.bytes)
      return try Acknowledgement(from: &reader).room
    }
    // Two groups: of the first it is told that it waits while the beginning of a third is acknowledged.
    for id in ["a", "b"] { try raw.sendDocument(id, ["text": .string(String(repeating: "x", count: 9_000))]) }
    raw.send(.chunk) { out in
      out.write(1)
      for number in [1, 100_000, 0, 1] { out.writeVarint(number) }
      out.write(0)
    }
    let whileWaiting = try room()
    #expect((SyncLimits.creditBytes - 20_000..<SyncLimits.creditBytes - 18_000).contains(Int(whileWaiting)))
    try raw.apply()
    #expect(try room() == UInt64(SyncLimits.creditBytes))
  }

  @Test func `what is remembered of the subscriptions of peers that have gone is bounded in bytes`() throws {
    let network = TestNetwork()
    let hub = try network.addPeer("hub")
    try hub.put("a", ["text": .string("a")])
    func query(_ number: Int) -> String {
      "SELECT * FROM things WHERE text IN ['a', '\(String(repeating: "x", count: 12_000))\(number)']"
    }
    for number in 0..<60 {
      let peer = try network.addPeer("p\(number)")
      try peer.subscribe(query(number))
      let (end, _) = try network.connect(peer, hub)
      try network.settle()
      try expect(peer.exists("a"))
      network.cut(end)
    }
    let kept = hub.shared.knownInterestBytes
    #expect(kept <= SyncLimits.knownInterestBytes && kept > SyncLimits.knownInterestBytes / 2)
    // A long one is not kept, and is sent again by who comes back.
    let other = try network.addPeer("other")
    try other.subscribe((100..<120).map(query))
    for round in 0..<2 {
      let (end, _) = try network.connect(other, hub)
      try network.settle()
      try hub.put("b\(round)", ["text": .string("a")])
      try network.settle()
      try expect(other.exists("a") && other.exists("b\(round)"))
      expectEqual(hub.shared.knownInterestBytes, kept)
      network.cut(end)
    }
  }

  @Test(arguments: [0, 1])
  func `no document beyond what ever travels is sent, whatever the store allows`(more: Int) throws {
    let network = TestNetwork()
    let sender = try network.addPeer("sender", hardDocumentBytes: 64 << 20)
    let receiver = try network.addPeer("receiver", hardDocumentBytes: 64 << 20)
    try receiver.subscribe("SELECT * FROM things")
    func fields(_ count: Int) -> [TextKey: Value] { ["bytes": .bytes([UInt8](repeating: 7, count: count))] }
    // What stands beside the bytes takes some.
    let rest =
      try GoldenMessages.wireDocument(fields(SyncLimits.documentBytes)).count - SyncLimits.documentBytes
    try sender.put("large", fields(SyncLimits.documentBytes - rest + more))
    try #require(try sender.wireDocument("large").count == SyncLimits.documentBytes + more)
    try network.connect(sender, receiver)
    try network.settle()
    #expect(try receiver.exists("large") == (more == 0))
    let told = sender.endpoints[0].events.filter { if case .oversize = $0 { true } else { false } }
    #expect(told.count == more)
  }

  @Test func `the beginning of a large group is kept for a day`() throws {
    for (age, isKept) in [(SyncLimits.stagedAge, true), (SyncLimits.stagedAge + .milliseconds(1), false)] {
      var raw = try RawPeer()
      try raw.open(subscribing: "SELECT * FROM things")
      raw.sendBeginning(Array(try GoldenMessages.largeGroup().prefix(60_000)), of: 150_000)
      // What came is put aside when nobody holds the session any more.
      let end = raw.now
      raw = RawPeer(on: raw)
      raw.now = end + age
      try raw.open(subscribing: "SELECT * FROM things")
      expectEqual(raw.sent(.staged).count, isKept ? 1 : 0)
      expectEqual(raw.peer.shared.stage.isEmpty, !isKept)
    }
  }

  /// Of one peer fewer than of several: what it leaves again and again takes the place of its own.
  @Test(arguments: [1, 2, 8] as [UInt64])
  func `no more beginnings of large groups are kept than may be told`(peers: UInt64) throws {
    let most = min(SyncLimits.stagedTransfers, Int(peers) * SyncLimits.stagedTransfersOfPeer)
    var raw = try RawPeer()
    for count in 1...SyncLimits.stagedTransfers + 1 {
      try raw.open(subscribing: "SELECT * FROM things", as: 1 + UInt64(count) % peers)
      expectEqual(raw.sent(.staged).first?.first.map(Int.init), count == 1 ? nil : min(count - 1, most))
      raw.sendBeginning(Array(try GoldenMessages.largeGroup().prefix(10_000 + count)), of: 150_000)
      raw.perform(raw.session.close(now: raw.now))
      raw = RawPeer(on: raw)
    }
    try raw.open(subscribing: "SELECT * FROM things")
    #expect(raw.sent(.staged).first?.first.map(Int.init) == most)
  }
}
