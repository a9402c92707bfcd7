import CRDTCore
import TestKit
import Testing

@Suite struct DocumentIDTests {
  @Test(arguments: [
    Value.null, .double(1), .counter(1), .attachment(AttachmentToken(id: [], byteCount: 0)),
    .array([.null]), .array([.array([.double(0)])]), .map(["a": .counter(1)]),
  ])
  func `an id is never null, a double, a counter or an attachment, at any depth`(value: Value) {
    #expect { _ = try DocumentID(value) } throws: { ($0 as? DocumentError)?.code == .invalidID }
  }

  @Test func `an id takes at most 256 bytes`() throws {
    #expect(try DocumentID(String(repeating: "a", count: 255)).bytes.count == 256)
    #expect(throws: DocumentError.self) { try DocumentID(String(repeating: "a", count: 256)) }
    let bytes = [3] + [UInt8](repeating: 0x61, count: 256)
    #expect { _ = try DocumentID(validating: bytes.span.bytes) } throws: {
      ($0 as? CodecError)?.code == .limit
    }
  }

  @Test func `an id nests at most 64 deep`() throws {
    func nested(_ levels: Int) -> Value { (0..<levels).reduce(.int(1)) { value, _ in .array([value]) } }
    let id = try DocumentID(nested(64))
    #expect(id.value == nested(64))
    #expect(try DocumentID(validating: id.bytes.span.bytes) == id)
    #expect(throws: DocumentError.self) { try DocumentID(nested(65)) }
  }

  @Test func `the order of a map's keys does not matter, and equal ids have equal bytes`() throws {
    var one: [TextKey: Value] = [:]
    var two: [TextKey: Value] = [:]
    for number in 0..<12 { one["k\(number)"] = .int(Int64(number)) }
    for number in (0..<12).reversed() { two["k\(number)"] = .int(Int64(number)) }
    #expect(try DocumentID(.map(one)).bytes == DocumentID(.map(two)).bytes)
  }

  @Test(arguments: 0..<16 as Range<UInt64>)
  func `integers and strings order by value, and types by kind`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let numbers = (0..<40).map { _ in
      Int64(truncatingIfNeeded: generator.next() >> UInt64(generator.int(below: 64)))
    }
    let ids = try numbers.map { try DocumentID(.int($0)) }.sorted()
    #expect(ids.map(\.value) == numbers.sorted().map { .int($0) })
    let last = try #require(ids.last)
    #expect(try DocumentID(.bool(true)) < DocumentID(.int(.min)) && last < DocumentID(""))
  }
}
