/// A name that was found in a key table; the two words of its string identify it at the next lookup.
///
/// Strings of the same two words are the same text. Either they contain it, as strings of up to 15 bytes of
/// UTF-8 do, or they share memory, which `name` keeps from being freed or overwritten.
struct RecentName: Sendable {
  typealias Bits = SIMD2<UInt64>

  /// The number of names that a table keeps.
  ///
  /// It is a power of two, above the number of fields that one transaction usually changes.
  static let places = 8
  /// The most bytes of a name that a string stores inline.
  static let nameBytes = 15

  /// Whether a string is two words, as with 64-bit words; otherwise no name is kept.
  static var isUsable: Bool { MemoryLayout<String>.size == MemoryLayout<Bits>.size }

  let name: String
  let bits: Bits
  let id: UInt16
  let hash: HashLanes

  @inline(__always)
  static func bits(_ path: Span<TextKey>, _ index: Int) -> Bits {
    guard isUsable, index < path.count else { return .zero }
    // SAFETY: a string is two words without padding here. Copying it would take two calls.
    return unsafe path.withUnsafeBufferPointer {
      unsafe UnsafeRawBufferPointer($0).loadUnaligned(
        fromByteOffset: index &* MemoryLayout<Bits>.stride, as: Bits.self)
    }
  }

  /// Returns the place of a name with these bits.
  @inline(__always)
  static func place(_ bits: Bits) -> Int {
    Int(truncatingIfNeeded: ((bits[0] ^ bits[1]) &* HashLanes.k0) &>> 61)
  }
}
