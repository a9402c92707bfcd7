/// Binary data as text: RFC 4648 §4, with padding.
enum Base64 {
  private static let alphabet = [UInt8](
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func encode(_ bytes: [UInt8], to text: inout [UInt8]) {
    var index = 0
    while index < bytes.count {
      let left = bytes.count - index
      let first = UInt32(bytes[index]) << 16
      let second = left > 1 ? UInt32(bytes[index + 1]) << 8 : 0
      let third = left > 2 ? UInt32(bytes[index + 2]) : 0
      let group = first | second | third
      text.append(alphabet[Int(group >> 18)])
      text.append(alphabet[Int(group >> 12 & 63)])
      text.append(left > 1 ? alphabet[Int(group >> 6 & 63)] : UInt8(ascii: "="))
      text.append(left > 2 ? alphabet[Int(group & 63)] : UInt8(ascii: "="))
      index += 3
    }
  }

  /// Decodes `text`; returns `nil` for any text that ``encode(_:to:)`` does not write.
  static func decode(_ text: String) -> [UInt8]? {
    let text = Array(text.utf8)
    guard text.count.isMultiple(of: 4) else { return nil }
    let padding = text.suffix(2).count { $0 == UInt8(ascii: "=") }
    let digits = text.count - padding
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3)
    var bits: UInt32 = 0
    for index in 0..<digits {
      guard let digit = digit(text[index]) else { return nil }
      bits = bits << 6 | digit
      switch index % 4 {
      case 1: bytes.append(UInt8(truncatingIfNeeded: bits >> 4))
      case 2: bytes.append(UInt8(truncatingIfNeeded: bits >> 2))
      case 3: bytes.append(UInt8(truncatingIfNeeded: bits))
      default: break
      }
    }
    // The unused bits of the last digit must be zero, so that each byte string has only one text.
    let leftOver: UInt32 = digits % 4 == 2 ? 0xF : digits % 4 == 3 ? 0x3 : 0
    return bits & leftOver == 0 ? bytes : nil
  }

  private static func digit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
