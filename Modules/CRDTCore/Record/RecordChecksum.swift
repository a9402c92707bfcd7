/// A record's checksum: four independent lanes, so that the processor can overlap four multiplications.
///
/// Like ``HashLanes``, it detects damage, not forgery. Records have their own checksum because it is computed
/// at each read, and one chain of multiplications would take most of that time.
enum RecordChecksum {
  /// Returns the checksum of a record; it does not cover its own four bytes.
  ///
  /// - Returns: Zero for anything shorter than a header.
  /// - Complexity: O(*n*), about 20 bytes a nanosecond.
  static func of(_ record: RawSpan) -> UInt32 {
    guard record.byteCount >= RecordLayout.headerBytes else { return 0 }
    // SAFETY: the span covers the pointer's bytes for the whole call.
    return unsafe record.withUnsafeBytes { unsafe of($0) }
  }

  private static func of(_ record: UnsafeRawBufferPointer) -> UInt32 {
    let seed = UInt64(UInt32(littleEndian: unsafe record.loadUnaligned(fromByteOffset: 0, as: UInt32.self)))
    var a = seed ^ HashLanes.k0
    var b = seed ^ HashLanes.k1
    var c = seed ^ HashLanes.k2
    var d = seed ^ HashLanes.k3
    // No offset overflows, because all are below the record's length; so the additions are unchecked.
    var offset = RecordLayout.rootOffset
    let end = record.count
    while end &- offset >= 64 {
      unsafe mix(&a, HashLanes.k1, record, offset)
      unsafe mix(&b, HashLanes.k2, record, offset &+ 16)
      unsafe mix(&c, HashLanes.k3, record, offset &+ 32)
      unsafe mix(&d, HashLanes.k0, record, offset &+ 48)
      offset &+= 64
    }
    if end &- offset >= 16 { unsafe mix(&a, HashLanes.k1, record, offset) }
    if end &- offset >= 32 { unsafe mix(&b, HashLanes.k2, record, offset &+ 16) }
    if end &- offset >= 48 { unsafe mix(&c, HashLanes.k3, record, offset &+ 32) }
    // The last 16 bytes, some of which another lane has already covered.
    unsafe mix(&d, HashLanes.k0, record, end &- 16)
    let length = UInt64(truncatingIfNeeded: end)
    let sum = HashLanes.fold(a ^ length, b) ^ HashLanes.fold(c ^ HashLanes.k2, d ^ HashLanes.k3)
    let mixed = HashLanes.fold(sum ^ HashLanes.k0, HashLanes.k1)
    return UInt32(truncatingIfNeeded: mixed ^ (mixed >> 32))
  }

  @inline(__always)
  private static func mix(_ lane: inout UInt64, _ key: UInt64, _ bytes: UnsafeRawBufferPointer, _ offset: Int)
  {
    // SAFETY: the callers stay 16 bytes before the end.
    let low = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    let high = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset &+ 8, as: UInt64.self))
    lane = HashLanes.fold(low ^ key, high ^ lane)
  }
}
