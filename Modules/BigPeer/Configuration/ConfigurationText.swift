#if Server
  import CRDTCore

  /// A value of a configuration file, with the line on which it begins.
  struct ConfigurationValue: Sendable {
    enum Content: Sendable {
      case scalar(Value)
      case list([ConfigurationValue])
      case object([Member])
    }

    struct Member: Sendable {
      let name: String
      let line: Int
      let value: ConfigurationValue
    }

    let content: Content
    let line: Int

    /// Reads a file's text, which must be JSON.
    ///
    /// - Throws: What is wrong with the text, and on which line.
    init(_ text: [UInt8], file: String) throws(ConfigurationError) {
      do {
        _ = try JSON.parse(text)
      } catch {
        let before = text.prefix(error.offset)
        let line = 1 + before.count { $0 == 0x0A }
        throw ConfigurationError("\(file):\(line)", "this is not JSON: \(error.message)")
      }
      var reader = ConfigurationTextReader(text)
      self = reader.readValue()
    }

    fileprivate init(_ content: Content, line: Int) {
      self.content = content
      self.line = line
    }
  }

  /// Walks through a JSON text that is known to be valid, and records the lines.
  private struct ConfigurationTextReader {
    private let text: [UInt8]
    private var offset = 0
    private var line = 1

    init(_ text: [UInt8]) {
      self.text = text
      if text.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
    }

    private var current: UInt8 { offset < text.count ? text[offset] : 0 }

    private mutating func skipSpace() {
      while [0x20, 0x09, 0x0A, 0x0D].contains(current) {
        if current == 0x0A { line += 1 }
        offset += 1
      }
    }

    mutating func readValue() -> ConfigurationValue {
      skipSpace()
      let line = line
      switch current {
      case UInt8(ascii: "{"): return ConfigurationValue(.object(readMembers()), line: line)
      case UInt8(ascii: "["): return ConfigurationValue(.list(readElements()), line: line)
      default: return ConfigurationValue(.scalar(readScalar()), line: line)
      }
    }

    private mutating func readMembers() -> [ConfigurationValue.Member] {
      var members: [ConfigurationValue.Member] = []
      readItems(until: UInt8(ascii: "}")) { reader in
        let line = reader.line
        let name = reader.readScalar().stringValue ?? ""
        reader.skipSpace()
        reader.offset += 1  // the colon
        members.append(ConfigurationValue.Member(name: name, line: line, value: reader.readValue()))
      }
      return members
    }

    private mutating func readElements() -> [ConfigurationValue] {
      var elements: [ConfigurationValue] = []
      readItems(until: UInt8(ascii: "]")) { elements.append($0.readValue()) }
      return elements
    }

    private mutating func readItems(until end: UInt8, _ readItem: (inout Self) -> Void) {
      offset += 1
      skipSpace()
      while current != end, offset < text.count {
        readItem(&self)
        skipSpace()
        if current == UInt8(ascii: ",") { offset += 1 }
        skipSpace()
      }
      offset += 1
    }

    /// A text, a number or a word.
    private mutating func readScalar() -> Value {
      let start = offset
      if current == UInt8(ascii: "\"") {
        offset += 1
        while current != UInt8(ascii: "\""), offset < text.count {
          offset += current == UInt8(ascii: "\\") ? 2 : 1
        }
        offset += 1
      } else {
        let ends = [0x20, 0x09, 0x0A, 0x0D] + Array(",:]}".utf8)
        while offset < text.count, !ends.contains(current) { offset += 1 }
      }
      return (try? JSON.parse(Array(text[start..<min(offset, text.count)]))) ?? .null
    }
  }

  extension Value {
    /// The text of a string value; `nil` for any other value.
    var stringValue: String? {
      guard case .string(let text) = self else { return nil }
      return text
    }
  }
#endif
