import CRDTCore
import CRDTModel
import Foundation
import TestKit
import Testing

/// Bytes that earlier releases wrote; the files are never regenerated, a new version adds its own.
@Suite struct GoldenTests {
  private func golden(_ name: String) throws -> [UInt8] {
    let url = try #require(Bundle.module.url(forResource: name, withExtension: "bin", subdirectory: "Golden"))
    let bytes = [UInt8](try Data(contentsOf: url))
    Attachment.record(bytes, named: "\(name).bin")
    return bytes
  }

  private static let longKey = TextKey(String(repeating: "key that stands in the record ", count: 3))

  /// The history whose bytes the files hold: every type, part of the metadata and way to be removed.
  static func document() throws -> (phone: Peer, cloud: Peer, base: VersionVector) {
    var phone = Peer(1)
    var cloud = Peer(2)
    try phone.upsert(["old": .int(1), "kept": .int(1)], now: 1_000_000)
    try phone.remove(now: 1_000_100)
    try phone.upsert(
      [
        "null": .null, "yes": .bool(true), "no": .bool(false), "int": .int(-42), "wide": .int(.max),
        "low": .int(.min), "half": .double(0.5), "tenth": .double(0.1), "nan": .double(.nan),
        "minusZero": .double(-0.0), "short": .string("été"), "long": .string("a string in the heap, 名前"),
        "bytes": .bytes([0, 1, 0xFF]), "array": .array([.int(1), .string("x"), .map(["k": .null])]),
        "file": .attachment(AttachmentToken(id: [1, 2, 3], byteCount: 70_000, metadata: ["name": "a.png"])),
        "map": .map(["x": .int(1), "y": .map(["z": .string("deep")]), "": .bool(true)]), "empty": .map([:]),
        "plain": .counter(7), "counter": .counter(.max - 5), "number": .int(10), "gone": .int(1),
        "mapGone": .map(["a": .int(1), "b": .int(2)]), "wasScalar": .int(3),
        "keys": .map([longKey: .string("inline key"), "short": .null]),
      ], now: 1_000_200)
    try cloud.pull(phone)
    try cloud.update(
      [.increment(["counter"], 3), .remove(["mapGone"]), .set(["yes"], .bool(false))], now: 1_005_000)
    try phone.update(
      [
        .increment(["counter"], 4), .increment(["number"], -1), .set(["wasScalar", "now"], .int(1)),
        .remove(["gone"]), .set(["mapGone", "c"], .int(3)), .increment(["absent"], 2),
      ], now: 1_006_000)
    let base = try phone.vector
    try phone.pull(cloud)
    try cloud.update([.set(["wasScalar", "later"], .array([])), .restart(["plain"], 1)], now: 1_007_000)
    try phone.pull(cloud)
    try cloud.pull(phone)
    return (phone, cloud, base)
  }

  /// Default data that was partly changed, removed and counted on.
  static func defaultDocument() throws -> Peer {
    var phone = Peer(1)
    try phone.upsert(
      ["a": .int(5), "gone": .map(["x": .int(6)]), "c": .int(7), "changed": .string("x")],
      .insertDefaultIfAbsent)
    try phone.update([.remove(["gone"]), .increment(["c"], 2), .set(["changed"], .null)], now: 2_000_000)
    return phone
  }

  private static let fields: [TextKey: Value] = [
    "null": .null, "yes": .bool(false), "no": .bool(false), "int": .int(-42), "wide": .int(.max),
    "low": .int(.min), "half": .double(0.5), "tenth": .double(0.1), "nan": .double(.nan),
    "minusZero": .double(-0.0), "short": .string("été"), "long": .string("a string in the heap, 名前"),
    "bytes": .bytes([0, 1, 0xFF]), "array": .array([.int(1), .string("x"), .map(["k": .null])]),
    "file": .attachment(AttachmentToken(id: [1, 2, 3], byteCount: 70_000, metadata: ["name": "a.png"])),
    "map": .map(["x": .int(1), "y": .map(["z": .string("deep")]), "": .bool(true)]), "empty": .map([:]),
    "plain": .counter(1), "counter": .counter(.max), "number": .counter(9), "absent": .counter(2),
    "mapGone": .map(["c": .int(3)]), "wasScalar": .map(["later": .array([]), "now": .int(1)]),
    "keys": .map([longKey: .string("inline key"), "short": .null]),
  ]

  /// The dictionaries of the store that wrote `record-v2.bin`.
  private static var tables: RecordTables {
    RecordTables(
      keys: KeyTable(names: keyNames), sites: SiteTable(sites: [.zero, Peer(1).site, Peer(2).site]))
  }

  private static let keyNames = [
    "kept", "old", "array", "bytes", "counter", "empty", "file", "gone", "half", "int", "keys", "long", "low",
    "map", "mapGone", "minusZero", "nan", "no", "null", "number", "plain", "short", "tenth", "wasScalar",
    "wide",
    "yes", "", "x", "y", "z", "a", "b", "absent", "c", "now", "later",
  ]

  @Test func `reads a record of default data that an earlier release wrote, and writes the same`() throws {
    let bytes = try golden("record-default-v2")
    let phone = try Self.defaultDocument()
    #expect(phone.record?.bytes == bytes)
    var peer = phone
    peer.tables.keys = KeyTable(names: ["a", "c", "changed", "gone", "x"])
    peer.document?.record = bytes
    #expect(peer.verifies)
    #expect(try peer.fields == ["a": .int(5), "c": .counter(9), "changed": .null])
    #expect(try peer.vector.latest == ClockReading(milliseconds: 2_000_000))
    // What the removal hides does not come back with another device's default.
    try peer.upsert(["again": .int(1)], now: 2_000_001)
    try peer.merge(phone.wire())
    #expect(try peer.fields?["gone"] == nil)
  }

  @Test func `reads a record that an earlier release wrote, and writes the same`() throws {
    let bytes = try golden("record-v2")
    let (phone, _, _) = try Self.document()
    var peer = phone
    peer.tables = Self.tables
    peer.document?.record = bytes
    #expect(peer.verifies)
    #expect(try peer.fields == Self.fields)
    for (key, value) in Self.fields {
      var path = ResolvedPath([.key(key)])
      path.resolve(in: peer.tables.keys)
      try expectEqual(peer.value(at: path), value, "\(key)")
    }
    #expect(try peer.vector == phone.vector)
    #expect(try peer.wire() == golden("wire-document-v1"))
    #expect(phone.tables.keys.names == Self.keyNames)
    #expect(phone.record?.bytes == bytes)
  }

  @Test func `reads a wire document that an earlier release wrote, and writes the same`() throws {
    let bytes = try golden("wire-document-v1")
    var peer = Peer(3)
    #expect(try peer.merge(bytes).isChanged)
    #expect(try peer.fields == Self.fields)
    #expect(try peer.wire() == bytes)
    let (phone, cloud, _) = try Self.document()
    #expect(try phone.wire() == bytes && cloud.wire() == bytes)
    #expect(peer.document?.summary == phone.document?.summary)
    #expect(
      peer.document?.summary == Summary(high: 2_598_152_579_114_263_746, low: 16_695_265_727_556_363_282))
  }

  @Test func `reads a delta that an earlier release wrote, and writes the same`() throws {
    let bytes = try golden("wire-delta-v1")
    let (phone, cloud, base) = try Self.document()
    #expect(try cloud.wire(lacking: base) == bytes)
    var empty = Peer(3)
    #expect(try empty.merge(bytes).isMissingBase)
    let (deltaBase, vector) = try WireDocument.vectors(bytes.span.bytes)
    #expect(try deltaBase == base && vector == phone.vector)
    #expect(try WireDocument.latest(bytes.span.bytes) == ClockReading(milliseconds: 1_007_000))
  }

  @Test func `reads document ids that an earlier release wrote, in the same order`() throws {
    let values: [Value] = [
      .bool(false), .bool(true), .int(.min), .int(-1), .int(0), .int(1), .int(.max), .string(""),
      .string("A"),
      .string("a"), .string("ab"), .string("é"), .bytes([]), .bytes([0]), .bytes([0xFF, 1]), .array([]),
      .array([.array([.bool(true)])]), .array([.int(1), .string("x")]), .map([:]),
      .map(["a": .int(1), "b": .map(["c": .bytes([1])])]),
    ]
    let bytes = try golden("document-ids-v1")
    var reader = ByteReader(bytes.span.bytes)
    var ids: [DocumentID] = []
    while !reader.isAtEnd { ids.append(try DocumentID(validating: try reader.readBlob())) }
    #expect(ids.map(\.value) == values)
    #expect(try ids == values.map { try DocumentID($0) })
    #expect(ids == ids.sorted())
  }
}
