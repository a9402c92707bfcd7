import CRDTCore
import CRDTModel
import TestKit
import Testing

/// Single writes sent on top of a state that both sides have, held against the deltas that they stand for.
@Suite struct OperationDeltaTests {
  private typealias Script = RecordPatchTests.Script

  private static let now: UInt64 = 1_760_000_000_000

  private func outcome(
    of wire: [UInt8], on peer: Peer, by route: CodecRoute
  ) throws(CodecError) -> (MergeOutcome, Peer) {
    var peer = peer
    let standing = peer.document
    let outcome = try DocumentCodec.merge(
      wire: wire.span.bytes, existing: standing?.stored, own: peer.site, tables: &peer.tables, by: route)
    if case .changed(let document) = outcome { peer.document = document }
    return (outcome, peer)
  }

  /// Merges an operation delta by every route into a state that it builds on; the delta must give the same
  /// result.
  ///
  /// - Returns: Whether the bytes of the record were enough.
  private func check(_ wire: [UInt8], on former: Peer, leadsTo sender: Peer, _ seed: UInt64) throws -> Bool {
    try WireDocument.validate(wire.span.bytes)
    var peer = former
    try expect(peer.merge(sender.wire(lacking: former.vector)).isChanged, "seed \(seed)")
    expectEqual(peer.document?.summary, sender.document?.summary, "seed \(seed)")
    let (tree, measure) = try outcome(of: wire, on: former, by: .tree)
    expect(tree.isChanged && measure.verifies, "seed \(seed)")
    try expectEqual(measure.wire(), peer.wire(), "seed \(seed)")
    expectEqual(measure.document?.summary, peer.document?.summary, "seed \(seed)")
    try expectEqual(measure.state?.summary, peer.document?.summary, "seed \(seed)")
    for route in [CodecRoute.shortest, .patch, .tree] {
      let again = try outcome(of: wire, on: measure, by: route).0
      expect(again.isUnchanged, "seed \(seed)")
    }
    let (patch, patched) = try outcome(of: wire, on: former, by: .patch)
    guard patch.isChanged else { return false }
    expect(patched.verifies, "seed \(seed)")
    try expectEqual(patched.wire(), peer.wire(), "seed \(seed)")
    try expectEqual(patched.state, measure.state, "seed \(seed)")
    expectEqual(patched.document?.summary, peer.document?.summary, "seed \(seed)")
    return true
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `a successor comes to what the write came to, from the bytes and over the tree`(block: UInt64) throws {
    var (writes, all, direct, patches) = (0, 0, 0, 0)
    for seed in block * RecordPatchTests.seeds..<(block + 1) * RecordPatchTests.seeds {
      var script = try Script(seed: seed)
      for _ in 0..<40 {
        script.now += UInt64(script.random.generator.int(below: 3))
        let index = script.random.generator.int(below: 3)
        let former = script.peers[index]
        switch script.random.generator.int(below: 12) {
        case 0:
          _ = try? script.peers[index].upsert(script.smallUpsert(), now: script.now)
        case 1 where script.random.generator.oneIn(4): try script.peers[index].remove(now: script.now)
        case 1...3: try script.peers[index].pull(script.peers[(index + 1) % 3])
        default:
          let edits = (0..<(1 + script.random.generator.int(below: 2))).map { _ in script.edit() }
          _ = try? script.peers[index].update(edits, now: script.now)
        }
        let peer = script.peers[index]
        guard peer.document?.summary != former.document?.summary else { continue }
        all += 1
        let measure = try peer.operationDelta(of: former, by: .tree)
        if let wire = try peer.operationDelta(of: former, by: .patch) {
          expectEqual(wire, measure, "seed \(seed)")
          direct += 1
        }
        try expectEqual(peer.operationDelta(of: former), measure, "seed \(seed)")
        guard let wire = measure else { continue }
        writes += 1
        // Another replica with the same state has other dictionaries, and may have collected metadata that
        // this one still has.
        var other = Peer(4)
        try other.merge(former.wire())
        expectEqual(other.document?.summary, former.document?.summary, "seed \(seed)")
        if script.random.generator.oneIn(3) {
          try other.collect(before: ClockReading(milliseconds: script.now))
        }
        if other.document?.summary == former.document?.summary,
          try check(wire, on: other, leadsTo: peer, seed)
        {
          patches += 1
        }
        let stranger = script.peers[(index + 2) % 3]
        if stranger.document?.summary != former.document?.summary,
          stranger.document?.summary != peer.document?.summary
        {
          try expect(outcome(of: wire, on: stranger, by: .shortest).0.isMissingBase, "seed \(seed)")
        }
      }
    }
    #expect(writes * 3 > all, "\(writes) of \(all) changes were one write")
    #expect(direct * 2 > writes, "\(direct) of \(writes) were written from the bytes")
    #expect(patches * 3 > writes, "\(patches) of \(writes) were merged on the bytes")
  }

  /// One store merges another's writes as parts of runs: bytes and tree must give the same result.
  @Test(arguments: 0..<4 as Range<UInt64>)
  func `a run's write comes to the same from the bytes and over the tree`(block: UInt64) throws {
    var (writes, direct) = (0, 0)
    for seed in block * 60..<(block + 1) * 60 {
      var random = SeededGenerator(seed: seed)
      var now = Self.now
      func scalar() -> Value {
        switch random.int(below: 8) {
        case 0: .null
        case 1: .bool(random.oneIn(2))
        case 2: .double(random.oneIn(2) ? 1.5 : 0.1)
        case 3: .int(Int64(random.int(below: 100)))
        case 4: .int(.max - Int64(random.int(below: 100)))
        default: .string(String(repeating: "x", count: random.int(below: 20)))
        }
      }
      var last: RunHead?
      let keys: [TextKey] = ["a", "b", "color", "name", "note"]
      var (writer, reader) = (Peer(1), Peer(2))
      try writer.upsert(
        Dictionary(uniqueKeysWithValues: keys.map { ($0, scalar()) } + [("in", .map(["x": .int(1)]))]),
        now: now)
      try reader.merge(writer.wire())
      for _ in 0..<40 {
        now += UInt64(random.int(below: 1_000))
        let former = writer
        let path = random.oneIn(8) ? ["in", "x"] as [TextKey] : [keys[random.int(below: keys.count)]]
        // Rarely the reader writes, too, and is pulled from.
        if random.oneIn(200) {
          try reader.update([.set(path, scalar())], now: now)
          try writer.merge(reader.wire())
          continue
        }
        try writer.update([.set(path, scalar())], now: now)
        guard let before = former.document, let after = writer.document, before.summary != after.summary,
          let whole = try WireDocument.operationDelta(
            of: before.stored, to: after.stored, tables: writer.tables)
        else { continue }
        var columns: [Range<Int>] = []
        guard let part = try RunMember(whole, values: &columns) else { continue }
        writes += 1
        // Taken for one like the last, or like itself, it comes to the same.
        for (likely, isAlike) in [(last, last == part.head), (part.head, true)] {
          var values: [Range<Int>] = [7..<8]
          let again = try #require(try RunMember(whole, like: likely, values: &values), "seed \(seed)")
          expect(again.head == part.head && again.isAlike == isAlike, "seed \(seed)")
          expectEqual(values, [7..<8] + columns, "seed \(seed)")
        }
        last = part.head
        var entries = ByteWriter()
        let operationDelta = whole.bytes
        try part.head.appendEntries(operationDelta.span.bytes, columns: &columns, to: &entries)
        func applied(by route: CodecRoute) throws -> Peer? {
          var peer = reader
          guard let standing = peer.document else { return nil }
          var codec = RunCodec(part.head)
          let bytes = entries.bytes
          peer.document = try codec.apply(
            bytes.span.bytes, to: standing.stored, own: peer.site, tables: &peer.tables, by: route)
          return peer.document == nil ? nil : peer
        }
        let measure = try #require(try applied(by: .tree), "seed \(seed)")
        expectEqual(measure.document?.summary, writer.document?.summary, "seed \(seed)")
        try expectEqual(measure.wire(), writer.wire(), "seed \(seed)")
        try expectEqual(applied(by: .shortest)?.document?.summary, writer.document?.summary, "seed \(seed)")
        if let patched = try applied(by: .patch) {
          direct += 1
          expect(patched.verifies, "seed \(seed)")
          try expectEqual(patched.wire(), measure.wire(), "seed \(seed)")
          try expectEqual(patched.state, measure.state, "seed \(seed)")
          expectEqual(patched.document?.summary, measure.document?.summary, "seed \(seed)")
          reader = patched
        } else {
          reader = measure
        }
      }
    }
    #expect(direct * 3 > writes, "\(direct) of \(writes) were made on the bytes")
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `no successor that the validator refuses is merged, and no other than it says`(seed: UInt64) throws {
    var script = try Script(seed: seed)
    var before = script.peers[0]
    var wire: [UInt8] = []
    while wire.isEmpty {
      script.now += 2
      before = script.peers[0]
      _ = try? script.peers[0].update([script.edit()], now: script.now)
      wire = try script.peers[0].operationDelta(of: before) ?? []
    }
    let canonical = try script.peers[0].wire()
    for _ in 0..<1_000 {
      var bytes = wire
      let index = script.random.generator.int(below: bytes.count)
      bytes[index] ^= 1 << UInt8(script.random.generator.int(below: 8))
      if script.random.generator.oneIn(3) {
        bytes.remove(at: script.random.generator.int(below: bytes.count))
      }
      let isValid = (try? WireDocument.validate(bytes.span.bytes)) != nil
      for route in [CodecRoute.shortest, .tree] {
        let result = try? outcome(of: bytes, on: before, by: route)
        expectEqual(isValid, result != nil, "seed \(seed)")
        guard let (outcome, peer) = result, outcome.isChanged else { continue }
        // Whatever it says comes to the announced state, or is not merged.
        try expectEqual(peer.wire(), canonical, "seed \(seed)")
      }
    }
  }

  /// A document of five sites with a life behind it, as three of them have it.
  private func midlife() throws -> Peer {
    var peers = (1...5).map { Peer($0) }
    try peers[0].upsert(
      ["status": .string("draft"), "count": .int(1), "views": .counter(0), "map": .map(["x": .int(1)])],
      now: Self.now)
    for round in 0..<20 {
      let index = round % 5
      try peers[index].pull(peers[(index + 4) % 5])
      try peers[index].update(
        [.set(["status"], .string("draft \(round)")), .increment(["views"], 1)],
        now: Self.now + UInt64(round) * 3_600_000)
    }
    try peers[0].pull(peers[4])
    return peers[0]
  }

  @Test func `one field of a document of several sites takes at most 60 bytes with an id of 24 letters`()
    throws
  {
    // In a group: length, tag and letters of the id, then the operation delta.
    let id = 1 + 1 + 24
    let later = Self.now + 30 * 24 * 3_600_000
    let edits: [[Edit]] = [
      [.set(["status"], .string("shipped"))], [.set(["count"], .int(1_000_000))],
      [.increment(["views"], 1)], [.set(["map", "x"], .bool(true))], [.remove(["status"])],
    ]
    for edit in edits {
      var peer = try midlife()
      let former = peer
      try peer.update(edit, now: later)
      let wire = try #require(try peer.operationDelta(of: former))
      expect(id + wire.count <= 60, "\(edit)")
      try expect(wire.count < peer.wire(lacking: former.vector).count, "\(edit)")
    }
    var peer = try midlife()
    let former = peer
    try peer.remove(now: later)
    #expect(try #require(try peer.operationDelta(of: former)).count <= 20)
  }

  @Test func `what is not one latest write is no successor`() throws {
    let former = try midlife()
    var twice = former
    try twice.update([.set(["status"], .null)], now: Self.now * 2)
    var other = Peer(2)
    try other.merge(twice.wire())
    try other.update([.set(["count"], .int(3))], now: Self.now * 2 + 1)
    try twice.merge(other.wire())
    #expect(try twice.operationDelta(of: former) == nil)
    // A first count where nothing stood, which may stand under another's removal.
    var counted = former
    try counted.update([.increment(["fresh"], 1)], now: Self.now * 2)
    #expect(try counted.operationDelta(of: former) == nil)
    var countedAgain = counted
    try countedAgain.update([.increment(["fresh"], 1)], now: Self.now * 2 + 1)
    #expect(try countedAgain.operationDelta(of: counted) != nil)
    // A write that came late.
    var late = Peer(6)
    try late.merge(former.wire())
    try late.update([.set(["map", "y"], .int(1))], now: Self.now * 2)
    var ahead = former
    try ahead.update([.set(["status"], .null)], now: Self.now * 2 + 1)
    let before = ahead
    try ahead.pull(late)
    #expect(try ahead.operationDelta(of: before) == nil)
    // After a deletion a document starts afresh.
    var dead = former
    try dead.remove(now: Self.now * 2)
    var afresh = dead
    try afresh.upsert(["status": .null], now: Self.now * 2 + 1)
    #expect(try afresh.operationDelta(of: dead) == nil)
  }

  @Test func `a new site's first write names the site`() throws {
    let former = try midlife()
    var peer = Peer(6)
    try peer.merge(former.wire())
    let before = peer
    try peer.update([.set(["status"], .string("shipped"))], now: Self.now * 2)
    let wire = try #require(try peer.operationDelta(of: before))
    #expect(wire.count == 1 + 10 + 1 + 16 + 6 + 1 + 7 + 1 + 8)
    #expect(try check(wire, on: former, leadsTo: peer, 0))
  }

  @Test func `a replica sends a write on top of what the other has, and all that lacks where it has not`()
    throws
  {
    var phone = Replica(site: SiteID(high: 1, low: 1))
    var laptop = Replica(site: SiteID(high: 2, low: 2))
    var document = ReplicatedDocument()
    try phone.upsert(["status": .string("open"), "n": .int(1)], into: &document, now: Self.now)
    var copy = ReplicatedDocument()
    try laptop.merge(phone.encoding(of: document), into: &copy, now: Self.now)
    var former = document
    try phone.update([.set(["status"], .string("done"))], of: &document, now: Self.now + 1_000)
    let wire = try phone.delta(of: document, after: former)
    #expect(wire.count < 32)
    var elsewhere = ReplicatedDocument()
    #expect(try laptop.merge(wire, into: &elsewhere, now: Self.now) == .missingBase)
    #expect(try laptop.merge(wire, into: &copy, now: Self.now) == .changed)
    #expect(try laptop.merge(wire, into: &copy, now: Self.now) == .unchanged)
    #expect(copy.summary == document.summary)
    #expect(laptop.clock.latest >= ClockReading(milliseconds: Self.now + 1_000))
    try laptop.update([.set(["n"], .int(2))], of: &copy, now: Self.now + 2_000)
    former = document
    try phone.update([.set(["status"], .string("more"))], of: &document, now: Self.now + 2_000)
    #expect(
      try laptop.merge(phone.delta(of: document, after: former), into: &copy, now: Self.now) == .missingBase)
    let rest = try phone.delta(of: document, since: laptop.vector(of: copy))
    #expect(try laptop.merge(rest, into: &copy, now: Self.now) == .changed)
    #expect(try phone.merge(laptop.encoding(of: copy), into: &document, now: Self.now) == .changed)
    #expect(copy.summary == document.summary)
  }
}
