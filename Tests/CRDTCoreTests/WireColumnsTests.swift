import CRDTCore
import CRDTModel
import TestKit
import Testing

/// Wire documents taken apart and put together again.
@Suite struct WireColumnsTests {
  private typealias Script = RecordPatchTests.Script

  private func columns(_ wire: [UInt8]) throws -> WireColumns {
    try #require(try WireColumns(splitting: wire.span.bytes))
  }

  private func joined(_ columns: WireColumns) throws -> [UInt8] {
    try WireColumns.joined(columns.content.span.bytes, columns.stamps.span.bytes, limit: 1 << 20)
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `what was taken apart comes together as it was, states and deltas`(seed: UInt64) throws {
    var script = try Script(seed: seed)
    for _ in 0..<30 {
      script.now += UInt64(script.random.generator.int(below: 3))
      let index = script.random.generator.int(below: 3)
      _ = try? script.peers[index].update([script.edit()], now: script.now)
      if script.random.generator.oneIn(9) {
        _ = try? script.peers[index].upsert(script.smallUpsert(), now: script.now)
      }
      let other = script.random.generator.int(below: 3)
      for base in try [VersionVector(), script.peers[other].vector] {
        let wire = try script.peers[index].wire(lacking: base)
        try expectEqual(joined(columns(wire)), wire)
      }
      if other != index { try script.peers[other].pull(script.peers[index]) }
    }
  }

  @Test func `a new life and a new writer leave the content of what they did not write`() throws {
    var a = Peer(1)
    try a.upsert(
      Dictionary(uniqueKeysWithValues: (0..<40).map { ("k\($0)", .string("value \($0)")) }),
      now: 1_760_000_000_000)
    let before = try columns(a.wire())
    var b = Peer(0)
    try b.pull(a)
    try b.update([.set(["k0"], .string("VALUE 0"))], now: 1_760_000_001_000)
    let updated = try columns(b.wire())
    try b.upsert(["k0": .string("value 0")], now: 1_760_000_002_000)
    let renewed = try columns(b.wire())
    #expect(updated.content.count == before.content.count)
    #expect(zip(updated.content, before.content).filter { $0 != $1 }.count == 5)
    #expect(renewed.content == before.content)
    #expect(renewed.stamps != before.stamps)
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `any bytes are put together or refused, within the limit`(seed: UInt64) throws {
    var script = try Script(seed: seed)
    for _ in 0..<6 {
      script.now += 2
      _ = try? script.peers[0].update([script.edit()], now: script.now)
    }
    let columns = try columns(script.peers[0].wire())
    for _ in 0..<500 {
      var parts = [columns.content, columns.stamps]
      let which = script.random.generator.int(below: 2)
      let index = script.random.generator.int(below: parts[which].count)
      parts[which][index] ^= 1 << UInt8(script.random.generator.int(below: 8))
      if script.random.generator.oneIn(3) { parts[which].remove(at: index) }
      let limit = script.random.generator.int(below: 4_000)
      let (content, stamps) = (parts[0], parts[1])
      let wire = try? WireColumns.joined(content.span.bytes, stamps.span.bytes, limit: limit)
      let length = wire?.count ?? 0
      expect(length <= limit + 4_096)
      let changed = parts[which]
      _ = try? WireColumns(splitting: changed.span.bytes)
    }
  }
}
