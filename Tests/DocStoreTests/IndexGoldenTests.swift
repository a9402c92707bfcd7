import CRDTCore
import DocStore
import Foundation
import Testing

/// Rows as this format has them; the file is never regenerated, a new format adds its own.
@Suite struct IndexGoldenTests {
  private static let values: [Value?] = [
    nil, .null, .bool(false), .bool(true), .double(.nan), .double(-.infinity), .int(.min),
    .int(-(1 << 53) - 1), .int(-1), .double(-0.0), .int(1), .double(1.5), .int(1_000),
    .int(1_732_000_000_123),
    .double(0.1), .int(1 << 53 + 1), .int(.max), .double(1e300), .counter(7), .bytes([0, 1, 2, 255]),
    .string(""), .string("é\u{0}\u{1}z"), .string(String(repeating: "l", count: 260)),
    .array([.int(1), .array([]), .null]), .map(["a": .string("x"), "b": .map([:])]),
    .attachment(AttachmentToken(id: [1, 2, 3], byteCount: 70_000, metadata: ["name": "a.png"])),
  ]

  /// A line for each row: its key and its value in hexadecimal.
  private static func lines(_ store: Store, _ info: IndexInfo) throws -> [[UInt8]] {
    var lines: [[UInt8]] = []
    try store.read { tx in
      try tx.forEachRow(in: info) { row in
        var key = ByteWriter()
        key.write(OrderedInteger.bytes(UInt64(info.number)))
        key.write(row.values)
        key.write(OrderedInteger.bytes(row.document.rawValue))
        let mark: UInt8 = row.isCut ? 255 : UInt8(row.values.byteCount)
        let kinds = row.numberKinds
        let lanes = HashLanes(key.bytes.span.bytes, seed: UInt64(mark) | UInt64(kinds) << 8)
        key.write(mark)
        key.writeFixed(UInt32(truncatingIfNeeded: lanes.first ^ (lanes.second >> 32)))
        if kinds > 0 { key.write(UInt8(truncatingIfNeeded: kinds)) }
        if kinds > 255 { key.write(UInt8(kinds >> 8)) }
        lines.append(key.bytes)
        return true
      }
    }
    return lines
  }

  @Test func `rows are written as they always were`() throws {
    let fixture = try StoreFixture()
    try fixture.store.write { tx in
      for (number, value) in Self.values.enumerated() {
        try tx.upsert(value.map { ["v": $0] } ?? [:], id: DocumentID(.int(Int64(number))), into: "cars")
      }
    }
    try fixture.store.createIndex(.cars("up", "v"))
    try fixture.store.createIndex(.cars("down", "-v", "w"))
    let rows = try fixture.store.indexes().flatMap { try Self.lines(fixture.store, $0) }
    let text = rows.map { row in row.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "\n" }
      .joined()
    Attachment.record(text, named: "index-rows-v3.txt")
    let url = try #require(
      Bundle.module.url(forResource: "index-rows-v3", withExtension: "txt", subdirectory: "Golden"))
    #expect(try String(contentsOf: url, encoding: .utf8) == text)
    // The bytes stand in the file like that: a value follows its key.
    let data = try Data(contentsOf: URL(fileURLWithPath: fixture.dataPath))
    #expect(rows.allSatisfy { data.range(of: Data($0)) != nil })
  }
}
