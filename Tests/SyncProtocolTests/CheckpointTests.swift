import CRDTCore
import DocStore
import ScopePolicy
import SyncProtocol
import TestKit
import Testing

/// Two peers that meet again go on where they stopped.
///
/// They hold rule 7 in `Documentation/Sync.md`.
@Suite struct CheckpointTests {
  /// Two peers that have met, and know what the other had.
  private struct Pair {
    let network = TestNetwork()
    let a: TestPeer
    let b: TestPeer

    init(documents: Int = 20, query: String = "SELECT * FROM things") throws {
      a = try network.addPeer("a")
      b = try network.addPeer("b")
      try b.subscribe(query)
      if documents > 0 {
        try a.write { transaction in
          for index in 0..<documents {
            try transaction.upsert(
              ["n": .int(Int64(index)), "color": .string("red")], id: try DocumentID("d\(index)"),
              into: "things")
          }
        }
      }
      try meet()
    }

    /// Has them meet until all is quiet, and cuts their link.
    @discardableResult
    func meet(_ seen: (Endpoint, [UInt8]) -> Void = { _, _ in }) throws -> (a: Endpoint, b: Endpoint) {
      try withoutActuallyEscaping(seen) { seen in
        network.onSend = seen
        defer { network.onSend = nil }
        let (first, second) = try network.connect(a, b)
        try network.settle()
        expect(first.closed == nil && second.closed == nil)
        expect(second.caughtUp != nil)
        try expectEqual(network.debts().map(\.description), [])
        network.cut(first)
        return (first, second)
      }
    }

    /// Meets again and says which frames were sent.
    func framesOfMeeting() throws -> [FrameType] {
      var types: [FrameType] = []
      try meet { _, bytes in if let type = FrameType(of: bytes) { types.append(type) } }
      return types
    }
  }

  @Test func `meeting again with nothing new takes fewer than 200 bytes`() throws {
    let pair = try Pair(documents: 2_000)
    let (first, second) = try pair.meet()
    #expect(first.sentBytes + second.sentBytes < 200)
    #expect(first.sentBytes + second.sentBytes > 100)
  }

  /// Each part of the 200 bytes has its own bound, so that nobody adds a field unseen.
  @Test func `the parts of a meeting with nothing new are as long as they must be`() throws {
    let pair = try Pair(documents: 2_000)
    var bytes: [FrameType: Int] = [:]
    try pair.meet { _, frame in
      if let type = FrameType(of: frame) { bytes[type, default: 0] += frame.count }
    }
    #expect(bytes[.hello, default: 0] <= 164)
    #expect(bytes[.resume, default: 0] <= 28)
    #expect(bytes[.resumed, default: 0] <= 11)
    #expect(Set(bytes.keys) == [.hello, .resume, .resumed])
  }

  @Test func `what changed since comes without anything being compared`() throws {
    let pair = try Pair()
    try pair.a.put("d3", ["n": .int(-3)])
    try pair.a.put("new", ["n": .int(-4)])
    try pair.a.remove("d5")
    let frames = try pair.framesOfMeeting()
    #expect(!frames.contains(.compare) && !frames.contains(.announce))
    #expect(try pair.b.documents() == pair.a.documents())
    #expect(try pair.framesOfMeeting().count == 4)
  }

  @Test func `who has met later writes elsewhere asks for the earlier ones that it lacks`() throws {
    let pair = try Pair()
    let other = try pair.network.addPeer("c")
    try other.subscribe("SELECT * FROM things WHERE color = 'blue'")
    try pair.a.put("d1", ["n": .int(-1)])
    try pair.a.put("new", ["color": .string("blue")])
    for (one, another) in [(pair.a, other), (other, pair.b)] {
      let link = try pair.network.connect(one, another)
      try pair.network.settle()
      pair.network.cut(link.0)
    }
    #expect(try pair.b.document("new") != nil)
    #expect(try pair.b.document("d1")?["n"] == .int(1))
    let frames = try pair.framesOfMeeting()
    #expect(frames.contains(.want) && !frames.contains(.compare) && !frames.contains(.announce))
    #expect(try pair.b.documents() == pair.a.documents())
  }

  @Test func `who gets changes from others as well is told before it is sent any`() throws {
    let pair = try Pair()
    let other = try pair.network.addPeer("c")
    try other.subscribe("SELECT * FROM things")
    try pair.a.put("d3", ["n": .int(-3)])
    try pair.a.distribute()
    let link = try pair.network.connect(pair.b, other)
    try pair.network.settle()
    let frames = try pair.framesOfMeeting()
    #expect(frames.contains(.announce) && !frames.contains(.compare))
    #expect(try pair.b.documents() == pair.a.documents())
    pair.network.cut(link.0)
  }

  @Test func `a transaction since the cursor comes whole, with what later ones bind to it`() throws {
    let pair = try Pair()
    try pair.a.write { transaction in
      for id in ["d1", "d2"] {
        try transaction.upsert(["t": .int(1)], id: try DocumentID(id), into: "things")
      }
    }
    try pair.a.write { transaction in
      for id in ["d2", "d3"] {
        try transaction.upsert(["t": .int(2)], id: try DocumentID(id), into: "things")
      }
    }
    var torn = 0
    pair.b.onCommit = { _ in
      let held = try pair.b.documents()
      let first = ["d1", "d2"].filter { held[$0]?["t"] != nil }.count
      let second = ["d2", "d3"].filter { held[$0]?["t"] == .int(2) }.count
      if first == 1 || second == 1 { torn += 1 }
    }
    try pair.meet()
    #expect(torn == 0)
    #expect(try pair.b.documents() == pair.a.documents())
  }

  @Test func `what changed at both ends crosses once in each direction`() throws {
    let pair = try Pair(documents: 400)
    pair.network.configure = { $0.packsOutside = false }
    try pair.a.subscribe("SELECT * FROM things")
    for _ in 0..<2 { try pair.meet() }
    for (peer, field) in [(pair.a, "x"), (pair.b, "y")] {
      try peer.write { transaction in
        for index in 0..<100 {
          try transaction.update(DocumentID("d\(index)"), in: "things", [.set([TextKey(field)], .int(1))])
        }
      }
      try peer.distribute()
    }
    var types: [FrameType: Int] = [:]
    let (first, second) = try pair.meet { _, bytes in
      if let type = FrameType(of: bytes) { types[type, default: 0] += 1 }
    }
    #expect((types[.have], types[.compare]) == (nil, nil))
    #expect((types[.announce], types[.want]) == (nil, nil))
    #expect(first.session.statistics.documentsSent == 100)
    #expect(second.session.statistics.documentsSent == 100)
    // What both came to is compared in the end.
    #expect(types[.offer, default: 0] > 0)
    let documents = try pair.a.documents()
    #expect(documents.values.count { $0["x"] == .int(1) && $0["y"] == .int(1) } == 100)
    #expect(try pair.b.documents() == documents)
    let later = try pair.framesOfMeeting()
    #expect(!later.contains(.want) && !later.contains(.have))
  }

  @Test func `what one sends unasked, over a long way, another that announces it is not asked for`() throws {
    let timed = TimedNetwork(seed: 5)
    let (a, b, c) = (
      try timed.network.addPeer("a"), try timed.network.addPeer("b"), try timed.network.addPeer("c")
    )
    for peer in [b, c] { try peer.subscribe("SELECT * FROM things") }
    func meet(_ peers: TestPeer...) throws -> [UInt64] {
      let ends = try peers.dropLast().map {
        let end = try timed.connect($0, peers[peers.count - 1], roundTrip: .milliseconds($0 === a ? 400 : 20))
        // Time to say hello, for who comes first to be sent what others only announce.
        try timed.run(for: .milliseconds(250))
        return end
      }
      try timed.run(for: .seconds(60))
      for end in ends { timed.cut(end) }
      return ends.map(\.session.statistics.documentsSent)
    }
    for _ in 0..<2 {
      _ = try meet(a, c)
      _ = try meet(c, b)
      _ = try meet(a, b)
    }
    var random = SeededGenerator(seed: 1)
    for index in 0..<300 {
      let text = (0..<400).map { _ in String(random.next(), radix: 36) }.joined()
      try a.put("d\(index)", ["text": .string(text)])
    }
    _ = try meet(a, c)
    let sent = try meet(a, c, b)
    #expect(try b.documents() == a.documents())
    #expect(sent.reduce(0, +) <= 315, "\(sent)")
    #expect(sent[0] >= 290)
  }

  @Test func `what is announced as held is answered with what the sender had before`() throws {
    let pair = try Pair(query: "SELECT * FROM things WHERE color = 'blue'")
    try pair.a.subscribe("SELECT * FROM things")
    for _ in 0..<2 { try pair.meet() }
    #expect(try pair.b.documents().isEmpty)
    try pair.b.put("d3", ["color": .string("blue")])
    let types = try pair.framesOfMeeting()
    #expect(!types.contains(.compare) && !types.contains(.have))
    let expected: [TextKey: Value] = ["n": .int(3), "color": .string("blue")]
    #expect(try pair.a.document("d3") == expected)
    #expect(try pair.b.document("d3") == expected)
  }

  @Test func `what left the query comes to who holds it`() throws {
    let pair = try Pair(documents: 200, query: "SELECT * FROM things WHERE color = 'red'")
    for index in 0..<150 { try pair.a.put("d\(index)", ["color": .string("blue")]) }
    try pair.a.write { transaction in
      for id in ["d190", "d191"] {
        try transaction.upsert(["color": .string("blue")], id: try DocumentID(id), into: "things")
      }
    }
    let frames = try pair.framesOfMeeting()
    #expect(!frames.contains(.compare))
    #expect(frames.contains(.filter))
    #expect(try pair.b.documents().values.filter { $0["color"] == .string("red") }.count == 48)
  }

  @Test func `what was written and evicted here since is told`() throws {
    let pair = try Pair()
    try pair.a.put("hidden", ["n": .int(1), "color": .string("red")], in: "other")
    // The sender has a part of it that the receiver must hear of when it comes to hold the document.
    try pair.a.put("late", ["n": .int(7)], in: "things")
    try pair.meet()
    try pair.b.evict("d4")
    try pair.b.put("late", ["m": .int(8)])
    let frames = try pair.framesOfMeeting()
    #expect(!frames.contains(.compare))
    #expect(frames.contains(.want) && frames.contains(.have))
    #expect(try pair.b.document("d4")?["n"] == .int(4))
  }

  @Test func `who has much to tell compares at once`() throws {
    let pair = try Pair()
    pair.network.configure = { $0.tuning.notices.afterResuming = 3 }
    for index in 0..<3 { try pair.b.put("d\(index)", ["n": .int(-1)]) }
    let few = try pair.framesOfMeeting()
    #expect(few.contains(.have) && !few.contains(.compare))
    for index in 0..<4 { try pair.b.put("d\(index)", ["m": .int(-2)]) }
    try pair.a.put("d3", ["n": .int(-3)])
    let many = try pair.framesOfMeeting()
    #expect(many.contains(.compare) && !many.contains(.resume))
    let merged = try #require(try pair.b.document("d3"))
    #expect(merged["n"] == .int(-3) && merged["m"] == .int(-2))
  }

  @Test func `of many documents an eighth is told of one by one`() throws {
    let pair = try Pair()
    pair.network.configure = { $0.tuning.notices.afterResuming = 3 }
    let present = try pair.a.documents().count
    for index in present..<160 { try pair.a.put("d\(index)", ["n": .int(0)]) }
    try pair.meet()
    #expect(try pair.b.documents().count == 160)
    for index in 0..<20 { try pair.b.put("d\(index)", ["n": .int(-1)]) }
    let few = try pair.framesOfMeeting()
    #expect(few.contains(.have) && !few.contains(.compare))
    for index in 0..<21 { try pair.b.put("d\(index)", ["m": .int(-2)]) }
    let many = try pair.framesOfMeeting()
    #expect(many.contains(.compare) && !many.contains(.resume))
  }

  @Test func `more evictions than are told of are found by comparing`() throws {
    let pair = try Pair()
    pair.network.configure = { $0.tuning.notices.afterResuming = 3 }
    for index in 0..<6 { try pair.b.evict("d\(index)") }
    #expect(try pair.framesOfMeeting().contains(.compare))
    #expect(try pair.b.documents() == pair.a.documents())
  }

  @Test func `a changed scope makes the receiver compare, also one that changed back and forth does not`()
    throws
  {
    let pair = try Pair()
    try pair.a.scopes.set(["things": .localPeerOnly])
    try pair.a.put("d3", ["n": .int(-3)])
    try pair.a.scopes.set([:] as [TextKey: SyncScope])
    #expect(try !pair.framesOfMeeting().contains(.compare))
    #expect(try pair.b.document("d3")?["n"] == .int(-3))
    try pair.a.scopes.set(["other": .localPeerOnly])
    #expect(try pair.framesOfMeeting().contains(.compare))
    try pair.a.scopes.set(["things": .localPeerOnly])
    try pair.a.put("d3", ["n": .int(-4)])
    try pair.meet()
    #expect(try pair.b.document("d3")?["n"] == .int(-3))
    try pair.a.scopes.set(["other": .localPeerOnly])
    #expect(try pair.framesOfMeeting().contains(.compare))
    #expect(try pair.b.document("d3")?["n"] == .int(-4))
  }

  @Test func `another interest makes the receiver compare`() throws {
    let pair = try Pair()
    try pair.a.put("x", ["n": .int(1)], in: "other")
    try pair.b.subscribe("SELECT * FROM things", "SELECT * FROM other")
    #expect(try pair.framesOfMeeting().contains(.compare))
    #expect(try pair.b.documents(in: "other").count == 1)
    // The same in another order is the same.
    try pair.b.subscribe("SELECT * FROM other", "SELECT * FROM things")
    #expect(try !pair.framesOfMeeting().contains(.compare))
  }

  @Test func `a changed interest has only the collections compared that it changes`() throws {
    let network = TestNetwork()
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    for name in ["one", "two", "three"] { try a.put("x", ["n": .int(1)], in: name) }
    try b.subscribe("SELECT * FROM one", "SELECT * FROM two WHERE n = 2")
    let (_, receiver) = try network.connect(a, b)
    try network.settle()
    var asked: [String] = []
    network.onSend = { _, bytes in asked += compared(bytes) }
    func change(_ texts: [String]) throws -> [String] {
      asked = []
      try b.subscribe(texts)
      try network.settle()
      try expectEqual(network.debts().map(\.description), [])
      return asked
    }
    #expect(
      try change(["SELECT * FROM one", "SELECT * FROM two", "SELECT * FROM three"]) == ["three", "two"])
    #expect(try b.documents(in: "two").count + b.documents(in: "three").count == 2)
    #expect(receiver.caughtUp == 2)
    #expect(try change(["SELECT * FROM three", "SELECT * FROM one"]) == [])
    #expect(receiver.caughtUp == 3)
    // What goes on comes live, and what was dropped does not.
    for name in ["one", "two", "three"] { try a.put("x", ["n": .int(5)], in: name) }
    try network.settle()
    #expect(try b.document("x", in: "one")?["n"] == .int(5) && b.document("x", in: "three")?["n"] == .int(5))
    #expect(try b.document("x", in: "two")?["n"] == .int(1))
    #expect(try change(["SELECT * FROM two", "SELECT * FROM one"]) == ["two"])
    #expect(try b.document("x", in: "two")?["n"] == .int(5))
  }

  @Test func `more changes than are worth a walk make the receiver compare`() throws {
    let pair = try Pair()
    pair.network.configure = { $0.tuning.walkedDocuments = 10 }
    for index in 0..<11 { try pair.a.put("n\(index)", ["n": .int(1)]) }
    #expect(try pair.framesOfMeeting().contains(.compare))
    #expect(try pair.b.documents() == pair.a.documents())
  }

  @Test func `after many commits all is compared behind what the application waits for`() throws {
    let pair = try Pair()
    pair.network.configure = { $0.tuning.doubtfulCommits = 5 }
    for index in 0..<8 { try pair.a.put("n\(index)", ["n": .int(1)]) }
    let frames = try pair.framesOfMeeting()
    let compared = try #require(frames.firstIndex(of: .compare))
    #expect(try #require(frames.firstIndex(of: .mark)) < compared)
    #expect(try !pair.framesOfMeeting().contains(.compare))
  }

  @Test func `a sender that remembers no interest is sent it again`() throws {
    let pair = try Pair()
    pair.a.forgetSessions()
    let frames = try pair.framesOfMeeting()
    #expect(frames.contains(.interest))
    #expect(!frames.contains(.compare))
  }

  // MARK: - The rule, against a sender that is played by hand

  private func follower() throws -> RawPeer {
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    raw.send(.answer) { out in
      out.writeVarint(1)
      out.writeVarint(1)
      RangeAnswer.equal(1).encode(to: &out)
    }
    raw.send(.settled) { $0.writeVarint(1) }
    return raw
  }

  private func checkpoint(_ raw: RawPeer) throws -> SyncCheckpoint? {
    try raw.apply()
    return try raw.peer.store.read { try $0.checkpoint(of: RawPeer.hello.site) }.flatMap {
      SyncCheckpoint($0)
    }
  }

  private func mark(_ raw: RawPeer, _ sequence: UInt64, asks: UInt64) {
    let frame = MarkFrame(sequence: sequence, commitCheck: 9, policyHash: 8, asksReceived: asks)
    raw.send(.mark) { frame.encode(to: &$0) }
  }

  @Test func `a mark becomes a cursor when no ask is open`() throws {
    let raw = try follower()
    #expect(try checkpoint(raw) == nil)
    mark(raw, 41, asks: 0)
    let stored = try #require(try checkpoint(raw))
    #expect(stored.sequence == 41 && stored.commitCheck == 9 && stored.policyHash == 8 && stored.epoch == 5)
    // What is told or asked for must be answered first.
    try raw.peer.put("x", ["n": .int(1)])
    raw.perform(raw.session.committed(raw.peer.takeCommits(), now: raw.now))
    #expect(raw.sent(.have).count == 1)
    mark(raw, 42, asks: 0)
    raw.tick(after: .seconds(6))
    #expect(try checkpoint(raw)?.sequence == 41)
    mark(raw, 43, asks: 1)
    raw.tick(after: .seconds(6))
    let next = try #require(try checkpoint(raw))
    #expect(next.sequence == 43)
    #expect(next.own > stored.own)
  }

  @Test func `a cursor is not written before what it covers, and seldom alone`() throws {
    let raw = try follower()
    mark(raw, 41, asks: 0)
    #expect(try checkpoint(raw)?.sequence == 41)
    mark(raw, 42, asks: 0)
    raw.tick(after: .seconds(1))
    #expect(try checkpoint(raw)?.sequence == 41)
    raw.tick(after: .seconds(5))
    #expect(try checkpoint(raw)?.sequence == 42)
  }

  @Test func `a cursor of another instance, or of no known form, is not gone by`() throws {
    for damage in [true, false] {
      let raw = try follower()
      mark(raw, 41, asks: 0)
      var checkpoint = try #require(try checkpoint(raw))
      checkpoint.epoch = 6
      let bytes = damage ? Array(checkpoint.bytes.dropLast()) : checkpoint.bytes
      try raw.peer.write { try $0.setCheckpoint(bytes, of: RawPeer.hello.site) }
      let again = RawPeer(on: raw)
      try again.open()
      expect(again.sent(.resume).isEmpty)
      expectEqual(again.sent(.compare).count, 1)
    }
  }

  @Test func `cursors and their frames read back`() throws {
    let checkpoint = SyncCheckpoint(
      epoch: 1, sequence: 1 << 40, commitCheck: 3, policyHash: 4, interest: 5, own: 6, compared: 7)
    #expect(SyncCheckpoint(checkpoint.bytes) == checkpoint)
    #expect(checkpoint.bytes.count <= 64)
    for count in 0..<checkpoint.bytes.count {
      expect(SyncCheckpoint(Array(checkpoint.bytes.prefix(count))) == nil)
    }
    #expect(SyncCheckpoint(checkpoint.bytes + [0]) == nil)
    let resume = ResumeFrame(generation: 1, interest: 2, sequence: 3, commitCheck: 4, policyCheck: 5)
    let resumed = ResumedFrame(generation: 1, verdict: .unknownInterest, sequence: 0)
    let mark = MarkFrame(sequence: 1, commitCheck: 2, policyHash: 3, asksReceived: 4)
    for lag in [nil, 0, 1, 300, .max] as [UInt64?] {
      var frame = resume
      frame.lag = lag
      var out = ByteWriter()
      frame.encode(to: &out)
      var reader = ByteReader(out.bytes.span.bytes)
      try expectEqual(ResumeFrame(from: &reader), frame)
      let isAtEnd = reader.isAtEnd
      expect(isAtEnd)
    }
    var out = ByteWriter()
    resumed.encode(to: &out)
    mark.encode(to: &out)
    var reader = ByteReader(out.bytes.span.bytes)
    #expect(try ResumedFrame(from: &reader) == resumed)
    #expect(try MarkFrame(from: &reader) == mark)
    let isAtEnd = reader.isAtEnd
    #expect(isAtEnd)
  }

  /// What it holds, it told in the earlier session; the sender keeps nothing of that.
  @Test func `a change of what only the receiver's copy matches is offered after meeting again, too`() throws
  {
    let network = TestNetwork()
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    try b.subscribe("SELECT * FROM things WHERE shown = true")
    try a.put("x", ["shown": .bool(false)])
    try b.put("x", ["shown": .bool(true)])
    let (first, _) = try network.connect(a, b)
    try network.settle()
    try network.wait(.seconds(40))
    try network.settle()
    network.cut(first)
    var types: Set<FrameType> = []
    network.onSend = { _, bytes in if let type = FrameType(of: bytes) { types.insert(type) } }
    try network.connect(a, b)
    try network.settle()
    try a.put("x", ["more": .int(1)])
    try network.settle()
    #expect(types.contains(.resume) && !types.contains(.compare))
    #expect(try b.document("x")?["more"] == .int(1))
    #expect(try network.debts().map(\.description) == [])
  }
}

/// The collections that a frame asks to compare.
private func compared(_ frame: [UInt8]) -> [String] {
  guard FrameType(of: frame) == .compare, let bounds = try? FrameCodec.bounds(in: frame.span.bytes, at: 0)
  else {
    return []
  }
  var reader = ByteReader(frame.span.bytes.extracting(bounds.payload))
  var names: [String] = []
  do {
    _ = try reader.readVarint()
    for _ in 0..<(try reader.readCount()) { names.append(try RangeQuestion(from: &reader).range.collection) }
  } catch {
    return ["\(error)"]
  }
  return names
}
