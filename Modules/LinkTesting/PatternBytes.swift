/// An endless string of bytes in which no two places look alike, to tell what was lost, doubled or moved.
struct PatternBytes: Sendable {
  /// Not a multiple of any buffer's size, so that a piece which is moved by one does not fit.
  private static let period = 1_048_573
  /// Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
  private static let bytes: [UInt8] = {
    var state: UInt64 = 0
    return (0..<period).map { _ in
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      return UInt8(truncatingIfNeeded: mixed >> 32)
    }
  }()

  /// What goes to the far end, and what comes from there.
  static let outward = PatternBytes(start: 0)
  static let homeward = PatternBytes(start: 500_009)

  private let start: Int

  /// Those from `offset` on.
  func bytes(_ count: Int, from offset: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      let place = (start + offset + bytes.count) % Self.period
      bytes += Self.bytes[place...].prefix(count - bytes.count)
    }
    return bytes
  }

  /// The place of the first byte that is not the one at its place; `nil` where all are.
  func firstDifference(_ bytes: [UInt8], at offset: Int) -> Int? {
    let expected = self.bytes(bytes.count, from: offset)
    // Comparing whole arrays is fast in every build.
    if bytes == expected { return nil }
    return bytes.indices.first { bytes[$0] != expected[$0] }.map { offset + $0 }
  }
}
