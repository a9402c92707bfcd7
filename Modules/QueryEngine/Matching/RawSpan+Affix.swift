import CRDTCore

/// Searches in bytes in place.
extension RawSpan {
  func hasPrefix(_ prefix: RawSpan) -> Bool {
    prefix.byteCount <= byteCount && extracting(first: prefix.byteCount).compare(prefix) == 0
  }

  func hasSuffix(_ suffix: RawSpan) -> Bool {
    suffix.byteCount <= byteCount && extracting(last: suffix.byteCount).compare(suffix) == 0
  }

  /// Whether `needle` stands anywhere in these bytes.
  ///
  /// It tries place after place, and turns to a search without steps back when that does not go well.
  ///
  /// - Complexity: O(*n* + *m*) for a needle of *m* bytes.
  func contains(_ needle: RawSpan) -> Bool {
    let length = needle.byteCount
    guard length <= byteCount else { return false }
    guard length > 0 else { return true }
    let first = unsafe needle.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
    var patience = 4 * byteCount + 64
    var offset = 0
    while offset <= byteCount - length {
      if unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self) == first {
        var matched = 1
        while matched < length,
          unsafe unsafeLoad(fromByteOffset: offset + matched, as: UInt8.self)
            == needle.unsafeLoad(fromByteOffset: matched, as: UInt8.self)
        {
          matched += 1
        }
        if matched == length { return true }
        patience -= matched
        if patience < 0 { return ByteSearch(needle.copied).firstMatch(in: copied, from: offset) != nil }
      }
      offset += 1
    }
    return false
  }

  private var copied: [UInt8] {
    (0..<byteCount).map { unsafe unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
  }
}
