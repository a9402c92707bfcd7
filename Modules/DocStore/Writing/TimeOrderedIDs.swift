import CRDTCore

/// Makes ids for documents without one: 26 characters that sort by time of creation.
///
/// They are 48 bits of milliseconds and 80 random bits in Crockford's base 32, like a ULID. Within a
/// millisecond, and when the clock steps back, the random part of the last id is incremented.
struct TimeOrderedIDs: Sendable {
  private var milliseconds: UInt64 = 0
  private var high: UInt16 = 0
  private var low: UInt64 = 0

  private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

  /// The next id, above all previous ones.
  mutating func next(now: UInt64, random: () -> UInt64) -> String {
    if now > milliseconds {
      milliseconds = now & 0xFFFF_FFFF_FFFF
      // The top bit stays free, so that incrementing does not overflow.
      high = UInt16(truncatingIfNeeded: random()) & 0x7FFF
      low = random()
    } else {
      low &+= 1
      if low == 0 { high &+= 1 }
    }
    return text
  }

  private var text: String {
    unsafe String(unsafeUninitializedCapacity: 26) { room in
      for index in 0..<10 {
        unsafe room[index] = Self.digits[Int(milliseconds >> UInt64(45 - 5 * index)) & 31]
      }
      for index in 0..<16 {
        unsafe room[10 + index] = Self.digits[Int(truncatingIfNeeded: randomBits(75 - 5 * index))]
      }
      return 26
    }
  }

  /// Five of the 80 random bits, from bit `shift` up.
  private func randomBits(_ shift: Int) -> UInt64 {
    let bits: UInt64
    if shift >= 64 {
      bits = UInt64(high) >> UInt64(shift - 64)
    } else if shift > 59 {
      bits = low >> UInt64(shift) | UInt64(high) << UInt64(64 - shift)
    } else {
      bits = low >> UInt64(shift)
    }
    return bits & 31
  }
}
