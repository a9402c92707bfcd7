/// A name that was found in a key table, to be found again by the two words that its string consists of.
///
/// Strings of the same two words are the same text: either they hold it in themselves, as they do with up to 15 bytes
/// of UTF-8, or they share memory, which the name here keeps from being freed or written.
struct RecentName: Sendable {
  typealias Bits = SIMD2<UInt64>

  /// How many a table keeps: a power of two, and more than the fields that one transaction tends to change.
  static let places = 8
  /// Bytes of a name that a string can hold in itself.
  static let nameBytes = 15

  /// Whether a string is two words, as it is where words have 64 bits; else no name is kept.
  static var isUsable: Bool { MemoryLayout<String>.size == MemoryLayout<Bits>.size }

  let name: String
  let bits: Bits
  let id: UInt16
  let hash: HashLanes

  @inline(__always)
  static func bits(_ path: Span<TextKey>, _ index: Int) -> Bits {
    guard isUsable, index < path.count else { return .zero }
    // SAFETY: a string is two words without padding here. A copy of it would take two calls.
    return unsafe path.withUnsafeBufferPointer {
      unsafe UnsafeRawBufferPointer($0).loadUnaligned(
        fromByteOffset: index &* MemoryLayout<Bits>.stride, as: Bits.self)
    }
  }

  /// Where a name of these bits stands.
  @inline(__always)
  static func place(_ bits: Bits) -> Int {
    Int(truncatingIfNeeded: ((bits[0] ^ bits[1]) &* HashLanes.k0) &>> 61)
  }
}
