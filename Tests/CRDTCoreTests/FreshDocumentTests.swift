import CRDTCore
import CRDTModel
import TestKit
import Testing

/// New documents take short cuts past the state; both ways must come to the same bytes.
@Suite struct FreshDocumentTests {
  /// The record as the general encoder writes it: an empty default document makes the merge take it.
  private func slowCopy(of wire: [UInt8], tables: RecordTables) throws -> Peer {
    var peer = Peer(7)
    peer.tables = tables
    try peer.upsert([:], .insertDefaultIfAbsent)
    try peer.merge(wire)
    return peer
  }

  private func expectSameBothWays(_ fields: [TextKey: Value], _ strategy: WriteStrategy = .merge) throws {
    var writer = Peer(1)
    try writer.upsert(fields, strategy, now: 77)
    let wire = try writer.wire()
    var fast = Peer(7)
    fast.tables = writer.tables
    try fast.merge(wire)
    let slow = try slowCopy(of: wire, tables: writer.tables)
    let slowWire = try slow.wire()
    expectEqual(slowWire, wire)
    for peer in [fast, slow] {
      expectEqual(peer.document?.summary, writer.document?.summary)
      try expectEqual(peer.fields, writer.fields)
      try expectEqual(peer.vector, writer.vector)
      // The flags say whose the document is, and the checksum covers them.
      expectEqual(peer.record?.bytes.dropFirst(8), writer.record?.bytes.dropFirst(8))
    }
    expectEqual(fast.record, slow.record)
    try expectEqual(writer.fields, fields)
    var later = slow
    try later.update([.set(["later"], .int(1))], now: 99)
    try writer.pull(later)
    try expectEqual(writer.wire(), later.wire())
  }

  @Test(arguments: 0..<6 as Range<UInt64>)
  func `random documents`(block: UInt64) throws {
    for seed in block * 30..<block * 30 + 30 {
      var random = RandomDocument(seed: seed)
      // A counter bears another stamp than the fields beside it, unless all is default data.
      let fields = random.fields()
      if seed % 3 == 0 {
        try expectSameBothWays(fields, .insertDefaultIfAbsent)
      } else {
        try expectSameBothWays(fields.mapValues(\.withoutCounters))
      }
    }
  }

  @Test(arguments: [0, 1, 255, 256, 257, 700])
  func `maps of any number of keys, at the root and below`(count: Int) throws {
    let map = Dictionary(
      uniqueKeysWithValues: (0..<count).map { (TextKey("k\($0)é"), Value.int(Int64($0) - 5)) })
    try expectSameBothWays(map)
    try expectSameBothWays(["m": .map(map), "z": .map(["n": .map(map)])])
    var peer = Peer(1)
    try peer.upsert(["m": .map(map), "r": .int(1)])
    var path = ResolvedPath([.key("m"), .key("k3é")])
    path.resolve(in: peer.tables.keys)
    let found = try peer.value(at: path)
    #expect(found == map["k3é"])
  }

  @Test func `keys beyond what a key table takes stand in the record`() throws {
    var peer = Peer(1)
    for round in 0..<34 {
      let fields = (0..<125).map { (TextKey("key \(round) \($0)"), Value.int(Int64($0))) }
      peer.evict()
      try peer.upsert(Dictionary(uniqueKeysWithValues: fields), now: 5)
      try expectEqual(peer.fields, Dictionary(uniqueKeysWithValues: fields))
    }
    #expect(peer.tables.keys.count == KeyTable.capacity)
    try peer.upsert(["new key": .map(["another": .int(1)]), "key 0 1": .int(2)])
    #expect(try peer.fields?["new key"] == .map(["another": .int(1)]))
    try peer.update([.remove(["new key", "another"]), .set(["unheard of"], .bool(true))])
    var other = Peer(2)
    try other.pull(peer)
    #expect(try other.wire() == peer.wire())
    #expect(try other.fields == peer.fields)
    var path = ResolvedPath([.key("unheard of")])
    path.resolve(in: peer.tables.keys)
    #expect(try peer.value(at: path) == .bool(true))
  }

  @Test func `strings and bytes of any length`() throws {
    for count in [6, 7, 65_535, 65_536, 70_000, 0xFF_FFFE, 0xFF_FFFF] {
      let text = String(repeating: "a", count: count)
      var a = Peer(1)
      try a.upsert(["s": .string(text), "b": .bytes([UInt8](repeating: 7, count: count)), "t": .int(1)])
      var b = Peer(2)
      try b.pull(a)
      try expectEqual(b.fields, a.fields)
      try expectEqual(b.fields?["s"], .string(text))
    }
  }

  @Test func `a string of 20 MB is written, sent, changed and read`() throws {
    let text = String(repeating: "0123456789", count: 2_000_000)
    var a = Peer(1)
    try a.upsert(["s": .string(text)])
    var b = Peer(2)
    try b.pull(a)
    try b.update([.set(["x"], .int(1))])
    try a.pull(b)
    #expect(try a.fields == ["s": .string(text), "x": .int(1)])
    #expect(a.verifies)
  }
}

extension Value {
  fileprivate var withoutCounters: Value {
    switch self {
    case .counter(let sum): .int(sum)
    case .map(let fields): .map(fields.mapValues(\.withoutCounters))
    default: self
    }
  }
}
