// `UTF8Span` needs macOS 26 and iOS 26. `String(validating:as:)` is generic and not specialized: for the
// short strings of documents it takes several times as long as the code below.
extension RawSpan {
  /// These bytes as text; `nil` when they are not UTF-8.
  package var text: String? {
    unsafe withUnsafeBytes { bytes in
      let text = unsafe String(decoding: bytes, as: UTF8.self)
      if asciiCount == byteCount { return text }
      // Bytes that are not UTF-8 were replaced; then the text has other bytes than the span.
      return text.withUTF8Bytes { $0.isEqual(to: self) } ? text : nil
    }
  }

  /// Whether these bytes are UTF-8.
  package var isUTF8: Bool { utf8Count == byteCount }

  /// The offset of the first byte that is not part of well-formed UTF-8; the count of bytes if all are.
  ///
  /// Source: The Unicode Standard, table 3-7, "Well-Formed UTF-8 Byte Sequences".
  ///
  /// - Complexity: O(*n*).
  package var utf8Count: Int {
    var offset = asciiCount
    while offset < byteCount {
      let first = octet(offset)
      if first < 0x80 {
        offset &+= 1
        if byteCount &- offset >= 8 { offset = asciiCount(from: offset) }
        continue
      }
      // How many bytes follow, and the bounds of the next one.
      let rest: Int
      var low: UInt8 = 0x80
      var high: UInt8 = 0xBF
      switch first {
      case 0xC2...0xDF: rest = 1
      case 0xE0: (rest, low) = (2, 0xA0)
      case 0xED: (rest, high) = (2, 0x9F)
      case 0xE1...0xEF: rest = 2
      case 0xF0: (rest, low) = (3, 0x90)
      case 0xF1...0xF3: rest = 3
      case 0xF4: (rest, high) = (3, 0x8F)
      default: return offset
      }
      guard byteCount &- offset > rest, low...high ~= octet(offset &+ 1) else { return offset }
      if rest >= 2, octet(offset &+ 2) & 0xC0 != 0x80 { return offset }
      if rest == 3, octet(offset &+ 3) & 0xC0 != 0x80 { return offset }
      offset &+= rest &+ 1
    }
    return offset
  }

  /// The offset of a word that contains the first byte above 127; the count of bytes if there is none.
  @inline(__always)
  private var asciiCount: Int {
    let highs: UInt64 = 0x8080_8080_8080_8080
    if byteCount < 8 { return shortTail(from: 0) & highs == 0 ? byteCount : 0 }
    let offset = asciiCount(from: 0)
    // The last word overlaps the one before it.
    return byteCount &- offset < 8 && word(at: byteCount &- 8) & highs == 0 ? byteCount : offset
  }

  /// Skips words of bytes that are all below 128.
  @inline(__always)
  private func asciiCount(from start: Int) -> Int {
    var offset = start
    while byteCount &- offset >= 8, word(at: offset) & 0x8080_8080_8080_8080 == 0 { offset &+= 8 }
    return offset
  }

  /// SAFETY: the offset must be before the end.
  @inline(__always)
  private func octet(_ offset: Int) -> UInt8 {
    unsafe unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
  }
}
