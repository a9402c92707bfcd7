extension Lexer {
  /// A decimal whole number, a hexadecimal one (`0xFF`), or a double (`1.5`, `1e3`).
  mutating func readNumber() throws(QueryError) -> Token.Kind {
    let start = offset
    if peek() == UInt8(ascii: "0"), peek(1) | 0x20 == UInt8(ascii: "x") { return try readHexadecimal() }
    skipDigits()
    var isWhole = true
    if peek() == UInt8(ascii: "."), peek(1).isDigit {
      isWhole = false
      offset += 1
      skipDigits()
    }
    if peek() | 0x20 == UInt8(ascii: "e") {
      isWhole = false
      offset += 1
      if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { offset += 1 }
      guard peek().isDigit else { throw failure("a number's exponent has no digits", expected: ["a digit"]) }
      skipDigits()
    }
    guard !peek().continuesWord else { throw failure("a number runs into a name", at: start) }
    let digits = String(decoding: text[start..<offset], as: UTF8.self)
    if isWhole {
      guard let magnitude = UInt64(digits) else { throw failure("a number exceeds 64 bits", at: start) }
      return .integer(magnitude)
    }
    guard let double = Double(digits), double.isFinite else {
      throw failure("a number is too large for a double", at: start)
    }
    return .double(double)
  }

  private mutating func skipDigits() {
    while peek().isDigit { offset += 1 }
  }

  private mutating func readHexadecimal() throws(QueryError) -> Token.Kind {
    let start = offset
    offset += 2
    var magnitude: UInt64 = 0
    guard peek().hexDigit != nil else {
      throw failure("no digits follow 0x", expected: ["a hexadecimal digit"])
    }
    while let digit = peek().hexDigit {
      guard magnitude.leadingZeroBitCount >= 4 else { throw failure("a number exceeds 64 bits", at: start) }
      magnitude = magnitude << 4 | UInt64(digit)
      offset += 1
    }
    guard !peek().continuesWord else { throw failure("a number runs into a name", at: start) }
    return .integer(magnitude)
  }

  /// A string with the escapes of JSON, and `\'`.
  mutating func readString(closing quote: UInt8) throws(QueryError) -> String {
    let start = offset
    offset += 1
    var bytes: [UInt8] = []
    while offset < text.count {
      let byte = peek()
      if byte == quote {
        offset += 1
        if peek() == quote { throw failure("a doubled quote is no escape: write a backslash before it") }
        return String(decoding: bytes, as: UTF8.self)
      }
      if byte == UInt8(ascii: "\\") {
        try readEscape(into: &bytes)
      } else {
        bytes.append(byte)
        offset += 1
      }
    }
    throw failure(
      "this string is never closed", at: start, expected: [quote == UInt8(ascii: "'") ? "'" : "\""])
  }

  private mutating func readEscape(into bytes: inout [UInt8]) throws(QueryError) {
    let start = offset
    let escaped = peek(1)
    offset += 2
    switch Unicode.Scalar(escaped) {
    case "'", "\"", "\\", "/": bytes.append(escaped)
    case "b": bytes.append(0x08)
    case "f": bytes.append(0x0C)
    case "n": bytes.append(0x0A)
    case "r": bytes.append(0x0D)
    case "t": bytes.append(0x09)
    case "u":
      bytes.append(contentsOf: UTF8.encode(try readScalar(from: start)) ?? UTF8.encodedReplacementCharacter)
    default:
      // A backslash before any other character is ignored.
      guard start + 1 < text.count else { throw failure("this string is never closed", at: start) }
      bytes.append(escaped)
    }
  }

  /// Reads the escape after `\u`: four hexadecimal digits, or a surrogate pair of two such escapes.
  private mutating func readScalar(from start: Int) throws(QueryError) -> Unicode.Scalar {
    let first = try readCodeUnit(from: start)
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, peek() == UInt8(ascii: "\\"), peek(1) == UInt8(ascii: "u") else {
      throw failure("a surrogate stands alone", at: start)
    }
    offset += 2
    let second = try readCodeUnit(from: start)
    guard second & 0xFC00 == 0xDC00,
      let scalar = Unicode.Scalar(0x10000 + (first & 0x3FF) << 10 + second & 0x3FF)
    else { throw failure("a surrogate stands alone", at: start) }
    return scalar
  }

  private mutating func readCodeUnit(from start: Int) throws(QueryError) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = peek().hexDigit else {
        throw failure("four hexadecimal digits follow \\u", at: start, expected: ["a hexadecimal digit"])
      }
      unit = unit << 4 | UInt32(digit)
      offset += 1
    }
    return unit
  }

  /// A name in backticks, which may be empty; two backticks in it are one backtick of the name.
  mutating func readQuotedName() throws(QueryError) -> String {
    let (start, backtick) = (offset, UInt8(ascii: "`"))
    offset += 1
    var bytes: [UInt8] = []
    while let end = text[offset...].firstIndex(of: backtick) {
      bytes += text[offset..<end]
      offset = end + 1
      guard peek() == backtick else { return String(decoding: bytes, as: UTF8.self) }
      bytes.append(backtick)
      offset += 1
    }
    throw failure("this name is never closed", at: start, expected: ["`"])
  }
}
