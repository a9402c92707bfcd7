import CRDTCore

/// Lower case for ILIKE and the collation `nocase`: scalar by scalar, where the result is one scalar.
enum CaseFolding {
  /// Scalars below this bound are looked up: those of Latin, Greek, Cyrillic and Armenian.
  private static let tableCount: UInt32 = 0x600
  private static let table: [UInt16] = (0..<tableCount).map { UInt16(truncatingIfNeeded: lowered($0)) }

  /// The scalar in lower case, where that is one scalar.
  static func folded(_ scalar: UInt32) -> UInt32 {
    if scalar < 0x80 { return scalar >= 0x41 && scalar <= 0x5A ? scalar | 0x20 : scalar }
    if scalar < tableCount { return UInt32(table[Int(scalar)]) }
    return hasNoCase(scalar) ? scalar : lowered(scalar)
  }

  private static func lowered(_ scalar: UInt32) -> UInt32 {
    guard let lower = Unicode.Scalar(scalar)?.properties.lowercaseMapping.unicodeScalars, lower.count == 1
    else { return scalar }
    return lower.first?.value ?? scalar
  }

  /// Whether a scalar is in one of the large blocks without capital letters, so that no lookup is necessary.
  private static func hasNoCase(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0x0600..<0x10A0, 0x2000..<0x2100, 0x2E00..<0xA640, 0xAC00..<0xFF00, 0x1F000...: true
    default: false
    }
  }

  /// The folded scalars of a text; both texts are UTF-8.
  ///
  /// A byte that is not UTF-8 counts as one scalar, as in patterns.
  ///
  /// - Complexity: O(*n*) in the bytes.
  static func folded(_ text: RawSpan) -> [UInt8] {
    if text.isASCII {
      return unsafe [UInt8](unsafeUninitializedCapacity: text.byteCount) { buffer, count in
        unsafe foldASCII(text, into: UnsafeMutableRawBufferPointer(buffer))
        count = text.byteCount
      }
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.byteCount + 16)
    appendFolded(text, to: &bytes)
    return bytes
  }

  private static func appendFolded(_ text: RawSpan, to bytes: inout [UInt8]) {
    var offset = 0
    while let scalar = appendASCII(of: text, &offset, to: &bytes) { append(folded(scalar), to: &bytes) }
  }

  /// Appends the ASCII bytes from `offset` on, folded.
  ///
  /// - Returns: The scalar after them; `offset` moves past it.
  private static func appendASCII(of text: RawSpan, _ offset: inout Int, to bytes: inout [UInt8]) -> UInt32? {
    while offset < text.byteCount {
      let byte = unsafe text.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      guard byte < 0x80 else { return LikePattern.nextScalar(of: text, &offset) }
      bytes.append(byte &- 0x41 < 26 ? byte | 0x20 : byte)
      offset += 1
    }
    return nil
  }

  /// Appends the result of `lower` for a text.
  ///
  /// Unlike folding, it turns a capital I with a dot into two scalars.
  static func appendLowercased(_ text: RawSpan, to bytes: inout [UInt8]) {
    var offset = 0
    while let scalar = appendASCII(of: text, &offset, to: &bytes) {
      append(scalar == 0x130 ? 0x69 : folded(scalar), to: &bytes)
      if scalar == 0x130 { append(0x307, to: &bytes) }
    }
  }

  /// Calls `body` with the folded text.
  ///
  /// A text without capital letters is passed in place. A short text needs no memory of its own.
  static func withFolded<R>(_ text: RawSpan, _ body: (RawSpan) -> R) -> R {
    guard text.isASCII else { return body(folded(text).span.bytes) }
    if !text.hasASCIICapitals { return body(text) }
    return unsafe withUnsafeTemporaryAllocation(byteCount: text.byteCount, alignment: 1) { buffer in
      unsafe foldASCII(text, into: buffer)
      return unsafe body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(buffer)))
    }
  }

  /// SAFETY: the buffer must have room for the text.
  private static func foldASCII(_ text: RawSpan, into buffer: UnsafeMutableRawBufferPointer) {
    unsafe text.withUnsafeBytes { bytes in
      for index in 0..<bytes.count {
        let byte = unsafe bytes[index]
        unsafe buffer[index] = byte &- 0x41 < 26 ? byte | 0x20 : byte
      }
    }
  }

  /// Appends a number of up to 21 bits in UTF-8, whether or not it is a scalar.
  static func append(_ scalar: UInt32, to bytes: inout [UInt8]) {
    let tail = { (shift: UInt32) in UInt8(truncatingIfNeeded: scalar >> shift & 0x3F | 0x80) }
    switch scalar {
    case ..<0x80: bytes.append(UInt8(truncatingIfNeeded: scalar))
    case ..<0x800:
      bytes.append(UInt8(truncatingIfNeeded: scalar >> 6 | 0xC0))
      bytes.append(tail(0))
    case ..<0x1_0000:
      bytes.append(UInt8(truncatingIfNeeded: scalar >> 12 | 0xE0))
      bytes.append(tail(6))
      bytes.append(tail(0))
    default:
      bytes.append(UInt8(truncatingIfNeeded: scalar >> 18 | 0xF0))
      bytes.append(tail(12))
      bytes.append(tail(6))
      bytes.append(tail(0))
    }
  }
}

extension RawSpan {
  /// Whether an ASCII text contains capital letters.
  fileprivate var hasASCIICapitals: Bool {
    var offset = 0
    while byteCount - offset >= 8 {
      let word = unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
      // The highest bit of each byte shows whether it is at least "A", and whether it is above "Z".
      let first = word &+ 0x3F3F_3F3F_3F3F_3F3F
      let last = word &+ 0x2525_2525_2525_2525
      if (first ^ last) & 0x8080_8080_8080_8080 != 0 { return true }
      offset += 8
    }
    while offset < byteCount {
      if unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self) &- 0x41 < 26 { return true }
      offset += 1
    }
    return false
  }
}
