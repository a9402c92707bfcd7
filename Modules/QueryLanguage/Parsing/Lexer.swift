import CRDTCore

/// A hint comment, `/*+ … */` or `--+ …`: its content and its start.
struct HintComment {
  var start: Int
  var text: String
}

/// Splits a query's text into tokens, over its UTF-8 bytes.
///
/// Every input gives tokens or an error, in time linear in its length.
struct Lexer {
  /// The language of the tokens: DQL has comments, the builder language `&&` and `$`.
  enum Dialect { case dql, builder }

  let text: [UInt8]
  let dialect: Dialect
  var offset = 0
  /// The comments that contain hints for the planner.
  private var hints: [HintComment] = []

  private init(_ text: [UInt8], _ dialect: Dialect) {
    self.text = text
    self.dialect = dialect
  }

  /// All tokens of `text`, of which the last one is `.end`, and its hints.
  ///
  /// - Throws: `limit` when the text is longer than `Limits.queryBytes`, `syntax` otherwise.
  static func tokens(of text: [UInt8], dialect: Dialect) throws(QueryError) -> ([Token], [HintComment]) {
    guard text.count <= Limits.queryBytes else {
      throw QueryError(.limit, "the query is longer than \(Limits.queryBytes) bytes")
    }
    var lexer = Lexer(text, dialect)
    var tokens: [Token] = []
    tokens.reserveCapacity(text.count / 4 + 2)
    repeat { tokens.append(try lexer.next()) } while tokens.last?.kind != .end
    return (tokens, lexer.hints)
  }

  /// The byte `distance` ahead; zero at the end, which no token contains.
  func peek(_ distance: Int = 0) -> UInt8 {
    let index = offset + distance
    return index < text.count ? text[index] : 0
  }

  func failure(
    _ message: String, at place: Int? = nil, expected: [String] = []
  ) -> QueryError {
    QueryError(.syntax, message, at: place ?? offset, of: text, expected: expected)
  }

  private mutating func next() throws(QueryError) -> Token {
    try skipBlanks()
    let start = offset
    guard offset < text.count else { return Token(kind: .end, start: start, end: start) }
    let kind = try readKind()
    return Token(kind: kind, start: start, end: offset)
  }

  private mutating func readKind() throws(QueryError) -> Token.Kind {
    let byte = peek()
    if byte.startsWord { return .word(readWord()) }
    if byte.isDigit { return try readNumber() }
    switch byte {
    case UInt8(ascii: "'"), UInt8(ascii: "\""): return .string(try readString(closing: byte))
    case UInt8(ascii: "`"): return .quoted(try readQuotedName())
    default: break
    }
    guard let symbol = readSymbol() else {
      throw failure(
        byte == 0
          ? "a zero byte stands in the query"
          : "this character starts no word of a query" + Self.otherLanguageHint(byte, dialect))
    }
    return .symbol(symbol)
  }

  private mutating func readWord() -> String {
    let start = offset
    while peek().continuesWord { offset += 1 }
    return String(decoding: text[start..<offset], as: UTF8.self)
  }

  private mutating func readSymbol() -> Token.Symbol? {
    if let symbol = Self.symbol(peek(), peek(1)) {
      offset += 2
      return symbol
    }
    guard let symbol = Self.symbol(peek(), dialect) else { return nil }
    offset += 1
    return symbol
  }

  private static func symbol(_ first: UInt8, _ second: UInt8) -> Token.Symbol? {
    switch (Unicode.Scalar(first), Unicode.Scalar(second)) {
    case ("=", "="): .doubleEqual
    case ("!", "="), ("<", ">"): .notEqual
    case ("<", "="): .lessOrEqual
    case (">", "="): .greaterOrEqual
    case ("<", "<"): .shiftLeft
    case (">", ">"): .shiftRight
    case ("|", "|"): .concatenate
    case ("&", "&"): .doubleAmpersand
    case ("-", ">"): .arrow
    default: nil
    }
  }

  private static func symbol(_ byte: UInt8, _ dialect: Dialect) -> Token.Symbol? {
    switch Unicode.Scalar(byte) {
    case "+": .plus
    case "-": .minus
    case "*": .star
    case "/": .slash
    case "%": .percent
    case "=": .equal
    case "<": .less
    case ">": .greater
    case "!": dialect == .builder ? .bang : nil
    case "(": .openParenthesis
    case ")": .closeParenthesis
    case "[": .openBracket
    case "]": .closeBracket
    case "{": .openBrace
    case "}": .closeBrace
    case ",": .comma
    case ".": .dot
    case ":": .colon
    case ";": .semicolon
    case "$": dialect == .builder ? .dollar : nil
    default: nil
    }
  }

  private mutating func skipBlanks() throws(QueryError) {
    while offset < text.count {
      switch (Unicode.Scalar(peek()), Unicode.Scalar(peek(1))) {
      case (" ", _), ("\t", _), ("\n", _), ("\r", _): offset += 1
      case ("-", "-") where dialect == .dql:
        let start = offset
        while offset < text.count, peek() != UInt8(ascii: "\n") { offset += 1 }
        noteHint(in: start..<offset)
      case ("/", "*") where dialect == .dql: try skipBlockComment()
      default: return
      }
    }
  }

  private mutating func skipBlockComment() throws(QueryError) {
    let start = offset
    offset += 2
    while offset < text.count {
      if peek() == UInt8(ascii: "*"), peek(1) == UInt8(ascii: "/") {
        offset += 2
        noteHint(in: start..<offset - 2)
        return
      }
      offset += 1
    }
    throw failure("this comment is never closed", at: start, expected: ["*/"])
  }

  /// Records a comment as a hint if a plus sign follows the two bytes that begin it.
  private mutating func noteHint(in comment: Range<Int>) {
    guard comment.count > 3, text[comment.lowerBound + 2] == UInt8(ascii: "+") else { return }
    hints.append(
      HintComment(
        start: comment.lowerBound,
        text: String(decoding: text[comment.lowerBound + 3..<comment.upperBound], as: UTF8.self)))
  }
}

extension UInt8 {
  /// An ASCII letter or an underscore.
  var startsWord: Bool {
    (self | 0x20) >= UInt8(ascii: "a") && (self | 0x20) <= UInt8(ascii: "z") || self == UInt8(ascii: "_")
  }

  var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

  var continuesWord: Bool { startsWord || isDigit }

  /// The value of a hexadecimal digit.
  var hexDigit: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
