import TestKit

extension SeededGenerator {
  /// A generator of its own for each combination of `parts`.
  init(seed: UInt64, _ parts: Int...) {
    self.init(seed: seed)
    for part in parts { self = SeededGenerator(seed: next() ^ UInt64(truncatingIfNeeded: part)) }
  }

  /// Readable text of `count` bytes.
  mutating func text(_ count: Int) -> String {
    let letters = Array("abcdefghijklmnopqrstuvwxyz .ABCD".utf8)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count {
      var word = next()
      for _ in 0..<8 {
        bytes.append(letters[Int(word & 31)])
        word >>= 8
      }
    }
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}
