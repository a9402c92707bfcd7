import CRDTCore

/// An endless byte sequence without repeated places, so that lost, doubled or moved bytes are detected.
struct PatternBytes: Sendable {
  /// Not a multiple of any buffer's size, so that a piece that is moved by one buffer does not match.
  private static let period = 1_048_573
  private static let bytes: [UInt8] = {
    var random = SplitMix64(seed: 0)
    return (0..<period).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }()

  /// The bytes sent to the far end, and the bytes sent back.
  static let outward = PatternBytes(start: 0)
  static let homeward = PatternBytes(start: 500_009)

  private let start: Int

  /// The bytes from `offset` on.
  func bytes(_ count: Int, from offset: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      let place = (start + offset + bytes.count) % Self.period
      bytes += Self.bytes[place...].prefix(count - bytes.count)
    }
    return bytes
  }

  /// The position of the first byte that differs from the pattern; `nil` if none does.
  func firstDifference(_ bytes: [UInt8], at offset: Int) -> Int? {
    let expected = self.bytes(bytes.count, from: offset)
    // Comparing whole arrays is fast in every build.
    if bytes == expected { return nil }
    return bytes.indices.first { bytes[$0] != expected[$0] }.map { offset + $0 }
  }
}
