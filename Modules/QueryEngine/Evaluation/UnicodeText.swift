/// Scalars of UTF-8 text in place.
enum UnicodeText {
  /// The scalar at `offset`, which moves past it; a byte that is not UTF-8 counts as one scalar.
  static func nextScalar(of text: RawSpan, _ offset: inout Int) -> UInt32? {
    guard offset < text.byteCount else { return nil }
    let first = UInt32(unsafe text.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
    offset += 1
    guard first >= 0xC0, first < 0xF8 else { return first }
    let following = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3
    var scalar = first & (0x3F >> UInt32(following))
    for _ in 0..<following {
      guard offset < text.byteCount else { return scalar }
      scalar = scalar << 6 | UInt32(unsafe text.unsafeLoad(fromByteOffset: offset, as: UInt8.self) & 0x3F)
      offset += 1
    }
    return scalar
  }

  /// The scalar in lower case, where that is one scalar.
  static func folded(_ scalar: UInt32) -> UInt32 {
    if scalar < 128 { return scalar >= 65 && scalar <= 90 ? scalar | 0x20 : scalar }
    guard let lower = Unicode.Scalar(scalar)?.properties.lowercaseMapping.unicodeScalars, lower.count == 1
    else {
      return scalar
    }
    return lower.first?.value ?? scalar
  }
}
