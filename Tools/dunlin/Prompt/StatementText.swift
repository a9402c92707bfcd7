/// Statements that arrive line by line: says where each begins and ends.
struct StatementText {
  /// A place in what was read, each from 1; the column counts Unicode scalars.
  struct Place: Hashable {
    var line: Int
    var column: Int

    /// The place behind a text that begins here.
    func moved(over text: Substring) -> Place {
      text.unicodeScalars.reduce(into: self) { place, scalar in
        if scalar == "\n" { place = Place(line: place.line + 1, column: 1) } else { place.column += 1 }
      }
    }

    /// The place of a line and a column of a text that begins here.
    func moved(toLine line: Int, column: Int) -> Place {
      line == 1
        ? Place(line: self.line, column: self.column + column - 1)
        : Place(line: self.line + line - 1, column: column)
    }
  }

  /// A statement, and where it begins.
  struct Statement: Hashable {
    let text: String
    let place: Place

    /// - Parameters:
    ///   - text: The text; spaces before the statement are left out.
    ///   - place: Where the text begins.
    fileprivate init(_ text: Substring, at place: Place) {
      let spaces = text.prefix(while: \.isWhitespace)
      self.text = String(text[spaces.endIndex...])
      self.place = place.moved(over: spaces)
    }
  }

  /// What has been read of the statement at hand, and of what follows it on its last line.
  private(set) var text = ""
  /// Where that begins.
  private var place = Place(line: 1, column: 1)
  private var lines = 0

  /// Whether nothing of a statement has been read.
  var isEmpty: Bool { text.allSatisfy(\.isWhitespace) }

  mutating func append(line: String) {
    let start = skipLine()
    if isEmpty { (text, place) = (line, start) } else { text += "\n" + line }
  }

  /// Counts a line that is no part of a statement.
  ///
  /// - Returns: Where it begins.
  @discardableResult
  mutating func skipLine() -> Place {
    lines += 1
    return Place(line: lines, column: 1)
  }

  /// Takes the next statement that a semicolon ends, without it; `nil` when there is none yet.
  mutating func takeEnded() -> Statement? {
    while let end = Self.end(of: text) {
      let statement = Statement(text[..<end], at: place)
      let next = text.index(after: end)
      place = place.moved(over: text[..<next])
      text = String(text[next...])
      if !statement.text.isEmpty { return statement }
    }
    if isEmpty { text = "" }
    return nil
  }

  /// Takes all there is as one statement.
  mutating func takeAll() -> Statement? {
    defer { text = "" }
    return isEmpty ? nil : Statement(text[...], at: place)
  }

  /// Whether a text has more than one statement.
  static func isSeveral(_ text: String) -> Bool {
    var statements = StatementText()
    statements.append(line: text)
    guard statements.takeEnded() != nil else { return false }
    return !statements.isEmpty
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
