import CRDTModel
import TestKit
import Testing

@testable import CRDTCore

/// What its only writer sets in a document, told from the bytes of both records, held against the tree's way.
@Suite struct SoleOperationDeltaTests {
  private static let now: UInt64 = 1_760_000_000_000

  private static func value(_ random: inout SeededGenerator) -> Value {
    switch random.int(below: 7) {
    case 0: .null
    case 1: .bool(random.oneIn(2))
    case 2: .int(Int64(random.int(below: 100)))
    case 3: .int(Int64(bitPattern: random.next()))
    case 4: .double(Double(random.int(below: 1_000)) / 7)
    case 5: .string(String(repeating: "a", count: random.int(below: 300)))
    default: .array([.int(Int64(random.int(below: 9))), .string("in it")])
    }
  }

  private static func document(_ random: inout SeededGenerator) throws -> Peer {
    var fields: [TextKey: Value] = [:]
    for index in 0..<(1 + random.int(below: 40)) {
      fields["f\(index)"] =
        random.oneIn(5) ? .map(["a": value(&random), "b": .map(["c": value(&random)])]) : value(&random)
    }
    fields["f0"] = value(&random)
    var peer = Peer(1)
    try peer.upsert(fields, now: now)
    return peer
  }

  private func make(_ peer: Peer, from former: Peer) throws -> [UInt8]? {
    let (before, after) = (try #require(former.document), try #require(peer.document))
    return SoleOperationDelta.make(from: before.stored, to: after.stored, tables: peer.tables)?.bytes
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `one field set over and over is told at once, as the tree tells it`(block: UInt64) throws {
    var told = 0
    for seed in block * 100..<(block + 1) * 100 {
      var random = SeededGenerator(seed: seed)
      var peer = try Self.document(&random)
      let state = try peer.state
      let names = try #require(state).root.children.map(\.key).sorted()
      for turn in 1...30 {
        let former = peer
        let name = names[random.int(below: names.count)]
        try peer.update(
          [.set([name], Self.value(&random))], now: Self.now + UInt64(turn * random.int(below: 3)))
        guard peer.document?.summary != former.document?.summary else { continue }
        let made = try make(peer, from: former)
        let measure = try peer.operationDelta(of: former, by: .tree)
        if let made {
          expectEqual(made, measure, "seed \(seed)")
          told += 1
        }
      }
    }
    // Up to 24 fields with a time of their own, and none that was a map.
    #expect(told > 1_500, "\(told) of 3000")
  }

  @Test func `what is more than one field set is left to the general way`() throws {
    var random = SeededGenerator(seed: 3)
    let former = try Self.document(&random)
    func check(_ change: (inout Peer) throws -> Void) throws {
      var peer = former
      try change(&peer)
      #expect(try make(peer, from: former) == nil)
    }
    let later = Self.now + 9
    try check { try $0.update([.set(["f0"], .int(-7)), .set(["new"], .int(1))], now: later) }
    try check { try $0.update([.set(["new"], .int(1))], now: later) }
    try check { try $0.update([.remove(["f0"])], now: later) }
    try check { try $0.update([.set(["f0"], .map(["x": .int(1)]))], now: later) }
    try check { try $0.remove(now: later) }
    try check {
      try $0.update([.set(["f0"], .int(-7))], now: later)
      try $0.update([.set(["f0"], .int(-8))], now: later + 1)
      try $0.update([.increment(["count"], 1)], now: later + 2)
    }
    // Another's write, and one on top of it.
    try check {
      var other = Peer(2)
      try other.merge($0.wire())
      try other.update([.set(["f0"], .int(-9))], now: later)
      try $0.merge(other.wire())
    }
    // Two sets of one field leave the same state as one write, but they had two readings: this is no
    // operation delta.
    var twice = former
    try twice.update([.set(["f0"], .int(-7))], now: later)
    try twice.update([.set(["f0"], .int(-8))], now: later + 1)
    #expect(try make(twice, from: former) == twice.operationDelta(of: former, by: .tree))
  }

  @Test func `records that do not belong together are no write`() throws {
    for seed in 0..<200 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let (first, second) = (try Self.document(&random), try Self.document(&random))
      try expect(make(second, from: first) == nil)
    }
  }
}
