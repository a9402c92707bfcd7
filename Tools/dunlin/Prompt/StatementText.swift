/// Statements that arrive line by line: says where each ends.
struct StatementText {
  /// What has been read of the statement at hand, and of what follows it on its last line.
  private(set) var text = ""
  /// The line that the statement began on, from 1.
  private(set) var firstLine = 0
  private var lines = 0

  /// Whether nothing of a statement has been read.
  var isEmpty: Bool { text.allSatisfy(\.isWhitespace) }

  mutating func append(line: String) {
    lines += 1
    if isEmpty { (text, firstLine) = (line, lines) } else { text += "\n" + line }
  }

  /// Takes the next statement that a semicolon ends, without it; `nil` when there is none yet.
  mutating func takeEnded() -> String? {
    guard let end = Self.end(of: text) else { return nil }
    let statement = String(text[..<end])
    text = String(text[text.index(after: end)...])
    firstLine = lines
    if isEmpty { text = "" }
    return statement.allSatisfy(\.isWhitespace) ? takeEnded() : statement
  }

  /// Takes all there is as one statement.
  mutating func takeAll() -> String? {
    defer { text = "" }
    return isEmpty ? nil : text
  }

  mutating func clear() { text = "" }

  /// The first semicolon that stands in no string, name or comment.
  private static func end(of text: String) -> String.Index? {
    let bytes = text.utf8
    var index = bytes.startIndex
    func byte(after place: String.Index) -> UInt8? {
      let next = bytes.index(after: place)
      return next < bytes.endIndex ? bytes[next] : nil
    }
    while index < bytes.endIndex {
      switch bytes[index] {
      case UInt8(ascii: ";"): return index
      case let quote where [UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`")].contains(quote):
        index = closing(quote, in: bytes, from: bytes.index(after: index))
      case UInt8(ascii: "-") where byte(after: index) == UInt8(ascii: "-"):
        index = bytes[index...].firstIndex(of: 0x0A) ?? bytes.endIndex
      case UInt8(ascii: "/") where byte(after: index) == UInt8(ascii: "*"):
        index = closingComment(in: bytes, from: bytes.index(index, offsetBy: 2))
      default: break
      }
      if index < bytes.endIndex { index = bytes.index(after: index) }
    }
    return nil
  }

  private static func closing(
    _ quote: UInt8, in bytes: String.UTF8View, from start: String.Index
  ) -> String.Index {
    var index = start
    while index < bytes.endIndex, bytes[index] != quote {
      // A backslash takes what follows with it, but not in a name.
      if bytes[index] == UInt8(ascii: "\\"), quote != UInt8(ascii: "`") { index = bytes.index(after: index) }
      if index < bytes.endIndex { index = bytes.index(after: index) }
    }
    return index
  }

  private static func closingComment(in bytes: String.UTF8View, from start: String.Index) -> String.Index {
    var index = start
    while index < bytes.endIndex {
      let next = bytes.index(after: index)
      if bytes[index] == UInt8(ascii: "*"), next < bytes.endIndex, bytes[next] == UInt8(ascii: "/") {
        return next
      }
      index = next
    }
    return index
  }
}
