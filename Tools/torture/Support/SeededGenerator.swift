/// A random source that gives the same numbers for the same seed, on every machine.
///
/// Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014 (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  /// A generator of its own for each combination of `parts`.
  init(seed: UInt64, _ parts: Int...) {
    self.init(seed: seed)
    for part in parts { state = next() ^ UInt64(truncatingIfNeeded: part) }
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A whole number below `bound`, which must be positive.
  mutating func int(below bound: Int) -> Int { Int(next() >> 1) % bound }

  /// `true` once in `count` times on average.
  mutating func oneIn(_ count: Int) -> Bool { int(below: count) == 0 }

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
