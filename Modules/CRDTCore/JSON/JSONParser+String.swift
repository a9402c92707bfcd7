extension JSONParser {
  /// Reads the string whose opening quote is just before `offset`, and moves past the closing one.
  @inline(__always)
  mutating func parseString() throws(JSONError) -> String {
    let start = offset
    skipPlainText()
    guard current != UInt8(ascii: "\"") else {
      let string = try text(from: start)
      offset += 1
      return string
    }
    return try parseEscapedString(from: start)
  }

  /// Reads the rest of a string that is plain from `start` up to `offset` and has at least one escape.
  private mutating func parseEscapedString(from start: Int) throws(JSONError) -> String {
    var string = try text(from: start)
    while true {
      switch current {
      case UInt8(ascii: "\""):
        offset += 1
        return string
      case UInt8(ascii: "\\"):
        offset += 1
        string.unicodeScalars.append(try parseEscape())
      default:
        throw offset < bytes.byteCount
          ? JSONError(.syntax, "expected a control character to be escaped", at: offset)
          : unexpected("'\"' to end a string")
      }
      let plain = offset
      skipPlainText()
      if offset > plain { string += try text(from: plain) }
    }
  }

  /// Moves to the next quote, backslash or control character, or to the end.
  @inline(__always)
  mutating func skipPlainText() {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    // Eight bytes at a time: a byte's high bit is set in `stops` when it is below 0x20, a quote or a
    // backslash. A borrow can set bits only above a true stop, and only the lowest counts (Hacker's Delight,
    // §6-1).
    while bytes.byteCount - offset >= 8 {
      // SAFETY: every bit pattern is a UInt64, and the load checks its bounds.
      let word = UInt64(
        littleEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
      let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
      let slashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
      let stops =
        (((word &- (ones &* 0x20)) & ~word) | ((quotes &- ones) & ~quotes) | ((slashes &- ones) & ~slashes))
        & highs
      guard stops == 0 else {
        offset += stops.trailingZeroBitCount / 8
        return
      }
      offset += 8
    }
    while offset < bytes.byteCount {
      switch byte(at: offset) {
      case 0..<0x20, UInt8(ascii: "\""), UInt8(ascii: "\\"): return
      default: offset += 1
      }
    }
  }

  /// Returns the bytes from `start` up to `offset` as text.
  @inline(__always)
  private func text(from start: Int) throws(JSONError) -> String {
    let characters = bytes.extracting(start..<offset)
    if let text = characters.text { return text }
    throw JSONError(.invalidText, "expected valid UTF-8", at: start + characters.utf8Count)
  }

  /// Returns the character of the escape after the backslash at `offset - 1`.
  private mutating func parseEscape() throws(JSONError) -> Unicode.Scalar {
    let escape = current
    let scalar: Unicode.Scalar
    switch escape {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): scalar = Unicode.Scalar(escape)
    case UInt8(ascii: "b"): scalar = "\u{8}"
    case UInt8(ascii: "f"): scalar = "\u{C}"
    case UInt8(ascii: "n"): scalar = "\n"
    case UInt8(ascii: "r"): scalar = "\r"
    case UInt8(ascii: "t"): scalar = "\t"
    case UInt8(ascii: "u"): return try parseUnicodeEscape()
    default: throw unexpected("one of \"\\/bfnrtu after a backslash")
    }
    offset += 1
    return scalar
  }

  /// Reads one `uXXXX`, or two with a backslash between that make a surrogate pair.
  private mutating func parseUnicodeEscape() throws(JSONError) -> Unicode.Scalar {
    let start = offset - 1
    let first = try parseCodeUnit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    if UTF16.isLeadSurrogate(first), current == UInt8(ascii: "\\"), offset + 1 < bytes.byteCount,
      byte(at: offset + 1) == UInt8(ascii: "u")
    {
      offset += 1
      let second = try parseCodeUnit()
      if UTF16.isTrailSurrogate(second) {
        return UTF16.decode(UTF16.EncodedScalar([first, second]))
      }
    }
    throw JSONError(.invalidText, "expected two escapes that make a surrogate pair", at: start)
  }

  private mutating func parseCodeUnit() throws(JSONError) -> UInt16 {
    offset += 1
    var unit: UInt16 = 0
    for _ in 0..<4 {
      let base: UInt8
      switch current {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): base = UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): base = UInt8(ascii: "a") - 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): base = UInt8(ascii: "A") - 10
      default: throw unexpected("four hexadecimal digits after \\u")
      }
      unit = unit << 4 | UInt16(current - base)
      offset += 1
    }
    return unit
  }
}
