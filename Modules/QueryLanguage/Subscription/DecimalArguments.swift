package import CRDTCore

/// A query with its arguments, for another peer.
///
/// The wire has no type for decimals. So an argument that is a decimal is sent as its text, and the query
/// makes a decimal of it: `:limit` becomes `decimal(:limit)`.
package struct DecimalArguments {
  package private(set) var text: String
  package let arguments: [TextKey: Value]

  /// Rewrites a statement of DQL that has decimals as arguments.
  ///
  /// - Parameters:
  ///   - text: The statement.
  ///   - arguments: The values of its parameters.
  /// - Throws: What parsing throws; `unsupported` for an array of decimals and other values.
  package init(dql text: String, _ arguments: [TextKey: Value]) throws(QueryError) {
    self.text = text
    self.arguments = arguments.mapValues(\.withoutDecimals)
    guard arguments.values.contains(where: \.holdsDecimal) else { return }
    let starts = try DQL.parseLocated(text).sourceMap.parameters
    let (tokens, _) = try Lexer.tokens(of: Array(text.utf8), dialect: .dql)
    var places: [(start: Int, end: Int, value: Value)] = []
    for (colon, next) in zip(tokens, tokens.dropFirst()) where starts.contains(colon.start) {
      guard let name = next.text, let value = arguments[name] else { continue }
      places.append((colon.start, next.end, value))
    }
    try replace(places, isBuilder: false)
  }

  /// Rewrites a predicate of the builder language that has decimals as arguments.
  ///
  /// In an array, decimals remain texts: `contains` takes them so.
  /// - Parameters:
  ///   - text: The predicate.
  ///   - arguments: The values of its arguments.
  /// - Throws: What reading its words throws.
  package init(builder text: String, _ arguments: [TextKey: Value]) throws(QueryError) {
    self.text = text
    self.arguments = arguments.mapValues(\.withoutDecimals)
    guard arguments.values.contains(where: \.holdsDecimal) else { return }
    let (tokens, _) = try Lexer.tokens(of: Array(text.utf8), dialect: .builder)
    var places: [(start: Int, end: Int, value: Value)] = []
    // `$` `args` `.` `name`, or `$` `args` `[` `'name'` `]`.
    for (index, token) in tokens.enumerated().dropLast(4) where token.kind == .symbol(.dollar) {
      let isQuoted = tokens[index + 2].kind == .symbol(.openBracket)
      guard let name = tokens[index + 3].text, let value = arguments[name] else { continue }
      places.append((token.start, tokens[index + (isQuoted ? 4 : 3)].end, value))
    }
    try replace(places, isBuilder: true)
  }

  /// Rewrites a statement as above; one that does not parse keeps its text, for the other peer to refuse.
  ///
  /// - Parameters:
  ///   - text: The statement.
  ///   - arguments: The values of its parameters.
  /// - Returns: The statement and its arguments.
  /// - Throws: `unsupported` for an array of decimals and other values.
  package static func sent(_ text: String, _ arguments: [TextKey: Value]) throws(QueryError) -> Self {
    do throws(QueryError) {
      return try Self(dql: text, arguments)
    } catch {
      if error.code == .unsupported { throw error }
      return Self(text: text, arguments: arguments.mapValues(\.withoutDecimals))
    }
  }

  private init(text: String, arguments: [TextKey: Value]) {
    self.text = text
    self.arguments = arguments
  }

  /// Replaces the parameters that are decimals; the last one is replaced first.
  private mutating func replace(
    _ places: [(start: Int, end: Int, value: Value)], isBuilder: Bool
  ) throws(QueryError) {
    var bytes = Array(text.utf8)
    for place in places.reversed() where place.value.holdsDecimal {
      let written = String(decoding: bytes[place.start..<place.end], as: UTF8.self)
      switch place.value {
      case .decimal: bytes.replaceSubrange(place.start..<place.end, with: "decimal(\(written))".utf8)
      case .array(let elements) where !isBuilder && elements.contains(where: \.isDecimal):
        guard elements.allSatisfy(\.isDecimal) else {
          throw .unsupported("an array of decimals and other values as an argument for another peer")
        }
        let list = "ARRAY decimal(element) FOR element IN \(written) END"
        bytes.replaceSubrange(place.start..<place.end, with: list.utf8)
      case .null, .bool, .int, .double, .string, .bytes, .counter, .attachment, .array, .map: break
      }
    }
    text = String(decoding: bytes, as: UTF8.self)
  }
}

extension Token {
  /// The text of a word, of a name in backticks, and of a string.
  fileprivate var text: String? {
    if case .string(let text) = kind { text } else { name }
  }
}
