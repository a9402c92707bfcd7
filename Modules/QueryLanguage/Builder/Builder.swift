import CRDTCore

/// The language of `find`: `color == 'red' && mileage > $args.m`.
public enum Builder {
  /// Parses one predicate.
  ///
  /// From the tightest: `!`, comparisons, `&&`, `||`. The functions are `starts_with`, `ends_with`,
  /// `contains` (an array and an element), `regex` and `decimal` (the number of a text). Comparing with
  /// `==` and `!=` takes a missing value for null, and null equals null; `!` is true unless its operand is
  /// true. The order operators are those of DQL: false-like for null, missing, and values of two types. The
  /// word `true` alone matches every document.
  ///
  /// - Throws: `QueryError` with the place and what was expected: `syntax`, `unsupported`,
  ///   `unknownFunction`, `argument`, or `limit`.
  public static func parse(_ text: String) throws(QueryError) -> Expression {
    do {
      return try parsePredicate(text)
    } catch {
      throw error.prefixed("query compilation failed")
    }
  }

  private static func parsePredicate(_ text: String) throws(QueryError) -> Expression {
    var parser = try Parser(text, dialect: .builder)
    return try parsePredicate(&parser)
  }

  /// Parses the one predicate that a parser's text is.
  static func parsePredicate(_ parser: inout Parser) throws(QueryError) -> Expression {
    let expression = try parser.parseBuilderOr().expression
    guard parser.current.kind == .end else { throw parser.builderTail() }
    return expression
  }
}

extension Parser {
  /// The error for text after a complete predicate.
  fileprivate func builderTail() -> QueryError {
    if at(.equal) { return unexpected(["'=='"]) }
    return unexpected(["'&&'", "'||'", "the end of the query"])
  }

  fileprivate mutating func parseBuilderOr() throws(QueryError) -> ParsedExpression {
    try nested { (parser) throws(QueryError) in
      let first = try parser.parseBuilderAnd()
      guard parser.at(.concatenate) else { return first }
      var terms = [first]
      while parser.accept(.concatenate) { terms.append(try parser.parseBuilderAnd()) }
      return try parser.node(.or(terms.map(\.expression)), above: terms)
    }
  }

  private mutating func parseBuilderAnd() throws(QueryError) -> ParsedExpression {
    let first = try parseBuilderComparison()
    guard at(.doubleAmpersand) else { return first }
    var terms = [first]
    while accept(.doubleAmpersand) { terms.append(try parseBuilderComparison()) }
    return try node(.and(terms.map(\.expression)), above: terms)
  }

  private mutating func parseBuilderComparison() throws(QueryError) -> ParsedExpression {
    let left = try parseBuilderOperand()
    guard case .symbol(let symbol) = current.kind, let comparison = Self.builderComparison(symbol) else {
      return left
    }
    advance()
    let right = try parseBuilderOperand()
    if case .symbol(let next) = current.kind, Self.builderComparison(next) != nil {
      throw failure(.syntax, "comparisons do not chain: join them with '&&'")
    }
    return try node(.binary(comparison, left.expression, right.expression), above: [left, right])
  }

  private static func builderComparison(_ symbol: Token.Symbol) -> BinaryOperator? {
    switch symbol {
    case .doubleEqual: .same
    case .notEqual: .notSame
    case .less: .less
    case .lessOrEqual: .lessOrEqual
    case .greater: .greater
    case .greaterOrEqual: .greaterOrEqual
    case .plus, .minus, .star, .slash, .percent, .equal, .shiftLeft, .shiftRight, .concatenate,
      .doubleAmpersand,
      .bang, .openParenthesis, .closeParenthesis, .openBracket, .closeBracket, .openBrace, .closeBrace,
      .comma,
      .dot, .colon, .semicolon, .dollar, .arrow:
      nil
    }
  }

  private mutating func parseBuilderOperand() throws(QueryError) -> ParsedExpression {
    switch current.kind {
    case .string(let string):
      advance()
      return try node(.literal(.string(string)))
    case .integer, .double, .symbol(.minus): return try parseBuilderNumber()
    case .symbol(.bang):
      advance()
      let operand = try nested { (parser) throws(QueryError) in try parser.parseBuilderOperand() }
      return try node(.unary(.isNotTrue, operand.expression), above: [operand])
    case .symbol(.openParenthesis):
      advance()
      let inner = try parseBuilderOr()
      try expect(.closeParenthesis)
      return inner
    case .symbol(.dollar): return try parseBuilderArgument()
    case .symbol(.openBracket) where !bracketsBeginPath: return try parseBuilderArray()
    case .symbol(.openBracket), .quoted: return try node(.path(try parseBuilderPath()))
    case .word(let word): return try parseBuilderWord(word)
    case .symbol, .end: throw unexpected(["an expression"])
    }
  }

  /// Whether the bracket here begins a path, as in `['x y'].b`, and not an array.
  private var bracketsBeginPath: Bool {
    guard case .string = peek().kind else { return false }
    return peek(2).kind == .symbol(.closeBracket)
  }

  /// Parses an array such as `['blue', 'red']`.
  ///
  /// One text alone is an array as the first operand of `contains`; elsewhere it is a path.
  private mutating func parseBuilderArray() throws(QueryError) -> ParsedExpression {
    try expect(.openBracket)
    var elements: [ParsedExpression] = []
    if !at(.closeBracket) {
      repeat { elements.append(try parseBuilderElement()) } while accept(.comma)
    }
    guard accept(.closeBracket) else { throw unexpected(["','", "']'"]) }
    return try container(.array(elements.map(\.expression)), of: elements)
  }

  private mutating func parseBuilderElement() throws(QueryError) -> ParsedExpression {
    switch current.kind {
    case .string, .integer, .double, .symbol(.minus), .symbol(.dollar): return try parseBuilderOperand()
    case .symbol(.openBracket):
      return try nested { (parser) throws(QueryError) in try parser.parseBuilderArray() }
    case .word(let word):
      guard let constant = Self.builderConstant(word) else { break }
      advance()
      return try node(constant)
    case .quoted, .symbol, .end: break
    }
    throw unexpected(["a text", "a number", "true", "false", "null", "an argument", "an array"])
  }

  private static func builderConstant(_ word: String) -> Expression? {
    switch TextKey(word) {
    case "true": .literal(.bool(true))
    case "false": .literal(.bool(false))
    case "null": .literal(.null)
    default: nil
    }
  }

  private mutating func parseBuilderNumber() throws(QueryError) -> ParsedExpression {
    let negative = accept(.minus)
    switch current.kind {
    case .integer(let magnitude):
      guard magnitude < 1 << 63 || negative && magnitude == 1 << 63 else {
        throw failure(.argument, "a number exceeds 64 bits")
      }
      advance()
      return try node(.literal(.int(Int64(truncatingIfNeeded: negative ? 0 &- magnitude : magnitude))))
    case .double(let value):
      advance()
      return try node(.literal(.double(negative ? -value : value)))
    case .word, .quoted, .string, .symbol, .end: throw unexpected(["a number"])
    }
  }

  /// `$args.name`; a dollar sign has no other meaning.
  private mutating func parseBuilderArgument() throws(QueryError) -> ParsedExpression {
    let dollar = current
    advance()
    guard case .word(let word) = current.kind, word.isSame(as: "args"), current.start == dollar.end else {
      throw failure(.syntax, "a dollar sign begins nothing but $args: it cannot stand in a path", at: dollar)
    }
    advance()
    if accept(.openBracket) {
      guard case .string(let name) = current.kind else { throw unexpected(["an argument's name in quotes"]) }
      advance()
      try expect(.closeBracket)
      sourceMap.note(.parameter(TextKey(name)), at: dollar.start)
      return try node(.parameter(TextKey(name)))
    }
    try expect(.dot)
    guard let name = current.name else { throw unexpected(["an argument's name"]) }
    advance()
    let whole = parseParameterParts(after: name)
    sourceMap.note(.parameter(whole), at: dollar.start)
    return try node(.parameter(whole))
  }

  private mutating func parseBuilderWord(_ word: String) throws(QueryError) -> ParsedExpression {
    if let constant = Self.builderConstant(word) {
      advance()
      return try node(constant)
    }
    if peek().kind == .symbol(.openParenthesis) { return try parseBuilderCall(word) }
    return try node(.path(try parseBuilderPath()))
  }

  private mutating func parseBuilderCall(_ word: String) throws(QueryError) -> ParsedExpression {
    let functions: [TextKey: Function] = [
      "starts_with": .startsWith, "ends_with": .endsWith, "contains": .arrayContains, "regex": .regexpLike,
      "decimal": .decimal,
    ]
    let start = current
    guard let function = functions[word] else {
      throw failure(
        .unknownFunction,
        "there is no function '\(word.prefix(64))' here: the functions are starts_with, ends_with, contains, regex "
          + "and decimal"
      )
    }
    advance()
    try expect(.openParenthesis)
    let isList = function == .arrayContains && at(.openBracket) && peek(3).kind == .symbol(.comma)
    let first = try isList ? parseBuilderArray() : parseBuilderOr()
    if function == .decimal {
      guard accept(.closeParenthesis) else {
        throw at(.comma) ? failure(.argument, "'\(word)' takes 1 argument", at: start) : unexpected(["')'"])
      }
      return try node(.call(function, [first.expression]), above: [first])
    }
    guard accept(.comma) else {
      throw at(.closeParenthesis)
        ? failure(.argument, "'\(word)' takes 2 arguments", at: start) : unexpected(["','"])
    }
    let second = try parseBuilderOr()
    try expect(.closeParenthesis)
    return try node(.call(function, [first.expression, second.expression]), above: [first, second])
  }

  /// A path: `a.b`, `a['x-y']`, `a[0]["_123"]`, `['x y']`, `` `x y`.b ``.
  private mutating func parseBuilderPath() throws(QueryError) -> FieldPath {
    guard accept(.openBracket) else { return try parseSteps(after: parseFieldName()) }
    guard case .string(let key) = current.kind else { throw unexpected(["a key in quotes"]) }
    advance()
    try expect(.closeBracket)
    return try parseSteps(after: TextKey(key))
  }
}
