import CRDTCore
import CRDTModel
import TestKit
import Testing

@Suite struct CollectionTests {
  private static let horizon = ClockReading(milliseconds: 5_000)

  @Test func `an old removal is forgotten, a young one and every value stay`() throws {
    var a = Peer(1)
    try a.upsert(["x": .int(1), "y": .int(2), "z": .int(3)], now: 1_000)
    try a.update([.remove(["x"])], now: 2_000)
    try a.update([.remove(["y"])], now: 6_000)
    let (before, summary) = (try #require(a.document?.record.count), a.document?.summary)
    let vector = try a.vector
    #expect(try a.collect(before: Self.horizon) == .changed)
    #expect(try #require(a.document?.record.count) < before)
    #expect(try a.fields == ["z": .int(3)])
    #expect(try a.document?.summary == summary && a.vector == vector && a.verifies)
    #expect(try a.collect(before: Self.horizon) == .unchanged)
  }

  @Test func `what was seen and removed does not come back after the removal is forgotten`() throws {
    var (a, b) = (Peer(1), Peer(2))
    try a.upsert(["x": .int(1), "z": .int(3)], now: 1_000)
    try b.pull(a)
    let old = try b.wire()
    try a.update([.remove(["x"])], now: 2_000)
    try a.collect(before: Self.horizon)
    #expect(try a.merge(old).isUnchanged)
    // The vectors agree after a delta that has nothing in it; the summaries tell, the repair settles.
    try b.pull(a)
    #expect(try b.vector == a.vector && b.document?.summary != a.document?.summary)
    try b.repair(a.wire())
    #expect(try b.fields == ["z": .int(3)])
  }

  /// How default data was met before the field was removed.
  @Test(arguments: 0..<5)
  func `a removal that hides default data stays, whatever stood between the two`(way: Int) throws {
    var (a, other) = (Peer(1), Peer(2))
    try other.upsert(["x": .int(7), "m": .map(["k": .int(1)])], .insertDefaultIfAbsent)
    switch way {
    case 0: try a.pull(other)
    case 1:
      try a.pull(other)
      try a.update([.set(["x"], .int(8)), .set(["m"], .map([:]))], now: 1_000)
    case 2:
      try a.upsert(["x": .int(8), "m": .map([:])], now: 1_000)
      try a.pull(other)
    case 3:
      try a.upsert(["x": .int(8), "m": .int(1)], now: 1_000)
      try a.pull(other)
      try a.update([.set(["m", "n"], .int(1))], now: 1_500)
    default:
      try a.pull(other)
      try a.update([.increment(["x"], 1), .increment(["m", "c"], 1)], now: 1_000)
    }
    try a.update([.remove(["x"]), .remove(["m"])], now: 2_000)
    let wire = try a.wire()
    #expect(try a.collect(before: Self.horizon) == .unchanged)
    try a.merge(other.wire())
    #expect(try a.fields == [:])
    #expect(try a.wire() == wire)
  }

  @Test func `default data that comes again after the document began afresh changes nothing`() throws {
    var (device, other) = (Peer(1), Peer(2))
    try device.upsert(["a": .int(-1), "b": .int(-2)], .insertDefaultIfAbsent)
    let initial = try device.wire()
    try other.merge(initial)
    try other.remove(now: 1_000)
    try other.upsert(["a": .int(1)], now: 2_000)
    #expect(try other.merge(initial).isUnchanged)
    try device.pull(other)
    #expect(try device.merge(initial).isUnchanged)
    #expect(try device.fields == ["a": .int(1)] && device.wire() == other.wire())
  }

  @Test func `first increments, which share default data's epoch, do not come back`() throws {
    var (a, b) = (Peer(1), Peer(2))
    try a.upsert(["m": .map([:])], now: 1_000)
    try a.update([.increment(["m", "c"], 5)], now: 1_100)
    try b.pull(a)
    try a.update([.remove(["m"])], now: 2_000)
    try a.collect(before: Self.horizon)
    try a.pull(b, whole: true)
    #expect(try a.fields == [:])
  }

  @Test func `a floor stays while a value lies below it, and goes with the last one`() throws {
    var (a, late) = (Peer(1), Peer(2))
    try late.upsert(["m": .map(["old": .int(1)])], now: 500)
    try a.upsert(["m": .int(1)], now: 1_000)
    try a.update([.set(["m", "new"], .int(2))], now: 1_500)
    #expect(try a.collect(before: Self.horizon) == .unchanged)
    try a.pull(late)
    #expect(try a.fields == ["m": .map(["new": .int(2)])])
    try a.update([.remove(["m"])], now: 2_000)
    #expect(try a.collect(before: Self.horizon) == .changed)
    #expect(try a.fields == [:])
  }

  @Test func `keys that come and go in a map leave nothing behind`() throws {
    var a = Peer(1)
    try a.upsert(["m": .map([:])], now: 1_000)
    let small = try #require(a.document?.record.count)
    for turn in 0..<200 as Range<UInt64> {
      try a.update([.set(["m", "key \(turn)"], .int(1))], now: 2_000 + turn)
      try a.update([.remove(["m", "key \(turn)"])], now: 2_000 + turn)
    }
    #expect(try #require(a.document?.record.count) > small + 1_000)
    try a.collect(before: Self.horizon)
    #expect(try #require(a.document?.record.count) < small + 40)
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `collecting changes neither what readers see, nor the summary, nor the vector`(block: UInt64) throws {
    var collected = 0
    for seed in block * 25..<block * 25 + 25 {
      var random = RandomDocument(seed: seed)
      for peer in try random.replicas(3) where peer.isAlive {
        var less = peer
        guard try less.collect(before: ClockReading(milliseconds: 1_400)) == .changed else { continue }
        collected += 1
        try expectEqual(less.fields, peer.fields, "seed \(seed)")
        try expect(less.vector == peer.vector && less.verifies, "seed \(seed)")
        expectEqual(less.document?.summary, peer.document?.summary, "seed \(seed)")
        try expectEqual(less.collect(before: ClockReading(milliseconds: 1_400)), .unchanged, "seed \(seed)")
        // Who has not collected is not told anything new, nor the other way round.
        var full = peer
        try expect(full.merge(less.wire()).isUnchanged, "seed \(seed)")
        try expect(less.merge(peer.wire()).isUnchanged || less.fields == peer.fields, "seed \(seed)")
      }
    }
    #expect(collected > 0)
  }
}
