/// Two independent 64-bit hash lanes: fast, well mixed, and the same on every machine.
///
/// This is not a cryptographic hash: it detects damage and difference, not forgery.
///
/// Source of the mixing step: Wang Yi, "wyhash" (2019), the folded 64 × 64 → 128 bit product.
package struct HashLanes: Hashable, Sendable, BitwiseCopyable {
  package var first: UInt64
  package var second: UInt64

  package init(_ first: UInt64, _ second: UInt64) {
    self.first = first
    self.second = second
  }

  static let k0: UInt64 = 0xA076_1D64_78BD_642F
  static let k1: UInt64 = 0xE703_7ED1_A0B4_28DB
  static let k2: UInt64 = 0x8EBC_6AF0_9C88_C6E3
  static let k3: UInt64 = 0x5899_65CC_7537_4CC3

  /// Hashes `bytes` under `seed`.
  ///
  /// - Complexity: O(*n*), about 4 bytes a nanosecond.
  package init(_ bytes: RawSpan, seed: UInt64 = 0) {
    let count = bytes.byteCount
    var a = seed ^ Self.k0
    var b = seed ^ Self.k3
    var offset = 0
    while count - offset > 16 {
      let low = bytes.word(at: offset)
      let high = bytes.word(at: offset + 8)
      a = Self.fold(low ^ Self.k1, high ^ a)
      b = Self.fold(low ^ b, high ^ Self.k2)
      offset += 16
    }
    let (low, high) = bytes.tail(from: offset)
    a = Self.fold(low ^ Self.k1, high ^ a)
    b = Self.fold(low ^ b, high ^ Self.k2)
    first = Self.fold(a ^ UInt64(truncatingIfNeeded: count), Self.k1)
    second = Self.fold(b ^ UInt64(truncatingIfNeeded: count), Self.k0)
  }

  package init(_ string: String, seed: UInt64 = 0) {
    var string = string
    self = string.withUTF8 { unsafe HashLanes(RawSpan(_unsafeElements: $0), seed: seed) }
  }

  package init(_ key: TextKey) { self.init(key.text) }

  /// Mixes two words under `seed`.
  @inline(__always)
  package init(_ x: UInt64, _ y: UInt64, seed: UInt64) {
    first = Self.fold(Self.fold(x ^ Self.k0, y ^ Self.k1) ^ seed, Self.k2)
    second = Self.fold(Self.fold(x ^ Self.k2, y ^ Self.k3) ^ seed, Self.k1)
  }

  /// An ordered combination: `a.combined(with: b)` differs from `b.combined(with: a)`.
  @inline(__always)
  package func combined(with other: HashLanes) -> HashLanes {
    HashLanes(
      Self.fold(first ^ Self.k1, other.first ^ Self.k2), Self.fold(second ^ Self.k3, other.second ^ Self.k0))
  }

  @inline(__always)
  static func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }
}

extension RawSpan {
  /// Returns the little-endian word at `offset`; all of it must lie inside.
  func word(at offset: Int) -> UInt64 {
    UInt64(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// Returns the up to 16 bytes from `offset` on, padded with zeros.
  func tail(from offset: Int) -> (UInt64, UInt64) {
    let rest = byteCount - offset
    if rest >= 16 { return (word(at: offset), word(at: offset + 8)) }
    if rest < 8 { return (shortTail(from: offset), 0) }
    return (word(at: offset), shortTail(from: offset + 8))
  }

  /// Returns the up to seven bytes from `offset` on, padded with zeros, from loads that overlap.
  func shortTail(from offset: Int) -> UInt64 {
    let rest = byteCount &- offset
    // SAFETY: each load lies between the offset, or eight bytes before the end, and the end.
    if rest <= 0 { return 0 }
    if byteCount >= 8 { return word(at: byteCount &- 8) &>> UInt64(truncatingIfNeeded: 64 &- 8 &* rest) }
    if rest >= 4 {
      let low = unsafe UInt32(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
      let high = unsafe UInt32(
        littleEndian: unsafeLoadUnaligned(fromByteOffset: byteCount &- 4, as: UInt32.self))
      return UInt64(low) | UInt64(high) &<< UInt64(truncatingIfNeeded: 8 &* rest &- 32)
    }
    let middle = rest >> 1
    let first = unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self)
    let second = unsafe unsafeLoadUnaligned(fromByteOffset: offset &+ middle, as: UInt8.self)
    let last = unsafe unsafeLoadUnaligned(fromByteOffset: byteCount &- 1, as: UInt8.self)
    return UInt64(first) | UInt64(second) &<< UInt64(truncatingIfNeeded: 8 &* middle)
      | UInt64(last) &<< UInt64(truncatingIfNeeded: 8 &* rest &- 8)
  }
}
