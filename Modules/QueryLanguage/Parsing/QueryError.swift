public import CRDTCore

/// A query that cannot be understood or run.
///
/// `message` never contains a document's contents or a literal of the query. `description` also shows the
/// wrong line of the query, and the id of the document on which it failed.
public struct QueryError: CodedError, Hashable {
  /// The kind of the mistake, for use in code.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// The text is not a query of its language.
    public static let syntax = Code(rawValue: "syntax")
    /// The text is understood, but it uses a feature that this engine does not support.
    public static let unsupported = Code(rawValue: "unsupported")
    /// No function has this name.
    public static let unknownFunction = Code(rawValue: "unknownFunction")
    /// No system parameter has this name.
    public static let unknownParameter = Code(rawValue: "unknownParameter")
    /// An argument is missing, or its value does not fit where it is used.
    public static let argument = Code(rawValue: "argument")
    /// The query is too long, too deep or too large, or it needs too much work.
    public static let limit = Code(rawValue: "limit")
    /// A document with this id exists, and the statement declares this a failure.
    public static let conflict = Code(rawValue: "conflict")
    /// The statement took longer than allowed.
    public static let timeout = Code(rawValue: "timeout")
    /// The statement was cancelled before it had written anything.
    public static let cancelled = Code(rawValue: "cancelled")
    /// The query failed while it ran.
    public static let runtime = Code(rawValue: "runtime")
  }

  /// A position in the query's text.
  public struct Position: Hashable, Sendable {
    /// UTF-8 bytes from the start of the text.
    public var offset: Int
    /// The line, from 1.
    public var line: Int
    /// The column in Unicode scalars, from 1.
    public var column: Int

    public init(offset: Int, line: Int, column: Int) {
      self.offset = offset
      self.line = line
      self.column = column
    }
  }

  public let code: Code
  /// One sentence, in English, without a trailing full stop.
  public private(set) var message: String
  /// The position in the text; `nil` for errors that have none.
  public private(set) var position: Position?
  /// The text that was found, where it differs from what was expected.
  public let found: String?
  /// The alternatives that were expected.
  public let expected: [String]
  /// The line of the text, cut to the surroundings of the position, with a caret below it.
  public private(set) var excerpt: String?
  /// The document on which the query failed; `nil` for other errors.
  public private(set) var document: DocumentID?
  /// The part of the query that failed, as it was evaluated.
  private(set) var origin: Expression?

  public init(
    _ code: Code, _ message: String, position: Position? = nil, found: String? = nil, expected: [String] = [],
    excerpt: String? = nil, origin: Expression? = nil
  ) {
    self.code = code
    self.message = message
    self.position = position
    self.found = found
    self.expected = expected
    self.excerpt = excerpt
    self.origin = origin
  }
}

extension QueryError {
  /// An error at a position of a text; it computes the line, column and excerpt.
  ///
  /// - Parameters:
  ///   - code: The kind of mistake.
  ///   - message: One sentence without a full stop.
  ///   - offset: UTF-8 bytes from the start of the text; clamped to it.
  ///   - text: The whole text.
  ///   - found: The text that was found.
  ///   - expected: The alternatives that were expected.
  init(
    _ code: Code, _ message: String, at offset: Int, of text: [UInt8], found: String? = nil,
    expected: [String] = []
  ) {
    let offset = min(max(offset, 0), text.count)
    var line = 1
    var lineStart = 0
    for index in 0..<offset where text[index] == UInt8(ascii: "\n") {
      line += 1
      lineStart = index + 1
    }
    let before = text[lineStart..<offset]
    let column = before.count(where: { $0 & 0xC0 != 0x80 }) + 1
    self.init(
      code, message, position: Position(offset: offset, line: line, column: column), found: found,
      expected: expected, excerpt: Self.excerpt(of: text, lineStart: lineStart, offset: offset))
  }

  /// At most 40 bytes on either side of the position, and a caret below it.
  private static func excerpt(of text: [UInt8], lineStart: Int, offset: Int) -> String {
    let reach = 40
    var start = max(lineStart, offset - reach)
    while start < offset, text[start] & 0xC0 == 0x80 { start += 1 }
    var end = offset
    while end < text.count, end - offset < reach, text[end] != UInt8(ascii: "\n") { end += 1 }
    while end > offset, end < text.count, text[end] & 0xC0 == 0x80 { end -= 1 }
    let printable = text[start..<end].map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: " ") : $0 }
    let indent = text[start..<offset].count(where: { $0 & 0xC0 != 0x80 })
    return String(decoding: printable, as: UTF8.self) + "\n" + String(repeating: " ", count: indent) + "^"
  }
}

extension QueryError {
  /// The same error with words before its message.
  func prefixed(_ words: String) -> QueryError {
    var copy = self
    copy.message = "\(words): \(message)"
    return copy
  }
}

extension QueryError {
  /// The same error at a position of a text.
  func located(at offset: Int, of text: [UInt8]) -> QueryError {
    let place = QueryError(code, message, at: offset, of: text)
    var copy = self
    (copy.position, copy.excerpt) = (place.position, place.excerpt)
    return copy
  }

  /// The same error, as one about a document.
  ///
  /// An error that is already about a document, a timeout and a cancellation stay as they are.
  package func about(_ id: RawSpan) -> QueryError {
    if document != nil || code == .timeout || code == .cancelled { return self }
    var copy = self
    copy.document = DocumentID(copying: id)
    return copy
  }
}

extension QueryError {
  // text: the names are literals of this package.
  package var context: [String: String] {
    // text: the names are literals of this package.
    var context: [String: String] = [:]
    if let position {
      context["line"] = "\(position.line)"
      context["column"] = "\(position.column)"
    }
    if let document { context["document"] = JSON.text(of: document.value) }
    if !expected.isEmpty { context["expected"] = expected.joined(separator: ", ") }
    context["excerpt"] = excerpt
    return context
  }
}

extension QueryError: CustomStringConvertible {
  /// The message with the document that it concerns, without the position in the text.
  package var sentence: String {
    guard let document else { return message }
    return "\(message), in the document \(JSON.text(of: document.value).prefix(128))"
  }

  public var description: String {
    var text = sentence
    if let position { text += " (line \(position.line), column \(position.column))" }
    if let excerpt { text += "\n" + excerpt }
    return text
  }
}
