import CRDTCore

/// SipHash-2-4: a keyed hash that nobody can aim at who does not know the key.
///
/// A client chooses the contents of its documents, and so most bytes of a page. It must not be able to make
/// two versions of a page look equal, since a backup would then miss a change.
///
/// Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012.
struct SipHash: Hashable, Sendable {
  let first: UInt64
  let second: UInt64

  /// Hashes `bytes`.
  ///
  /// - Complexity: O(*n*), about one byte a nanosecond or better.
  func hash(_ bytes: RawSpan) -> UInt64 {
    var state = State(first, second)
    let count = bytes.byteCount
    let whole = count & ~7
    var offset = 0
    while offset < whole {
      // SAFETY: eight bytes from `offset` on lie inside; integers have no invalid bits.
      state.absorb(
        UInt64(littleEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)))
      offset += 8
    }
    var last = UInt64(truncatingIfNeeded: count) << 56
    while offset < count {
      let byte = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self)
      last |= UInt64(byte) << UInt64(8 * (offset - whole))
      offset += 1
    }
    state.absorb(last)
    return state.finish()
  }

  private struct State {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64

    init(_ first: UInt64, _ second: UInt64) {
      v0 = first ^ 0x736F_6D65_7073_6575
      v1 = second ^ 0x646F_7261_6E64_6F6D
      v2 = first ^ 0x6C79_6765_6E65_7261
      v3 = second ^ 0x7465_6462_7974_6573
    }

    @inline(__always)
    private mutating func round() {
      v0 &+= v1
      v1 = (v1 &<< 13 | v1 &>> 51) ^ v0
      v0 = v0 &<< 32 | v0 &>> 32
      v2 &+= v3
      v3 = (v3 &<< 16 | v3 &>> 48) ^ v2
      v0 &+= v3
      v3 = (v3 &<< 21 | v3 &>> 43) ^ v0
      v2 &+= v1
      v1 = (v1 &<< 17 | v1 &>> 47) ^ v2
      v2 = v2 &<< 32 | v2 &>> 32
    }

    @inline(__always)
    mutating func absorb(_ word: UInt64) {
      v3 ^= word
      round()
      round()
      v0 ^= word
    }

    mutating func finish() -> UInt64 {
      v2 ^= 0xFF
      round()
      round()
      round()
      round()
      return v0 ^ v1 ^ v2 ^ v3
    }
  }
}
