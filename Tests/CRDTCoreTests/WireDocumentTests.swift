import CRDTCore
import CRDTModel
import TestKit
import Testing

@Suite struct WireDocumentTests {
  @Test func `a floor without a site is refused`() {
    let bytes: [UInt8] = [8] + Array(repeating: 0, count: 8) + [0, 0, 0, 0, 0]
    #expect(throws: CodecError.self) { try WireDocument.validate(bytes.span.bytes) }
  }

  @Test func `values nest as deep on the wire as in a document, and no deeper`() throws {
    func nested(_ levels: Int, _ wrap: (Value) -> Value) -> Value {
      (0..<levels).reduce(.int(1)) { value, _ in wrap(value) }
    }
    let wraps: [(Value) -> Value] = [{ .array([$0]) }, { .map(["k": $0]) }, { .array([.map(["k": $0])]) }]
    for (wrap, levels) in zip(wraps, [64, 64, 32]) {
      var a = Peer(1)
      try a.upsert(["d": nested(levels, wrap)])
      var b = Peer(2)
      try b.pull(a)
      try expectEqual(b.fields, a.fields)
      try b.update([.set(["e"], .int(1))])
      try a.pull(b)
      try expectEqual(a.wire(), b.wire())
      #expect(throws: DocumentError.self) { try a.upsert(["d": nested(levels + 1, wrap)]) }
    }
    var a = Peer(1)
    let path = (0..<65).map { TextKey("k\($0)") }
    try a.upsert([:])
    try a.update([.set(path, .int(1))])
    try a.update([.increment(path, 1)])
    var b = Peer(2)
    try b.pull(a)
    #expect(try b.fields == a.fields)
    #expect(throws: DocumentError.self) { try a.update([.set(path + ["k"], .int(1))]) }
    #expect(throws: DocumentError.self) { try a.update([.set(path, .map([:]))]) }
    #expect(throws: DocumentError.self) { try a.update([.increment(path + ["k"], 1)]) }
  }

  @Test(arguments: [64, 65, 70, 20_000])
  func `a wire document of nested maps or arrays is read to a depth of 64`(levels: Int) {
    let head: [UInt8] = [3] + [UInt8](repeating: 1, count: 24) + [1, 1, 0x6B]
    let maps = Array([[UInt8]](repeating: [0x10, 1, 1, 0x6B], count: levels).joined()) + [0]
    let arrays = Array([[UInt8]](repeating: [7, 1], count: levels).joined()) + [0]
    for wire in [head + maps, head + arrays] {
      var peer = Peer(1)
      var code: CodecError.Code?
      do { try WireDocument.validate(wire.span.bytes) } catch { code = error.code }
      expectEqual(code, levels == 64 ? nil : .limit)
      let merged = (try? peer.merge(wire))?.isChanged
      expectEqual(merged, levels == 64 ? true : nil)
      code = nil
      var tables = RecordTables()
      do {
        let site = SiteID(high: 1, low: 1)
        _ = try DocumentCodec.merge(wire: wire.span.bytes, existing: nil, own: site, tables: &tables)
      } catch { code = error.code }
      expectEqual(code, levels == 64 ? nil : .limit)
    }
  }

  /// Maps inside maps, each with a key too long for the key table after the inner map.
  @Test(.timeLimit(.minutes(15))) func `reading small nested maps whose keys cannot have ids takes one pass`()
    throws
  {
    let long = TextKey(String(repeating: "z", count: 100))
    let value = (0..<63).reduce(Value.int(1)) { value, _ in .map(["a": value, long: .null]) }
    var a = Peer(1)
    try a.upsert(["d": value])
    var b = Peer(2)
    try b.pull(a)
    #expect(try b.fields == a.fields)
    #expect(b.document?.summary == a.document?.summary)
  }

  @Test func `an id among the fields of a wire document is refused`() throws {
    var a = Peer(1)
    try a.upsert(["aid": .int(1)])
    var wire = try a.wire()
    let at = try #require(wire.firstIndex(of: UInt8(ascii: "a")))
    wire[at] = UInt8(ascii: "_")
    var b = Peer(2)
    #expect(throws: CodecError.self) { try b.merge(wire) }
    try a.update([.set(["x"], .int(1))])
    wire = try a.wire()
    let place = try #require(wire.indices.first { wire[$0...].starts(with: "aid".utf8) })
    wire[place] = UInt8(ascii: "_")
    #expect(throws: CodecError.self) { try b.merge(wire) }
  }

  @Test func `a vector of as many writers as a document may have is read as it was written`() throws {
    let elements = (1...UInt64(Limits.sitesPerDocument)).map { number in
      VersionVector.Element(
        writer: Writer(site: SiteID(high: number, low: 0), birth: ClockReading(rawValue: 5)),
        reading: ClockReading(rawValue: 5 + number))
    }
    var out = ByteWriter()
    VersionVector(elements).encode(to: &out)
    var reader = ByteReader(out.bytes.span.bytes)
    let vector = try VersionVector(from: &reader)
    #expect(vector.elements == elements)
    #expect(vector[elements[7].writer] == elements[7].reading)
    #expect(vector[Writer(site: .zero, birth: .zero)] == .zero)
  }
}
