import CRDTCore
import TestKit
import Testing

@testable import SyncProtocol

@Suite struct DeflaterTests {
  /// Text in which much repeats, then bytes in which nothing does.
  private static func piece(_ random: inout SeededGenerator) -> [UInt8] {
    let count = random.int(below: 20_000) + 1
    if random.oneIn(2) {
      return (0..<count).map { _ in UInt8(ascii: "0") + UInt8(random.int(below: 10)) }
    }
    let word = Array("order-\(random.int(below: 100)) ".utf8)
    return (0..<count).map { word[$0 % word.count] }
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `pieces come out as they went in, however hard each is packed`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (deflater, inflater) = (try Deflater(level: 1), try Inflater())
    for _ in 0..<40 {
      let plain = Self.piece(&random)
      try deflater.set(level: 1 + random.int(below: 9), seekingRepeats: random.oneIn(2))
      let packed = try deflater.compressNext(plain.span.bytes)
      var unpacked: [UInt8] = []
      try inflater.expandNext(packed.span.bytes, plainCount: plain.count, into: &unpacked)
      expectEqual(unpacked, plain, "seed \(seed)")
    }
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `a session that rests now and then goes on with the same stream`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (packer, unpacker) = (Packer(level: 6, isLocal: false), Unpacker())
    for _ in 0..<40 {
      if random.oneIn(3) { try packer.rest() }
      let plain = Self.piece(&random)
      let frame = try packer.fragment(plain.span.bytes, rate: nil, for: .other).frame
      let bounds = try #require(try FrameCodec.bounds(in: frame.span.bytes, at: 0))
      var reader = ByteReader(frame.span.bytes.extracting(bounds.payload))
      let head = try FragmentHead(from: &reader)
      let content = reader.bytes.extracting(reader.offset..<reader.bytes.byteCount)
      var unpacked: [UInt8] = []
      try unpacker.expand(head, content, into: &unpacked)
      expectEqual(unpacked, plain, "seed \(seed)")
    }
  }

  @Test func `what is kept over a rest takes the memory of its bytes, not that of a whole window`() throws {
    let deflater = try Deflater(level: 1)
    _ = try deflater.compressNext(Array(repeating: UInt8(7), count: 1_000).span.bytes)
    let window = try deflater.window(limit: Packer.restedBytes)
    #expect(window == Array(repeating: 7, count: 1_000))
    #expect(window.capacity < 2_000)
  }

  @Test func `what went out before a rest still helps`() throws {
    let text = Array((0..<300).map { "field-\($0 * 7_919 % 1_000) " }.joined().utf8)
    let packer = Packer(level: 6, isLocal: false)
    let first = try packer.fragment(text.span.bytes, rate: nil, for: .other).packedBytes
    try packer.rest()
    try packer.rest()
    #expect(try packer.fragment(text.span.bytes, rate: nil, for: .other).packedBytes * 10 < first)
  }

  @Test func `only what is little but ids is packed without a search, and only where packing is quick`()
    throws
  {
    let text = Array(String(repeating: "what repeats ", count: 2_000).utf8)
    func bytes(_ use: PackingPolicy.Use, level: Int) throws -> Int {
      let packer = Packer(level: level, isLocal: false)
      return try packer.fragment(text.span.bytes, rate: nil, for: use).packedBytes
    }
    for level in 1...9 {
      try expect(bytes(.other, level: level) < 500)
      try expectEqual(bytes(.ids, level: level) > 5_000, level == 1)
    }
  }
}
