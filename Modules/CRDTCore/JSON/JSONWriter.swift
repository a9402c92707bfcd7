/// Appends values as JSON text.
struct JSONWriter {
  private(set) var bytes: [UInt8]
  private let options: JSON.WriteOptions
  /// The number of bytes beyond which nothing more is written.
  private let limit: Int
  /// The number of open containers.
  private var depth = 0
  /// Whether nothing was written yet in the innermost container.
  private var isFirst = true

  init(bytes: [UInt8], options: JSON.WriteOptions, limit: Int = .max) {
    self.bytes = bytes
    self.options = options
    self.limit = limit
  }

  /// Whether the text has more bytes than it may, so that the rest was left out.
  var isTooLong: Bool { bytes.count > limit }

  mutating func write(_ value: Value) {
    guard !isTooLong else { return }
    switch value {
    case .null: append("null")
    case .bool(let bool): append(bool ? "true" : "false")
    case .int(let int): writeInteger(int)
    case .double(let double):
      // Swift describes a double by the shortest digits that read back as the same double.
      if double.isFinite {
        append(double.description)
      } else {
        writeTag(.double) { $0.writeString(double.description) }
      }
    case .string(let string): writeString(string)
    case .decimal(let number): writeString(number.text)
    case .bytes(let blob): writeTag(.bytes) { $0.writeBase64(blob) }
    case .array(let elements): write(elements: elements)
    case .map(let map):
      if options.escapesTags, map.count == 1, let (key, content) = map.first, JSONTag.isTag(key) {
        write(members: [TextKey("$" + key.text): content])
      } else {
        write(members: map)
      }
    case .counter(let sum):
      if options.isLossless {
        writeTag(.counter) { $0.writeInteger(sum) }
      } else {
        writeInteger(sum)
      }
    case .attachment(let token): writeTag(.attachment) { $0.write(token) }
    }
  }

  private mutating func write(elements: [Value]) {
    open(UInt8(ascii: "["))
    for element in elements where !isTooLong {
      separate()
      write(element)
    }
    close(UInt8(ascii: "]"))
  }

  private mutating func write(members map: [TextKey: Value]) {
    write(ordered: map.sorted { $0.key < $1.key })
  }

  mutating func write(ordered members: [(key: TextKey, value: Value)]) {
    open(UInt8(ascii: "{"))
    for (key, value) in members where !isTooLong {
      writeKey(key)
      write(value)
    }
    close(UInt8(ascii: "}"))
  }

  private mutating func write(_ token: AttachmentToken) {
    open(UInt8(ascii: "{"))
    writeKey("bytes")
    append(token.byteCount.description)
    writeKey("id")
    writeBase64(token.id)
    writeKey("metadata")
    write(.map(token.metadata.mapValues { .string($0.text) }))
    close(UInt8(ascii: "}"))
  }

  private mutating func writeTag(_ tag: JSONTag, _ content: (inout Self) -> Void) {
    open(UInt8(ascii: "{"))
    writeKey(TextKey(tag.rawValue))
    content(&self)
    close(UInt8(ascii: "}"))
  }
}

// MARK: Punctuation

extension JSONWriter {
  private mutating func open(_ bracket: UInt8) {
    bytes.append(bracket)
    depth += 1
    isFirst = true
  }

  /// Writes what precedes the next element: a comma after another one, then a new line if requested.
  private mutating func separate() {
    if !isFirst { bytes.append(UInt8(ascii: ",")) }
    isFirst = false
    breakLine()
  }

  private mutating func writeKey(_ key: TextKey) {
    separate()
    writeString(key.text)
    append(options.isPretty ? ": " : ":")
  }

  private mutating func close(_ bracket: UInt8) {
    depth -= 1
    if !isFirst { breakLine() }
    isFirst = false
    bytes.append(bracket)
  }

  private mutating func breakLine() {
    guard options.isPretty else { return }
    bytes.append(UInt8(ascii: "\n"))
    bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * depth))
  }
}

// MARK: Text

extension JSONWriter {
  private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

  private mutating func writeInteger(_ value: Int64) {
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    let start = bytes.count
    var rest = value.magnitude
    repeat {
      let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
      bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit))
      rest = quotient
    } while rest > 0
    bytes[start...].reverse()
  }

  private mutating func writeBase64(_ blob: [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    Base64.encode(blob, to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func writeString(_ string: String) {
    bytes.append(UInt8(ascii: "\""))
    var string = string
    string.withUTF8 { utf8 in
      var plain = 0
      for index in 0..<utf8.count {
        // SAFETY: the index is in the buffer's bounds.
        let byte = unsafe utf8[index]
        guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
        unsafe bytes.append(contentsOf: utf8[plain..<index])
        writeEscape(of: byte)
        plain = index + 1
        // An escape may take six bytes for one.
        if isTooLong { return }
      }
      unsafe bytes.append(contentsOf: utf8[plain...])
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func writeEscape(of byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""): append("\\\"")
    case UInt8(ascii: "\\"): append("\\\\")
    case 0x08: append("\\b")
    case 0x09: append("\\t")
    case 0x0A: append("\\n")
    case 0x0C: append("\\f")
    case 0x0D: append("\\r")
    default: append(byte < 0x10 ? "\\u000" : "\\u00"); append(String(byte, radix: 16))
    }
  }
}
