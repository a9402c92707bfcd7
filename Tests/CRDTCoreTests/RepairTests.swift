import CRDTCore
import CRDTModel
import TestKit
import Testing

/// Two stores of one site that were at the same readings stand for replicas of which one has collected
/// what it had seen: equal vectors, different content.
@Suite struct RepairTests {
  /// The same history twice: `full` has what `less` no longer holds.
  private func pair(
    _ full: [TextKey: Value], _ less: [TextKey: Value], edits: ([Edit], [Edit]) = ([], [])
  ) throws -> (full: Peer, less: Peer) {
    var (a, b) = (Peer(1), Peer(1))
    try a.upsert(full, now: 1_000)
    try b.upsert(less, now: 1_000)
    for (index, edit) in edits.0.enumerated() { try a.update([edit], now: 2_000 + UInt64(index)) }
    for (index, edit) in edits.1.enumerated() { try b.update([edit], now: 2_000 + UInt64(index)) }
    return (a, b)
  }

  private func expectBothSettle(_ a: Peer, _ b: Peer, on fields: [TextKey: Value]) throws {
    let (wireA, wireB) = (try a.wire(), try b.wire())
    try expect(a.vector == b.vector && wireA != wireB)
    var (repairedA, repairedB) = (a, b)
    try repairedA.repair(wireB)
    try repairedB.repair(wireA)
    try expectEqual(repairedA.fields, fields)
    try expectEqual(repairedA.wire(), repairedB.wire())
    expectEqual(repairedA.document?.summary, repairedB.document?.summary)
    try expectEqual(repairedA.vector, a.vector)
    let settled = try repairedB.wire()
    try expect(repairedA.repair(settled).isUnchanged)
  }

  @Test func `an entry that was seen and is no longer held is passed over by a merge`() throws {
    let (full, less) = try pair(["a": .int(1), "b": .int(2)], ["a": .int(1)])
    var merged = less
    let wire = try full.wire()
    #expect(try merged.merge(wire).isUnchanged)
    #expect(try merged.fields == ["a": .int(1)])
  }

  @Test func `increments that were seen and are no longer held are passed over by a merge`() throws {
    let (full, less) = try pair(
      ["c": .counter(0)], ["c": .counter(0)], edits: ([.increment(["c"], 5)], [.set(["x"], .null)]))
    var merged = less
    try merged.merge(full.wire())
    #expect(try merged.fields == ["c": .counter(0), "x": .null])
  }

  @Test func `a repair takes what the other side has seen and no longer holds for gone`() throws {
    let (full, less) = try pair(["a": .int(1), "b": .int(2), "m": .map(["x": .int(1)])], ["a": .int(1)])
    try expectBothSettle(full, less, on: ["a": .int(1)])
  }

  @Test func `a repair also does so where something else stands at the path`() throws {
    let (full, less) = try pair(
      ["a": .int(1), "b": .int(2)], ["a": .int(1), "b": .int(2)],
      edits: ([.set(["b"], .int(3))], [.set(["a"], .int(1))]))
    // Each side has seen what the other holds at `a` and `b`, and holds another entry itself.
    try expectBothSettle(full, less, on: [:])
  }

  @Test func `of two values of one path and stamp a repair keeps the greater, and drops none`() throws {
    for (lesser, greater) in [
      (Value.int(1), Value.int(2)), (.string("a"), .string("b")), (.string("z"), .int(1)),
      (.null, .bool(true)), (.map(["x": .int(1)]), .int(7)),
    ] {
      let (a, b) = try pair(["a": lesser, "b": .int(1)], ["a": greater, "b": .int(1)])
      try expectBothSettle(a, b, on: ["a": greater, "b": .int(1)])
      try expectBothSettle(b, a, on: ["a": greater, "b": .int(1)])
    }
  }

  @Test func `a repair keeps what the other side has not seen, and removals`() throws {
    var (full, less) = try pair(["a": .int(1), "b": .int(2)], ["a": .int(1)])
    var other = Peer(2)
    try other.upsert(["n": .int(9)], now: 3_000)
    try full.pull(other)
    let wire = try less.wire()
    try full.repair(wire)
    #expect(try full.fields == ["a": .int(1), "n": .int(9)])
    try less.pull(other)
    // The floor that `b` left is not content: summaries are equal, the wire bytes need not be.
    #expect(less.document?.summary == full.document?.summary)
    try less.update([.remove(["n"])], now: 4_000)
    try full.pull(less)
    let removed = try less.wire()
    #expect(try full.repair(removed).isUnchanged)
    #expect(try full.fields == ["a": .int(1)])
  }

  @Test func `a whole state that includes all that is here takes its place`() throws {
    var writer = Peer(1)
    try writer.upsert(["a": .int(1), "b": .int(2)], now: 1_000)
    var late = Peer(2)
    try late.pull(writer)
    try writer.update([.remove(["b"])], now: 2_000)
    try writer.collect(before: ClockReading(milliseconds: 3_000))
    var joined = late
    try joined.pull(writer, whole: true)
    // Of what is not there a join knows nothing.
    #expect(try joined.vector == writer.vector)
    #expect(try joined.fields == ["a": .int(1), "b": .int(2)])
    let wire = try writer.wire()
    try late.repair(wire)
    #expect(try late.fields == ["a": .int(1)])
    #expect(late.document?.summary == writer.document?.summary)
  }

  @Test func `what a site wrote twice at one time, before and after an eviction, is the same`() throws {
    var writer = Peer(1)
    let later = Stamping(site: writer.site, reading: ClockReading(milliseconds: 2_000))
    try writer.upsert(["a": .int(1)], now: 1_000)
    try writer.upsert(["b": .int(2)], .merge, later)
    var other = Peer(2)
    try other.pull(writer)
    writer.evict()
    try writer.upsert(["b": .int(2)], .merge, later)
    let again = writer
    try writer.pull(other)
    try other.pull(again)
    // Of both writes the one of the later birth stands, wherever they meet.
    let (wire, theirs) = (try writer.wire(), try other.wire())
    #expect(try writer.vector == other.vector && wire == theirs)
    try writer.repair(theirs)
    try other.repair(wire)
    #expect(try writer.fields == ["a": .int(1), "b": .int(2)])
    #expect(try other.fields == writer.fields)
  }

  @Test func `a repair keeps the floor of a value that it takes for gone`() throws {
    // `less` collected the scalar, but a delayed write from before it must stay hidden everywhere.
    let early = try {
      var peer = Peer(2)
      try peer.upsert(["m": .map(["x": .int(1)])], now: 500)
      return try peer.wire()
    }()
    var (full, less) = try pair(["m": .int(1), "k": .int(1)], ["k": .int(1)])
    let (wireFull, wireLess) = (try full.wire(), try less.wire())
    try full.repair(wireLess)
    try less.repair(wireFull)
    try full.merge(early)
    try less.merge(early)
    #expect(try full.fields == less.fields)
    #expect(try full.wire() == less.wire())
  }

  @Test(arguments: ["x", "m"])
  func `default data that only one side shows settles at once with what the other hides it under`(
    field: String
  ) throws {
    var (full, other, late) = (Peer(1), Peer(2), Peer(3))
    let initial: [TextKey: Value] = ["x": .int(7), "m": .map(["k": .int(7)])]
    try other.upsert(initial, .insertDefaultIfAbsent)
    try full.upsert([TextKey(field): .int(1), "z": .int(1)], now: 1_000)
    try late.pull(full)
    try late.update([.remove([TextKey(field)])], now: 2_000)
    try late.collect(before: ClockReading(milliseconds: 3_000))
    // It has met the removal as an empty delta, and hides the default under the value; the other shows it.
    try full.pull(late)
    try full.pull(other)
    try late.pull(other)
    #expect(try full.fields?[field] == .int(1) && late.fields?[field] == initial[field])
    var settled = initial
    settled["z"] = .int(1)
    settled[field] = nil
    try expectBothSettle(full, late, on: settled)
  }

  /// What a repair drops leaves a removal only where default data was merged; other peers see no difference.
  @Test func `what is gone at one of many is gone at all, whoever has met default data`() throws {
    var (full, less) = try pair(["x": .int(1), "z": .int(1)], ["z": .int(1)])
    var other = Peer(2)
    try other.upsert(["x": .int(7)], .insertDefaultIfAbsent)
    try full.pull(other)
    var repaired = full
    try repaired.repair(less.wire())
    #expect(try repaired.fields == ["z": .int(1)])
    let settled = try repaired.wire()
    // The one that still has the value meets both of the others, and gives it to neither.
    #expect(try repaired.repair(full.wire()).isUnchanged)
    try less.repair(full.wire())
    for wire in [try less.wire(), settled] {
      var peer = full
      try peer.repair(wire)
      try expect(peer.fields == ["z": .int(1)] && peer.document?.summary == repaired.document?.summary)
    }
    // So it is where the other has written since.
    try repaired.update([.set(["y"], .int(2))], now: 5_000)
    try full.repair(repaired.wire())
    #expect(try full.fields == ["y": .int(2), "z": .int(1)])
    #expect(full.document?.summary == repaired.document?.summary)
  }

  /// Replicas that have seen the same, hold any part of it, and have met default data or not.
  ///
  /// They are clones: one site that writes with the same HLC timestamps. In each step, a replica writes the
  /// same value to a field as the others do, or nothing.
  private func replicas(_ random: inout SeededGenerator) throws -> [Peer] {
    let fields: [TextKey] = ["x", "y", "m"]
    var initial = Peer(2)
    try initial.upsert(["x": .int(7), "m": .map(["k": .int(7)]), "d": .int(7)], .insertDefaultIfAbsent)
    let defaults = try initial.wire()
    let steps = 0..<3
    let history = steps.map { _ in fields.map { ($0, Int.random(in: 0..<4, using: &random)) } }
    return try (0..<4).map { _ in
      var peer = Peer(1)
      let meets = Int.random(in: 0...6, using: &random)
      for step in steps {
        let stamping = Stamping(site: peer.site, reading: ClockReading(milliseconds: 1_000 + UInt64(step)))
        var written: [TextKey: Value] = ["z": .int(Int64(step))]
        var removed: [Edit] = []
        for (field, kind) in history[step] where Int.random(in: 0..<3, using: &random) > 0 {
          switch kind {
          case 0: written[field] = .int(Int64(step))
          case 1: written[field] = .map(["k": .int(Int64(step))])
          case 2: removed.append(.remove([field]))
          default: break
          }
        }
        if step == 0 || removed.isEmpty {
          try peer.upsert(written, .merge, stamping)
        } else {
          try peer.update([.set(["z"], .int(Int64(step)))] + removed, stamping)
        }
        if step == meets { try peer.merge(defaults) }
        if Int.random(in: 0..<8, using: &random) == 0 {
          try peer.collect(before: ClockReading(milliseconds: 1_000 + UInt64(step)))
        }
      }
      return peer
    }
  }

  /// The number of a field, or of its key `k`.
  private func number(_ value: Value?) -> Int64? {
    switch value {
    case .int(let number): number
    case .map(let map): number(map["k"])
    default: nil
    }
  }

  /// Repairs only ever drop: what is left that is no default was held by all.
  ///
  /// They stand in a row, so that one that holds a value and one that has nothing may never meet.
  @Test(arguments: 0..<8) func `replicas that have seen the same settle on what all hold`(part: Int) throws {
    for seed in (part * 40)..<(part * 40 + 40) {
      var random = SeededGenerator(seed: UInt64(seed))
      var peers = try replicas(&random)
      let vectors = try Set(peers.map { try $0.vector })
      expectEqual(vectors.count, 1)
      let before = try peers.map { try $0.fields ?? [:] }
      var isSettled = false
      for _ in 0..<12 where !isSettled {
        isSettled = true
        for (one, other) in (0..<4).flatMap({ one in (0..<4).map { (one, $0) } }).shuffled(using: &random)
        where abs(one - other) == 1 {
          let outcome = try peers[one].repair(peers[other].wire())
          if !outcome.isUnchanged { isSettled = false }
        }
      }
      let summaries = Set(peers.map { $0.document?.summary })
      expect(isSettled && summaries.count == 1, "seed \(seed)")
      for (field, value) in try peers[0].fields ?? [:] {
        guard let kept = number(value), kept != 7 else { continue }
        expect(before.allSatisfy { number($0[field]) == kept }, "seed \(seed): \(field) is \(kept)")
      }
    }
  }

  @Test func `different defaults settle by value, the same everywhere`() throws {
    var (a, b) = (Peer(1), Peer(2))
    try a.upsert(["x": .int(300), "only": .int(1)], .insertDefaultIfAbsent)
    try b.upsert(["x": .int(7), "other": .int(2)], .insertDefaultIfAbsent)
    #expect(a.document?.summary != b.document?.summary)
    try expectBothSettle(a, b, on: ["x": .int(300), "only": .int(1), "other": .int(2)])
  }
}
