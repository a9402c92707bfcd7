import CRDTCore
import CRDTModel
import TestKit
import Testing

/// Bytes that merging costs: the base stamp in a record's header and everything after the values.
@Suite struct MetadataSizeTests {
  private static let today: UInt64 = 1_760_000_000_000

  private static var fields: [TextKey: Value] {
    Dictionary(uniqueKeysWithValues: (0..<20).map { ("field\($0)", .int(Int64($0))) })
  }

  @Test func `a fresh document of 20 fields carries at most 20 bytes`() throws {
    var a = Peer(1)
    try a.upsert(Self.fields, now: Self.today)
    #expect(a.metadataBytes <= 20)
    var b = Peer(2)
    try b.pull(a)
    #expect(b.metadataBytes <= 20)
  }

  @Test(arguments: [1_000, 60_000, 3_600_000] as [UInt64])
  func `after 20 edits by 5 sites a document carries at most 120 bytes`(pause: UInt64) throws {
    var peers = (1...5).map { Peer($0) }
    try peers[0].upsert(Self.fields, now: Self.today)
    for index in 1..<5 { try peers[index].pull(peers[0]) }
    var generator = SeededGenerator(seed: 7)
    for edit in 0..<20 {
      let index = edit % 5
      let now = Self.today + UInt64(edit + 1) * pause
      try peers[index].update([.set(["field\(generator.int(below: 20))"], .int(Int64(edit)))], now: now)
      for other in 0..<5 where other != index { try peers[other].pull(peers[index]) }
    }
    for peer in peers {
      try expectEqual(peer.wire(), peers[0].wire())
      expect(peer.metadataBytes <= 120)
    }
  }

  @Test func `a default that a thousand devices insert adds no metadata`() throws {
    var cloud = Peer(0)
    try cloud.upsert(Self.fields, .insertDefaultIfAbsent, now: Self.today)
    let (record, metadata) = (cloud.record, cloud.metadataBytes)
    for number in 1...1_000 {
      var device = Peer(number)
      try device.upsert(Self.fields, .insertDefaultIfAbsent, now: Self.today + UInt64(number))
      let wire = try device.wire()
      try expect(cloud.merge(wire).isUnchanged)
    }
    #expect(cloud.record == record && metadata <= 20)
  }

  @Test func `100,000 updates of one field make no record grow`() throws {
    var a = Peer(1)
    try a.upsert(Self.fields, now: Self.today)
    var largest = 0
    for turn in 1...100_000 as ClosedRange<UInt64> {
      try a.update([.set(["field3"], .int(Int64(turn)))], now: Self.today + turn * 1_000)
      if turn == 10 { largest = a.metadataBytes }
    }
    // The distance of the clock readings takes a few more bytes as time passes.
    #expect(a.metadataBytes <= largest + 8)
    var b = Peer(2)
    try b.pull(a)
    #expect(try b.wire().count <= a.wire().count)
  }
}
