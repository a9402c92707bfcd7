import CRDTCore
import DocStore
import TestKit
import Testing

/// The integers in keys: their bytes compare as they do.
@Suite struct OrderedIntegerTests {
  /// Around each place where one byte more is needed, and the ends.
  private static let edges: [UInt64] =
    [0, 1, .max - 1, .max]
    + (1...8).flatMap { bytes -> [UInt64] in
      let end = UInt64(1) << UInt64(7 * bytes)
      return [end - 2, end - 1, end, end + 1]
    }

  private static func random(_ generator: inout SeededGenerator) -> UInt64 {
    generator.next() >> UInt64(generator.int(below: 64))
  }

  @Test func `an integer takes a byte for each seven bits, nine at most`() {
    for value in Self.edges {
      let bits = 64 - value.leadingZeroBitCount
      expectEqual(OrderedInteger.bytes(value).count, bits > 56 ? 9 : max(1, (bits + 6) / 7), "\(value)")
    }
    #expect(OrderedInteger.bytes(0) == [0])
    #expect(OrderedInteger.bytes(127) == [127])
    #expect(OrderedInteger.bytes(128) == [0x80, 128])
    #expect(OrderedInteger.bytes(100_000) == [0xC1, 0x86, 0xA0])
    #expect(OrderedInteger.bytes((1 << 56) - 1) == [0xFE] + Array(repeating: 0xFF, count: 7))
    #expect(OrderedInteger.bytes(.max) == Array(repeating: 0xFF, count: 9))
  }

  @Test(arguments: 1...4)
  func `bytes compare as integers do, none begin with others, and all are read back`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for round in 0..<20_000 {
      let a = round < Self.edges.count ? Self.edges[round] : Self.random(&generator)
      let b =
        generator.oneIn(3) ? Self.edges[generator.int(below: Self.edges.count)] : a &+ generator.next() % 3
      let (left, right) = (OrderedInteger.bytes(a), OrderedInteger.bytes(b))
      expectEqual(left.lexicographicallyPrecedes(right), a < b, "seed \(seed): \(a), \(b)")
      expect(a == b || !right.starts(with: left), "seed \(seed): \(a), \(b)")
      let text = [7] + left + right
      let read = OrderedInteger.read(text.span.bytes, at: 1)
      expect(read?.value == a && read?.byteCount == left.count, "seed \(seed): \(a)")
    }
  }

  @Test func `an integer that is cut, or longer than it has to be, is none`() {
    for value in Self.edges {
      let bytes = OrderedInteger.bytes(value)
      for count in 0..<bytes.count {
        let cut = Array(bytes.prefix(count))
        let read = OrderedInteger.read(cut.span.bytes)
        expect(read == nil, "\(value)")
      }
      let behind = OrderedInteger.read(bytes.span.bytes, at: bytes.count)
      expect(behind == nil)
    }
    for count in 2...9 {
      // The greatest that has room in fewer bytes.
      let value = (UInt64(1) << UInt64(7 * (count - 1))) - 1
      var long: [UInt8] = Array(repeating: 0, count: count)
      for place in 0..<8 where place < count {
        long[count - 1 - place] = UInt8(value >> UInt64(8 * place) & 0xFF)
      }
      long[0] |= UInt8(truncatingIfNeeded: 0xFF00 >> (count - 1))
      let read = OrderedInteger.read(long.span.bytes)
      expect(read == nil, "\(count)")
    }
  }

  @Test(arguments: 1...4)
  func `whatever bytes stand there, what is read is written the same`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<20_000 {
      var bytes = (0..<generator.int(below: 11)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
      if !bytes.isEmpty, generator.oneIn(2) {
        bytes[0] = UInt8(truncatingIfNeeded: 0xFF00 >> generator.int(below: 9))
      }
      guard let (value, count) = OrderedInteger.read(bytes.span.bytes) else { continue }
      expectEqual(OrderedInteger.bytes(value), Array(bytes.prefix(count)), "seed \(seed)")
    }
  }
}
