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
  /// - Complexity: O(*n* × *m*) at worst, for a needle of *m* bytes.
  func contains(_ needle: RawSpan) -> Bool {
    guard needle.byteCount <= byteCount else { return false }
    for offset in 0...(byteCount - needle.byteCount) {
      if extracting(offset..<offset + needle.byteCount).compare(needle) == 0 { return true }
    }
    return false
  }
}
