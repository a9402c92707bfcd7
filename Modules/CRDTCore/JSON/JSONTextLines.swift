/// The lines of a JSON text on which its values begin, from 1.
package struct JSONTextLines: Sendable {
  /// The line on which the value begins.
  package let line: Int
  /// The line on which the member's name begins; that of the value if it is not a member of an object.
  package let nameLine: Int
  /// The lines of the members, if the value is an object.
  package let members: [TextKey: JSONTextLines]
  /// The lines of the elements, if the value is a list.
  package let elements: [JSONTextLines]
  /// What the value was read from in place of the text, such as a variable; `nil` for the text itself.
  package let origin: String?

  fileprivate init(
    line: Int, nameLine: Int, members: [TextKey: JSONTextLines] = [:], elements: [JSONTextLines] = [],
    origin: String? = nil
  ) {
    (self.line, self.nameLine, self.members, self.elements) = (line, nameLine, members, elements)
    self.origin = origin
  }
}

extension JSONTextLines {
  /// The place of a value, and of all values in it, that was read from something else than the text.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - origin: What it was read from.
  package init(_ value: Value, from origin: String) {
    var (members, elements): ([TextKey: JSONTextLines], [JSONTextLines]) = ([:], [])
    switch value {
    case .map(let map): members = map.mapValues { JSONTextLines($0, from: origin) }
    case .array(let array): elements = array.map { JSONTextLines($0, from: origin) }
    default: break
    }
    self.init(line: 1, nameLine: 1, members: members, elements: elements, origin: origin)
  }

  /// The lines of the value after one of its members was set.
  package func setting(_ name: TextKey, to member: JSONTextLines) -> JSONTextLines {
    JSONTextLines(
      line: line, nameLine: nameLine, members: members.merging([name: member]) { $1 }, elements: elements,
      origin: origin)
  }

  /// The lines of the value after one of its elements was set, or one was added behind the last.
  package func setting(_ index: Int, to element: JSONTextLines) -> JSONTextLines {
    var elements = elements
    if index < elements.count { elements[index] = element } else { elements.append(element) }
    return JSONTextLines(
      line: line, nameLine: nameLine, members: members, elements: elements, origin: origin)
  }
}

extension JSON {
  /// Reads one JSON text, which must fill the input, and the lines on which its values begin.
  ///
  /// - Parameter text: The text.
  /// - Returns: The value and its lines.
  /// - Throws: What the text violates, and where.
  package static func parseWithLines(
    _ text: [UInt8]
  ) throws(JSONError) -> (value: Value, lines: JSONTextLines) {
    let value = try parse(text)
    var reader = JSONLineReader(text)
    return (value, reader.readValue())
  }
}

/// Walks through a JSON text that is known to be valid, and records the lines.
private struct JSONLineReader {
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

  mutating func readValue(nameLine: Int? = nil) -> JSONTextLines {
    skipSpace()
    let line = line
    var members: [TextKey: JSONTextLines] = [:]
    var elements: [JSONTextLines] = []
    switch current {
    case UInt8(ascii: "{"):
      readItems(until: UInt8(ascii: "}")) { reader in
        let nameLine = reader.line
        let name = reader.readScalar()
        reader.skipSpace()
        reader.offset += 1  // the colon
        let value = reader.readValue(nameLine: nameLine)
        if case .string(let name)? = try? JSON.parse(Array(name)) { members[TextKey(name)] = value }
      }
    case UInt8(ascii: "["): readItems(until: UInt8(ascii: "]")) { elements.append($0.readValue()) }
    default: _ = readScalar()
    }
    return JSONTextLines(line: line, nameLine: nameLine ?? line, members: members, elements: elements)
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

  /// The bytes of a text, a number or a word.
  private mutating func readScalar() -> ArraySlice<UInt8> {
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
    return text[start..<min(offset, text.count)]
  }
}
