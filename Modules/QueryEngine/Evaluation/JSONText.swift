package import CRDTCore

/// JSON as text: compact and with sorted keys when written, strict and bounded when read.
package enum JSONText {
  /// The text of a value; `nil` for what JSON has no form for: bytes, attachments, numbers not finite.
  package static func write(_ value: Value) -> String? {
    var bytes: [UInt8] = []
    guard append(value, to: &bytes) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func append(_ value: Value, to bytes: inout [UInt8]) -> Bool {
    switch value {
    case .null: bytes += "null".utf8
    case .bool(let value): bytes += (value ? "true" : "false").utf8
    case .int(let value), .counter(let value): bytes += "\(value)".utf8
    case .double(let value):
      guard value.isFinite else { return false }
      bytes += "\(value)".utf8
    case .string(let text): append(text, to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        guard append(element, to: &bytes) else { return false }
      }
      bytes.append(UInt8(ascii: "]"))
    case .map(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in SortOrder.sorted(members).enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        append(member.key, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        guard append(member.value, to: &bytes) else { return false }
      }
      bytes.append(UInt8(ascii: "}"))
    case .bytes, .attachment: return false
    }
    return true
  }

  private static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case 0x0A: bytes += "\\n".utf8
      case 0x0D: bytes += "\\r".utf8
      case 0x09: bytes += "\\t".utf8
      case 0..<0x20:
        let digits = Array("0123456789abcdef".utf8)
        bytes += "\\u00".utf8
        bytes += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// The value of a text; `nil` when it is not JSON or is nested deeper than `Limits.depth`.
  ///
  /// Whole numbers within 64 bits become integers, other numbers doubles; of two equal keys the later wins.
  package static func parse(_ text: String) -> Value? {
    var reader = JSONReader(bytes: Array(text.utf8))
    guard let value = reader.readValue(depth: 0), reader.isAtEnd else { return nil }
    return value
  }

  /// The value of a text that is one number of JSON and nothing else.
  static func number(_ text: String) -> Value? {
    var reader = JSONReader(bytes: Array(text.utf8))
    guard let value = reader.readNumber(), reader.offset == reader.bytes.count else { return nil }
    return value
  }
}

/// A cursor over JSON text.
private struct JSONReader {
  let bytes: [UInt8]
  var offset = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  private var byte: UInt8 { offset < bytes.count ? bytes[offset] : 0 }

  /// Whether only blanks are left.
  var isAtEnd: Bool {
    mutating get {
      skipBlanks()
      return offset == bytes.count
    }
  }

  private mutating func skipBlanks() {
    while [0x20, 0x0A, 0x0D, 0x09].contains(byte), offset < bytes.count { offset += 1 }
  }

  private mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
    skipBlanks()
    guard offset < bytes.count, byte == UInt8(ascii: scalar) else { return false }
    offset += 1
    return true
  }

  private mutating func accept(word: String) -> Bool {
    guard bytes[offset...].starts(with: word.utf8) else { return false }
    offset += word.utf8.count
    return true
  }

  mutating func readValue(depth: Int) -> Value? {
    guard depth <= Limits.depth else { return nil }
    skipBlanks()
    switch Unicode.Scalar(byte) {
    case "{": return readObject(depth: depth + 1)
    case "[": return readArray(depth: depth + 1)
    case "\"": return readString().map(Value.string)
    case "t": return accept(word: "true") ? .bool(true) : nil
    case "f": return accept(word: "false") ? .bool(false) : nil
    case "n": return accept(word: "null") ? .null : nil
    default: return readNumber()
    }
  }

  private mutating func readArray(depth: Int) -> Value? {
    var elements: [Value] = []
    offset += 1
    if accept("]") { return .array([]) }
    repeat {
      guard let element = readValue(depth: depth) else { return nil }
      elements.append(element)
    } while accept(",")
    return accept("]") ? .array(elements) : nil
  }

  private mutating func readObject(depth: Int) -> Value? {
    var members: [String: Value] = [:]
    offset += 1
    if accept("}") { return .map([:]) }
    repeat {
      skipBlanks()
      guard byte == UInt8(ascii: "\""), let key = readString(), accept(":"),
        let value = readValue(depth: depth)
      else { return nil }
      members[key] = value
    } while accept(",")
    return accept("}") ? .map(members) : nil
  }

  /// The string at the cursor; the lexer of queries knows the same escapes, and `\'`, which JSON lacks.
  private mutating func readString() -> String? {
    let start = offset
    var end = offset + 1
    while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
      if bytes[end] < 0x20 { return nil }
      if bytes[end] == UInt8(ascii: "\\") {
        if end + 1 < bytes.count, bytes[end + 1] == UInt8(ascii: "'") { return nil }
        end += 1
      }
      end += 1
    }
    guard end < bytes.count else { return nil }
    offset = end + 1
    var lexer = Lexer(text: Array(bytes[start...end]), dialect: .dql)
    return try? lexer.readString(closing: UInt8(ascii: "\""))
  }

  mutating func readNumber() -> Value? {
    let start = offset
    if byte == UInt8(ascii: "-") { offset += 1 }
    guard byte.isDigit else { return nil }
    if byte == UInt8(ascii: "0"), offset + 1 < bytes.count, bytes[offset + 1].isDigit { return nil }
    skipDigits()
    var isWhole = true
    if byte == UInt8(ascii: ".") {
      isWhole = false
      offset += 1
      guard byte.isDigit else { return nil }
      skipDigits()
    }
    if byte | 0x20 == UInt8(ascii: "e") {
      isWhole = false
      offset += 1
      if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { offset += 1 }
      guard byte.isDigit else { return nil }
      skipDigits()
    }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    if isWhole, let whole = Int64(text) { return .int(whole) }
    guard let double = Double(text), double.isFinite else { return nil }
    return .double(double)
  }

  private mutating func skipDigits() {
    while byte.isDigit { offset += 1 }
  }
}
