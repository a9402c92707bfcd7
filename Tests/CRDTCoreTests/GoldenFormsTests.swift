import CRDTCore
import CRDTModel
import Foundation
import TestKit
import Testing

/// The other forms of a document, besides the one that has everything.
///
/// There is one file for each form in `FileFormat.md`.
@Suite struct GoldenFormsTests {
  enum Form: String, CaseIterable, Sendable {
    /// Without merge metadata; on the wire uniform.
    case fresh
    /// Changed on its bytes: with dead bytes, marks and a second writer.
    case patched
    /// Deleted, with what was there.
    case tombstone
    /// A deletion that is known from a death certificate alone.
    case certificate
  }

  static func document(_ form: Form) throws -> Peer {
    var phone = Peer(1)
    var cloud = Peer(2)
    switch form {
    case .fresh: try phone.upsert(fields, now: 1_000_000)
    case .patched:
      try phone.upsert(fields, now: 1_000_000)
      try cloud.pull(phone)
      try cloud.update([.set(["text"], .string("a text that is longer than what it was"))], now: 1_000_500)
      try phone.pull(cloud)
      try phone.update([.set(["text"], .string("short"))], now: 1_001_000)
      try phone.update([.set(["map", "deep"], .int(.max))], now: 1_002_000)
    case .tombstone:
      try phone.upsert(fields, now: 1_000_000)
      try phone.remove(now: 1_003_000)
    case .certificate:
      let death = Stamp(reading: ClockReading(milliseconds: 1_004_000, counter: 7), site: cloud.site)
      phone.document = DocumentCodec.tombstone(of: death, tables: &phone.tables)
    }
    return phone
  }

  private static let fields: [TextKey: Value] = [
    "text": .string("some text"), "number": .int(3), "map": .map(["deep": .double(0.1)]),
  ]

  private static func golden(_ name: String) throws -> [UInt8] {
    let url = try #require(Bundle.module.url(forResource: name, withExtension: "bin", subdirectory: "Golden"))
    return [UInt8](try Data(contentsOf: url))
  }

  @Test(arguments: Form.allCases)
  func `reads a record of every form that an earlier release wrote, and writes the same`(form: Form) throws {
    let bytes = try Self.golden("record-\(form)-v2")
    let phone = try Self.document(form)
    #expect(phone.record?.bytes == bytes)
    var peer = phone
    peer.document?.record = bytes
    #expect(peer.verifies)
    switch form {
    case .fresh: #expect(try peer.fields == Self.fields)
    case .patched:
      #expect(
        try peer.fields == ["text": .string("short"), "number": .int(3), "map": .map(["deep": .int(.max)])])
    case .tombstone, .certificate: #expect(try peer.fields == nil)
    }
    #expect(try peer.wire() == Self.golden("wire-\(form)-v1"))
  }

  @Test(arguments: Form.allCases)
  func `reads a wire document of every form that an earlier release wrote`(form: Form) throws {
    let bytes = try Self.golden("wire-\(form)-v1")
    var peer = Peer(3)
    #expect(try peer.merge(bytes).isChanged)
    #expect(try peer.wire() == bytes)
    let phone = try Self.document(form)
    #expect(peer.document?.summary == phone.document?.summary)
    #expect(try peer.vector == phone.vector)
  }

  @Test func `reads a successor that an earlier release wrote, and writes the same`() throws {
    let bytes = try Self.golden("wire-successor-v1")
    var phone = try Self.document(.patched)
    var cloud = Peer(2)
    try cloud.merge(phone.wire())
    var tablet = Peer(3)
    try tablet.merge(phone.wire())
    // Length and bytes of each: by a known writer, by a new one, with the life, a count, and a deletion.
    var all = ByteWriter()
    func write(_ peer: inout Peer, _ change: (inout Peer) throws -> Void) throws {
      let former = peer
      try change(&peer)
      let wire = try #require(try peer.operationDelta(of: former))
      all.writeBlob(wire)
      if peer.site == Peer(1).site {
        try expect(cloud.merge(wire).isChanged)
        expectEqual(cloud.document?.summary, peer.document?.summary)
      }
    }
    try write(&tablet) {
      try $0.update([.set(["map", "new"], .map(["a": .array([]), "b": .counter(2)]))], now: 1_006_000)
    }
    try write(&phone) { try $0.update([.set(["text"], .null), .remove(["number"])], now: 90_000_000) }
    // Only earlier releases set a counter by an upsert.
    var reader = ByteReader(bytes.span.bytes)
    for _ in 0..<2 { _ = try reader.readBlob() }
    let upsert = try reader.readBlob().withUnsafeBytes { Array($0) }
    #expect(try cloud.merge(upsert).isChanged)
    #expect(try phone.merge(upsert).isChanged)
    all.writeBlob(upsert)
    try write(&phone) { try $0.update([.increment(["count"], 7)], now: 90_000_001) }
    try write(&phone) { try $0.remove(now: 95_000_000) }
    #expect(all.bytes == bytes)
  }

  @Test func `reads a version vector that an earlier release wrote, and writes the same`() throws {
    let bytes = try Self.golden("version-vector-v1")
    var reader = ByteReader(bytes.span.bytes)
    let vector = try VersionVector(from: &reader)
    #expect(try reader.isAtEnd && vector == Self.document(.patched).vector)
    var out = ByteWriter()
    vector.encode(to: &out)
    #expect(out.bytes == bytes)
  }
}
