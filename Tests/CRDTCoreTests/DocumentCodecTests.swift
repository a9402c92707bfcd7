import CRDTCore
import CRDTModel
import TestKit
import Testing

@Suite struct DocumentCodecTests {
  @Test func `an upsert of a scalar over a map ends the map`() throws {
    var a = Peer(1)
    try a.upsert(["m": .map(["x": .int(1), "y": .map(["z": .int(2)])])])
    try a.upsert(["m": .int(5)])
    #expect(try a.fields == ["m": .int(5)])
    try a.upsert(["m": .map(["k": .int(1)])])
    #expect(try a.fields == ["m": .map(["k": .int(1)])])
  }

  @Test func `replace ends what a map held, keeping new empty maps`() throws {
    var a = Peer(1)
    try a.upsert(["m": .map(["old": .int(1), "sub": .map(["x": .int(1)])])])
    try a.update([.replace(["m"], .map(["sub": .map([:]), "new": .int(2)]))])
    #expect(try a.fields == ["m": .map(["sub": .map([:]), "new": .int(2)])])
    try a.update([.replace(["m"], .string("s"))])
    #expect(try a.fields == ["m": .string("s")])
    try a.update([.replace(["n", "o"], .map(["p": .null]))])
    #expect(try a.fields == ["m": .string("s"), "n": .map(["o": .map(["p": .null])])])
  }

  @Test func `all edits of one update share one stamp unless they overlap`() throws {
    var a = Peer(1)
    try a.upsert(["a": .int(0), "b": .int(0)], now: 1_000)
    try a.update(
      [.set(["a"], .int(1)), .set(["b"], .int(1)), .set(["c", "d"], .int(1)), .remove(["zz"])], now: 2_000)
    #expect(try a.vector.latest == ClockReading(milliseconds: 2_000))
    try a.update([.set(["a"], .int(9)), .set(["a"], .int(2))], now: 3_000)
    #expect(try a.fields?["a"] == .int(2))
    try a.update([.set(["a"], .int(9)), .set(["a", "x"], .int(2)), .remove(["a", "x"])], now: 4_000)
    #expect(try a.fields?["a"] == .map([:]))
  }

  @Test func `an update of different values writes one stamp, and nothing where all is equal`() throws {
    var a = Peer(1)
    let fields: [TextKey: Value] = [
      "a": .int(1), "n": .double(.nan), "m": .map(["x": .string("s"), "y": .double(-0.0)]),
    ]
    try a.upsert(fields, now: 1_000)
    #expect(try !a.upsert(fields, .updateDifferentValues, now: 2_000))
    try a.upsert(
      ["a": .int(2), "m": .map(["x": .string("t"), "y": .double(0.0)])], .updateDifferentValues, now: 3_000)
    #expect(try a.vector.latest == ClockReading(milliseconds: 3_000))
    #expect(try a.fields?["m"] == .map(["x": .string("t"), "y": .double(0.0)]))
  }

  @Test func `a record knows whether it holds what no vector covers`() throws {
    func exceeds(_ peer: Peer) throws -> Bool {
      let record = try #require(peer.record)
      return try record.withView { view throws(CodecError) in try view.exceedsVector(tables: peer.tables) }
    }
    var (a, b) = (Peer(1), Peer(2))
    try a.upsert(["x": .int(1)])
    #expect(try !exceeds(a))
    try b.upsert(["x": .int(0), "y": .int(0)], .insertDefaultIfAbsent)
    #expect(try exceeds(b))
    try b.pull(a)
    #expect(try exceeds(b))
    // All of it written over, at once and one by one.
    try b.update([.set(["y"], .int(2))], now: 3_000)
    #expect(try !exceeds(b))
    try a.pull(b)
    #expect(try !exceeds(a))
    // Under what another wrote there.
    var c = Peer(3)
    try c.upsert(["m": .map(["k": .int(0)])], .insertDefaultIfAbsent)
    try c.update([.set(["m", "l"], .int(1))], now: 4_000)
    #expect(try exceeds(c))
    var dead = Peer(4)
    let death = Stamp(reading: ClockReading(milliseconds: 5_000), site: SiteID(high: 7, low: 7))
    dead.document = DocumentCodec.tombstone(of: death, tables: &dead.tables)
    #expect(try exceeds(dead))
    try dead.upsert(["x": .int(1)], now: 9_000)
    #expect(try !exceeds(dead))
  }

  @Test func `merging what is known changes nothing, not even with a NaN in it`() throws {
    var a = Peer(1)
    try a.upsert(["n": .double(.nan), "z": .double(-0.0), "l": .array([.double(.nan)])])
    var b = Peer(2)
    try b.pull(a)
    #expect(try b.merge(a.wire()).isUnchanged)
    #expect(try a.merge(b.wire()).isUnchanged)
  }

  @Test func `an increment after a deletion and a new insert counts`() throws {
    var a = Peer(1)
    try a.upsert(["x": .int(1)])
    try a.remove()
    try a.upsert(["y": .int(1)])
    try a.update([.increment(["c"], 3)])
    #expect(try a.fields == ["y": .int(1), "c": .counter(3)])
    try a.update([.set(["m"], .int(1))])
    try a.update([.increment(["m", "c"], 4)])
    try a.update([.increment(["m", "c"], 4)])
    #expect(try a.fields == ["y": .int(1), "c": .counter(3), "m": .map(["c": .counter(8)])])
  }

  @Test func `first increments of several sites on an absent field add up`() throws {
    var a = Peer(1)
    try a.upsert(["x": .int(1)])
    var b = Peer(2)
    try b.pull(a)
    try a.update([.increment(["c"], 2)])
    try b.update([.increment(["c"], 5)])
    try a.pull(b)
    try b.pull(a)
    #expect(try a.fields?["c"] == .counter(7))
    #expect(try a.wire() == b.wire())
  }

  @Test func `default numbers and counters of one path settle alike in every order`() throws {
    let defaults: [Value?] = [.int(129), .int(192), .string("x"), .int(-1), .counter(5), nil]
    for first in defaults {
      for second in defaults {
        for third in defaults {
          let peers = try Array([first, second, third].enumerated()).map { index, value in
            var peer = Peer(index + 1)
            try peer.upsert(value.map { ["c": $0] } ?? ["o": .null], .insertDefaultIfAbsent)
            if value == nil { try peer.update([.increment(["c"], 1)]) }
            return peer
          }
          try expectJoinLaws((peers[0], peers[1], peers[2]))
        }
      }
    }
  }

  private func expectJoinLaws(_ peers: (Peer, Peer, Peer)) throws {
    try TestKit.expectJoinLaws((peers.0.wire(), peers.1.wire(), peers.2.wire())) { a, b in
      var peer = Peer(9)
      try peer.merge(a)
      try peer.merge(b)
      return try peer.wire()
    }
  }

  @Test func `a removal that hides a default is the same everywhere in the end`() throws {
    var a = Peer(1)
    try a.upsert(["x": .int(1), "y": .int(0)])
    try a.update([.remove(["x"])])
    var b = Peer(2)
    try b.upsert(["x": .int(7)], .insertDefaultIfAbsent)
    try b.pull(a)
    try a.pull(b)
    #expect(try a.fields == ["y": .int(0)])
    #expect(try a.wire() == b.wire())
  }

  @Test func `removing the last field of a map leaves an empty map`() throws {
    var a = Peer(1)
    try a.upsert(["m": .map(["x": .int(1)])], now: 1_000)
    var b = Peer(2)
    try b.pull(a)
    try b.update([.remove(["m"])], now: 2_000)
    try a.update([.set(["m", "x"], .int(2))], now: 3_000)
    try a.pull(b)
    #expect(try a.fields == ["m": .map(["x": .int(2)])])
    try a.update([.remove(["m", "x"])], now: 4_000)
    #expect(try a.fields == ["m": .map([:])])
  }

  @Test func `an empty map that is written is a write and beats an earlier removal`() throws {
    var a = Peer(1)
    try a.upsert(["m": .map([:])], now: 1_000)
    var b = Peer(2)
    try b.pull(a)
    try b.update([.remove(["m"])], now: 2_000)
    try a.upsert(["m": .map([:])], now: 3_000)
    try a.pull(b)
    try b.pull(a)
    #expect(try a.fields == ["m": .map([:])])
    #expect(try b.wire() == a.wire())
  }

  @Test func `keys of a path may be as long as any other key and no longer`() throws {
    var a = Peer(1)
    try a.upsert(["x": .int(1)])
    let longest = TextKey(String(repeating: "k", count: Int(UInt16.max)))
    try a.update([.set([longest], .int(1)), .set(["m", longest], .int(2))])
    #expect(try a.fields == ["x": .int(1), longest: .int(1), "m": .map([longest: .int(2)])])
    var b = Peer(2)
    try b.pull(a)
    #expect(try b.fields == a.fields)
    let before = a.record
    for path: [TextKey] in [["\(longest)k"], ["m", "\(longest)k"]] {
      for edit in [Edit.set(path, .int(1)), .increment(path, 1), .restart(path, 1), .replace(path, .null)] {
        #expect(throws: DocumentError.self) { try a.update([edit]) }
      }
    }
    #expect(throws: DocumentError.self) { try a.upsert(["\(longest)k": .null]) }
    #expect(throws: DocumentError.self) { try a.upsert(["m": .map(["\(longest)k": .null])]) }
    #expect(a.record == before)
  }

  @Test func `the same writes give the same record whatever order a dictionary has`() throws {
    let keys = (0..<40).map { "key\($0)" }
    func record(_ keys: [String]) throws -> Record? {
      var fields = [TextKey: Value](minimumCapacity: keys.count * 20)
      for key in keys { fields[key] = .map(["b\(key)": .int(1), "a\(key)": .int(2)]) }
      var peer = Peer(1)
      try peer.upsert(fields, now: 5)
      return peer.record
    }
    #expect(try record(keys) == record(keys.reversed()))
    var wide = [TextKey: Value](minimumCapacity: 4_000)
    var narrow = [TextKey: Value]()
    for key in keys { wide[key] = .int(1) }
    for key in keys.reversed() { narrow[key] = .int(1) }
    var a = Peer(1)
    var b = Peer(1)
    try a.upsert(wide)
    try b.upsert(narrow)
    #expect(a.record == b.record)
  }

  @Test func `an id among the fields is not stored, and no edit or peer can set one`() throws {
    var a = Peer(1)
    try a.upsert(["_id": .string("d"), "x": .int(1)])
    #expect(try a.fields == ["x": .int(1)])
    try a.upsert(["_id": .string("e"), "x": .int(2)], .updateDifferentValues)
    #expect(try a.fields == ["x": .int(2)])
    #expect(throws: DocumentError.self) { try a.update([.set(["_id"], .int(1))]) }
    #expect(throws: DocumentError.self) { try a.update([.set([], .int(1))]) }
  }

  @Test func `an update of an unknown or deleted document and a second removal write nothing`() throws {
    var a = Peer(1)
    #expect(try !a.update([.set(["x"], .int(1))]))
    #expect(try !a.remove())
    try a.upsert(["x": .int(1)])
    #expect(try a.remove())
    #expect(try !a.remove())
    #expect(try !a.update([.set(["x"], .int(1))]))
    #expect(try !a.upsert(["x": .int(1)], .insertDefaultIfAbsent))
    #expect(try a.fields == nil)
  }

  @Test func `only numbers and counters can be counted on, and an array holds no counter`() throws {
    var a = Peer(1)
    try a.upsert([
      "s": .string("x"), "m": .map(["k": .int(1)]), "e": .map([:]), "i": .int(4), "d": .double(1),
    ])
    for path: [TextKey] in [["s"], ["m"], ["e"], ["d"]] {
      #expect(throws: DocumentError.self) { try a.update([.increment(path, 1)]) }
    }
    try a.update([.increment(["i"], 1), .increment(["m", "k"], -3)])
    #expect(try a.fields?["i"] == .counter(5))
    #expect(try a.fields?["m"] == .map(["k": .counter(-2)]))
    for value in [Value.array([.counter(1)]), .array([.map(["c": .counter(1)])])] {
      #expect(throws: DocumentError.self) { try a.upsert(["a": value]) }
    }
  }

  @Test func `counters saturate alike wherever the increments meet`() throws {
    var a = Peer(1)
    try a.upsert([:])
    try a.update([.restart(["c"], .max)])
    var b = Peer(2)
    try b.pull(a)
    try a.update([.increment(["c"], .max)])
    try a.update([.increment(["c"], .max)])
    try b.update([.increment(["c"], -5)])
    try a.pull(b)
    try b.pull(a)
    #expect(try a.fields == ["c": .counter(.max)])
    #expect(try a.wire() == b.wire())
    try a.update([.restart(["c"], .min)])
    try a.update([.increment(["c"], -1)])
    #expect(try a.fields == ["c": .counter(.min)])
  }
}
