import CRDTCore
import TestKit
import Testing

/// The hash as `Documentation/FileFormat.md` has it, byte by byte, beside the one that reads words.
@Suite struct HashingTests {
  private static let keys: [UInt64] = [
    0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB, 0x8EBC_6AF0_9C88_C6E3, 0x5899_65CC_7537_4CC3,
  ]

  private static func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }

  private static func measure(_ bytes: [UInt8], seed: UInt64) -> HashLanes {
    let k = keys
    var (a, b) = (seed ^ k[0], seed ^ k[3])
    var rest = bytes[...]
    repeat {
      let block = rest.prefix(16)
      rest = rest.dropFirst(16)
      var words: [UInt64] = [0, 0]
      for (index, byte) in block.enumerated() { words[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8) }
      (a, b) = (fold(words[0] ^ k[1], words[1] ^ a), fold(words[0] ^ b, words[1] ^ k[2]))
    } while !rest.isEmpty
    let count = UInt64(bytes.count)
    return HashLanes(fold(a ^ count, k[1]), fold(b ^ count, k[0]))
  }

  @Test func `bytes of every length and place have the documented hash`() {
    var random = SeededGenerator(seed: 5)
    let bytes = (0..<96).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    for start in 0..<9 {
      for end in start..<bytes.count {
        let span = bytes.span.bytes.extracting(start..<end)
        expectEqual(
          HashLanes(span, seed: 3), Self.measure(Array(bytes[start..<end]), seed: 3), "\(start)..<\(end)")
      }
    }
  }

  private static func areEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool { a.span.bytes.isEqual(to: b.span.bytes) }

  @Test func `bytes are equal when each of them is`() {
    for count in 0..<40 {
      let bytes = (0..<count).map { UInt8($0 + 1) }
      expect(Self.areEqual(bytes, Array(bytes)))
      expect(!Self.areEqual(bytes, bytes + [0]))
      for index in 0..<count {
        var other = bytes
        other[index] ^= 0x80
        expect(!Self.areEqual(bytes, other), "\(index) of \(count)")
      }
    }
  }
}
