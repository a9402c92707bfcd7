import CRDTCore

/// Unsigned integers as bytes that compare as the integers do; small integers take few bytes.
///
/// The number of leading ones in the first byte is the number of bytes that follow. The bits after the first
/// zero and the following bytes are the integer, in the shortest form. So no encoding is a prefix of another.
package enum OrderedInteger {
  package static let maximumBytes = 9
  /// An integer below this takes one byte, which is the integer.
  static let singleByteLimit: UInt64 = 0x80

  @inline(__always)
  static func byteCount(_ value: UInt64) -> Int {
    if value < singleByteLimit { return 1 }
    let bits = UInt64.bitWidth - value.leadingZeroBitCount
    return bits > 56 ? maximumBytes : (bits + 6) / 7
  }

  /// Writes an integer at the beginning of `room`, which has ``maximumBytes`` bytes or more.
  ///
  /// - Returns: How many bytes it takes; the bytes after that are undefined.
  @inline(__always)
  @discardableResult
  static func write(_ value: UInt64, to room: UnsafeMutableRawBufferPointer) -> Int {
    let count = byteCount(value)
    guard count < maximumBytes else {
      unsafe room.storeBytes(of: UInt8.max, as: UInt8.self)
      unsafe room.storeBytes(of: value.bigEndian, toByteOffset: 1, as: UInt64.self)
      return count
    }
    let ones = (UInt64(1) << UInt64(count - 1) - 1) << UInt64(7 * count + 1)
    unsafe room.storeBytes(of: ((value | ones) << UInt64(64 - 8 * count)).bigEndian, as: UInt64.self)
    return count
  }

  package static func bytes(_ value: UInt64) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: maximumBytes) { room, count in
      // SAFETY: the bytes that count were written.
      unsafe count = write(value, to: UnsafeMutableRawBufferPointer(room))
    }
  }

  /// Reads the integer at `offset`; `nil` if there is none in its shortest form.
  @inline(__always)
  package static func read(_ bytes: RawSpan, at offset: Int = 0) -> (value: UInt64, byteCount: Int)? {
    guard offset < bytes.byteCount else { return nil }
    let first = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self)
    let count = (~first).leadingZeroBitCount + 1
    if count == 1 { return (UInt64(first), 1) }
    guard bytes.byteCount - offset >= count else { return nil }
    var value = count >= 8 ? 0 : UInt64(first) & (0x7F >> UInt64(count - 1))
    for place in 1..<count {
      value =
        value << 8 | UInt64(unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset + place, as: UInt8.self))
    }
    return byteCount(value) == count ? (value, count) : nil
  }
}
