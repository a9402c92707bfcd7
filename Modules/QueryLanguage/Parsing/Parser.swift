import CRDTCore

/// An expression under construction, with the height of its tree.
struct ParsedExpression {
  var expression: Expression
  var depth: Int
  /// The depth of nested arrays and objects at its root.
  var levels = 0
}

/// A position in a query's tokens, and the bounds of both grammars.
///
/// The grammars are extensions: recursive descent for statements, precedence climbing for expressions (Pratt,
/// "Top Down Operator Precedence", POPL 1973). `Limits.expressionDepth` bounds recursion and trees, so no
/// input exhausts the stack.
struct Parser {
  let text: [UInt8]
  let dialect: Lexer.Dialect
  let tokens: [Token]
  private(set) var index = 0
  private var nesting = 0
  private var nodes = 0
  /// The name that may precede a field's name: the collection's alias, or its name when it has none.
  var qualifier: String?
  /// The last word that was read as an alias without AS.
  var impliedAlias: Token?
  /// The meaning of a bare word as the key of an object literal.
  var bareKeys = BareKeys.fields
  /// The greatest depth of nested arrays and objects here.
  var levelLimit = Limits.depth
  /// Whether the statement is for a subscription.
  var isSubscription = false
  /// Whether the text is a query of access rules, whose parameters have names of several parts: `:user.id`.
  var isRule = false
  /// The hint comments whose source is not parsed yet.
  var hintComments: [HintComment]
  var sourceMap: SourceMap

  enum BareKeys {
    /// The field whose value is the key.
    case fields
    /// The key itself.
    case names
    /// An error: keys must be in quotes.
    case refused
  }

  init(_ text: String, dialect: Lexer.Dialect) throws(QueryError) {
    self.text = Array(text.utf8)
    self.dialect = dialect
    self.sourceMap = SourceMap(self.text)
    (self.tokens, self.hintComments) = try Lexer.tokens(of: self.text, dialect: dialect)
  }

  // MARK: Tokens

  var current: Token { tokens[index] }

  /// The token `distance` ahead; after the end it is the end token.
  func peek(_ distance: Int = 1) -> Token { tokens[min(index + distance, tokens.count - 1)] }

  mutating func advance() {
    if index < tokens.count - 1 { index += 1 }
  }

  /// Whether a token is this keyword, given in upper case; keywords do not depend on case.
  func isKeyword(_ token: Token, _ keyword: String) -> Bool {
    guard case .word = token.kind, token.end - token.start == keyword.utf8.count else { return false }
    return zip(text[token.start..<token.end], keyword.utf8).allSatisfy { $0 | 0x20 == $1 | 0x20 }
  }

  func at(_ keyword: String) -> Bool { isKeyword(current, keyword) }

  func at(_ symbol: Token.Symbol) -> Bool { current.kind == .symbol(symbol) }

  mutating func accept(_ keyword: String) -> Bool {
    guard at(keyword) else { return false }
    advance()
    return true
  }

  mutating func accept(_ symbol: Token.Symbol) -> Bool {
    guard at(symbol) else { return false }
    advance()
    return true
  }

  mutating func expect(_ keyword: String) throws(QueryError) {
    guard accept(keyword) else { throw unexpected([keyword]) }
  }

  mutating func expect(_ symbol: Token.Symbol) throws(QueryError) {
    guard accept(symbol) else { throw unexpected(["'\(symbol.rawValue)'"]) }
  }

  // MARK: Errors

  func failure(_ code: QueryError.Code, _ message: String, at token: Token? = nil) -> QueryError {
    let place = token ?? current
    return QueryError(code, message, at: place.start, of: text, found: place.shown)
  }

  /// A syntax error: the current token is not an expected one.
  ///
  /// - Parameters:
  ///   - expected: The tokens that are allowed here.
  ///   - words: Further allowed words; if the current word is near one of them, that one is suggested.
  /// - Returns: The error, with the position, and a hint about the other language or the nearest word.
  func unexpected(_ expected: [String], near words: [String] = []) -> QueryError {
    let list =
      expected.count > 1
      ? expected.dropLast().joined(separator: ", ") + " or " + (expected.last ?? "") : expected.first ?? ""
    return QueryError(
      .syntax, "expected \(list), found \(current.shown)" + (otherLanguageHint ?? hint(expected + words)),
      at: current.start, of: text, found: current.shown, expected: expected)
  }

  func unsupported(_ feature: String, at token: Token? = nil) -> QueryError {
    failure(.unsupported, "\(feature) is not supported", at: token)
  }

  // MARK: Bounds

  /// Runs `body` one level deeper.
  mutating func nested<Result>(
    _ body: (inout Parser) throws(QueryError) -> Result
  ) throws(QueryError) -> Result {
    guard nesting < Limits.expressionDepth else {
      throw failure(.limit, "the query is nested deeper than \(Limits.expressionDepth) levels")
    }
    nesting += 1
    defer { nesting -= 1 }
    return try body(&self)
  }

  /// A node whose children are `below`.
  mutating func node(
    _ expression: Expression, above below: [ParsedExpression] = []
  ) throws(QueryError) -> ParsedExpression {
    try count(1)
    let depth = below.reduce(0) { max($0, $1.depth) } + 1
    guard depth <= Limits.expressionDepth else {
      throw failure(.limit, "the query is nested deeper than \(Limits.expressionDepth) levels")
    }
    return ParsedExpression(expression: expression, depth: depth)
  }

  /// An array or an object with the elements `parts`.
  mutating func container(
    _ expression: Expression, of parts: [ParsedExpression]
  ) throws(QueryError) -> ParsedExpression {
    var parsed = try node(expression, above: parts)
    parsed.levels = parts.reduce(0) { max($0, $1.levels) } + 1
    guard parsed.levels <= levelLimit else {
      throw failure(.limit, "a value is nested deeper than \(Limits.depth) levels")
    }
    return parsed
  }

  /// A node that can fail when it is evaluated; its position is recorded.
  mutating func operation(
    _ expression: Expression, above below: [ParsedExpression], at place: Int
  ) throws(QueryError) -> ParsedExpression {
    sourceMap.note(.operation(expression), at: place)
    return try node(expression, above: below)
  }

  /// Adds to the count of nodes.
  mutating func count(_ added: Int) throws(QueryError) {
    nodes += added
    guard nodes <= Limits.queryNodes else {
      throw failure(.limit, "the query has more than \(Limits.queryNodes) nodes")
    }
  }
}
