import CRDTCore

/// Searches in bytes, in place.
extension RawSpan {
  func hasPrefix(_ prefix: RawSpan) -> Bool {
    prefix.byteCount <= byteCount && extracting(first: prefix.byteCount).compare(prefix) == 0
  }

  func hasSuffix(_ suffix: RawSpan) -> Bool {
    suffix.byteCount <= byteCount && extracting(last: suffix.byteCount).compare(suffix) == 0
  }

  /// Whether `needle` occurs in these bytes.
  ///
  /// - Complexity: O(*n* + *m*) for a needle of *m* bytes.
  func contains(_ needle: RawSpan) -> Bool { firstOffset(of: needle) != nil }

  /// The offset of the first occurrence of `needle` in these bytes.
  ///
  /// It tests the places that have the needle's first and last byte, eight at a time. If too many places
  /// fail, it changes to a search that never steps back.
  ///
  /// - Complexity: O(*n* + *m*) for a needle of *m* bytes.
  func firstOffset(of needle: RawSpan) -> Int? {
    let length = needle.byteCount
    guard length <= byteCount else { return nil }
    guard length > 0 else { return 0 }
    let first = needle.byte(at: 0, times: RawSpan.lowestBits)
    let last = needle.byte(at: length - 1, times: RawSpan.lowestBits)
    var patience = 4 * byteCount + 64
    var offset = 0
    // SAFETY: the last byte of the last of eight places is in the text.
    while offset + 7 + length <= byteCount {
      let differences =
        unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self) ^ first
        | unsafeLoadUnaligned(fromByteOffset: offset + length - 1, as: UInt64.self) ^ last
      var places = UInt64(littleEndian: differences).lowestZeroBytes
      while places != 0 {
        let place = offset + places.trailingZeroBitCount / 8
        let matched = extracting(place..<place + length).commonCount(with: needle)
        if matched == length { return place }
        patience -= matched + 1
        if patience < 0 { return ByteSearch(needle.copied).firstMatch(in: copied, from: place) }
        places &= places &- 1
      }
      offset += 8
    }
    while offset + length <= byteCount {
      if extracting(offset..<offset + length).isEqual(to: needle) { return offset }
      offset += 1
    }
    return nil
  }

  /// The offset of the first occurrence of a byte.
  func firstOffset(ofByte wanted: UInt8) -> Int? {
    for offset in 0..<byteCount
    where unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self) == wanted { return offset }
    return nil
  }

  /// The number of bytes that these and an equal number of others have in common at their beginning.
  private func commonCount(with other: RawSpan) -> Int {
    let count = Swift.min(byteCount, other.byteCount)
    var offset = 0
    while count - offset >= 8 {
      let difference =
        unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
        ^ other.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if difference != 0 { return offset + UInt64(littleEndian: difference).trailingZeroBitCount / 8 }
      offset += 8
    }
    while offset < count,
      unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
        == other.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    { offset += 1 }
    return offset
  }

  private static let lowestBits: UInt64 = 0x0101_0101_0101_0101

  private func byte(at offset: Int, times factor: UInt64) -> UInt64 {
    UInt64(unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)) &* factor
  }

  private var copied: [UInt8] {
    (0..<byteCount).map { unsafe unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
  }
}

extension UInt64 {
  /// The highest bit of each byte that is zero, and possibly of some bytes that follow one.
  fileprivate var lowestZeroBytes: UInt64 { (self &- 0x0101_0101_0101_0101) & ~self & 0x8080_8080_8080_8080 }
}
