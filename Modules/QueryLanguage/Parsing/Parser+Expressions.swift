import CRDTCore

/// Operators of DQL, by precedence climbing.
extension Parser {
  /// The precedences of operators; every operator associates to the left.
  enum Precedence {
    static let or = 5
    static let xor = 7
    static let and = 10
    static let not = 15
    static let `is` = 17
    static let like = 19
    static let comparison = 20
    static let shift = 22
    static let concatenation = 25
    static let sum = 30
    static let product = 40
    static let collation = 50
  }

  private enum Infix {
    case binary(BinaryOperator)
    case and, or, between, `in`, `is`
    case like(caseInsensitive: Bool)
    case similar, collate
  }

  /// Parses an expression, without binding its names.
  mutating func parseExpression() throws(QueryError) -> Expression {
    try parseOperators(above: 0).expression
  }

  /// Parses an operand, then every operator that binds tighter than `minimum`.
  mutating func parseOperators(above minimum: Int) throws(QueryError) -> ParsedExpression {
    try nested { (parser) throws(QueryError) in
      var left = try parser.parsePrefix()
      var comparison: Int?
      while let (infix, precedence) = parser.infixHere, precedence > minimum {
        let place = parser.current.start
        let isComparison = precedence == Precedence.comparison
        if isComparison, let comparison, let join = parser.join(since: comparison) {
          throw parser.joinedConditions(at: join)
        }
        comparison = isComparison ? parser.index : nil
        left = try parser.parseInfix(infix, precedence, left)
        parser.sourceMap.note(.operation(left.expression), at: place)
      }
      return left
    }
  }

  private mutating func parsePrefix() throws(QueryError) -> ParsedExpression {
    let place = current.start
    if at("NOT") {
      advance()
      let operand = try parseOperators(above: Precedence.not - 1)
      return try operation(.unary(.not, operand.expression), above: [operand], at: place)
    }
    guard at(.minus) else { return try parsePrimary() }
    advance()
    switch current.kind {
    case .integer(let magnitude):
      // The magnitude of the least Int64 is one more than that of the greatest.
      guard magnitude <= 1 << 63 else { throw failure(.argument, "a number exceeds 64 bits") }
      advance()
      return try node(.literal(.int(Int64(truncatingIfNeeded: 0 &- magnitude))))
    case .double(let value):
      advance()
      return try node(.literal(.double(-value)))
    case .word, .quoted, .string, .symbol, .end:
      let operand = try nested { (parser) throws(QueryError) in try parser.parsePrefix() }
      return try operation(.unary(.negate, operand.expression), above: [operand], at: place)
    }
  }

  /// The operator at the current token.
  private var infixHere: (Infix, Int)? {
    switch current.kind {
    case .symbol(let symbol): Self.infix(symbol)
    case .word: wordInfix(at("NOT") ? peek() : current, negated: at("NOT"))
    case .quoted, .string, .integer, .double, .end: nil
    }
  }

  private static func infix(_ symbol: Token.Symbol) -> (Infix, Int)? {
    switch symbol {
    case .star: (.binary(.multiply), Precedence.product)
    case .slash: (.binary(.divide), Precedence.product)
    case .percent: (.binary(.remainder), Precedence.product)
    case .plus: (.binary(.add), Precedence.sum)
    case .minus: (.binary(.subtract), Precedence.sum)
    case .concatenate: (.binary(.concatenate), Precedence.concatenation)
    case .shiftLeft: (.binary(.shiftLeft), Precedence.shift)
    case .shiftRight: (.binary(.shiftRight), Precedence.shift)
    case .equal, .doubleEqual: (.binary(.equal), Precedence.comparison)
    case .notEqual: (.binary(.notEqual), Precedence.comparison)
    case .less: (.binary(.less), Precedence.comparison)
    case .lessOrEqual: (.binary(.lessOrEqual), Precedence.comparison)
    case .greater: (.binary(.greater), Precedence.comparison)
    case .greaterOrEqual: (.binary(.greaterOrEqual), Precedence.comparison)
    case .doubleAmpersand, .bang, .openParenthesis, .closeParenthesis, .openBracket, .closeBracket,
      .openBrace,
      .closeBrace, .comma, .dot, .colon, .semicolon, .dollar, .arrow:
      nil
    }
  }

  private func wordInfix(_ token: Token, negated: Bool) -> (Infix, Int)? {
    if isKeyword(token, "BETWEEN") { return (.between, Precedence.comparison) }
    if isKeyword(token, "IN") { return (.in, Precedence.comparison) }
    if isKeyword(token, "LIKE") { return (.like(caseInsensitive: false), Precedence.like) }
    if isKeyword(token, "ILIKE") { return (.like(caseInsensitive: true), Precedence.like) }
    if isKeyword(token, "SIMILAR") { return (.similar, Precedence.like) }
    if negated { return nil }
    if isKeyword(token, "AND") { return (.and, Precedence.and) }
    if isKeyword(token, "OR") { return (.or, Precedence.or) }
    if isKeyword(token, "XOR") { return (.binary(.xor), Precedence.xor) }
    if isKeyword(token, "IS") { return (.is, Precedence.is) }
    if isKeyword(token, "COLLATE") { return (.collate, Precedence.collation) }
    return nil
  }

  private mutating func parseInfix(
    _ infix: Infix, _ precedence: Int, _ left: ParsedExpression
  ) throws(QueryError) -> ParsedExpression {
    let negated = accept("NOT")
    advance()
    switch infix {
    case .binary(let symbol):
      let right = try parseOperators(above: precedence)
      return try node(.binary(symbol, left.expression, right.expression), above: [left, right])
    case .and:
      let terms = try parseTerms(after: left, separatedBy: "AND", above: precedence)
      return try node(.and(terms.map(\.expression)), above: terms)
    case .or:
      let terms = try parseTerms(after: left, separatedBy: "OR", above: precedence)
      return try node(.or(terms.map(\.expression)), above: terms)
    case .is: return try parseIs(left)
    case .in:
      let start = current
      if at(.openParenthesis), isKeyword(peek(), "SELECT") {
        return try node(
          .inQuery(left.expression, try parseInnerQuery(after: "IN"), negated: negated), above: [left])
      }
      let list = at(.openParenthesis) ? try parseList() : try parseOperators(above: precedence)
      // An operator there is probably a mistake, and could not be distinguished from a list in parentheses.
      guard !list.expression.isOperation else {
        throw failure(.syntax, "expected a list, a parameter, a path or a function after IN", at: start)
      }
      return try node(.in(left.expression, list.expression, negated: negated), above: [left, list])
    case .between:
      let low = try parseOperators(above: precedence)
      try expect("AND")
      let high = try parseOperators(above: precedence)
      return try node(
        .between(left.expression, low: low.expression, high: high.expression, negated: negated),
        above: [left, low, high])
    case .like(let caseInsensitive):
      let (parts, escape) = try parsePattern(after: left)
      return try node(
        .like(
          left.expression, pattern: parts[1].expression, escape: escape, caseInsensitive: caseInsensitive,
          negated: negated),
        above: parts)
    case .similar:
      try expect("TO")
      let (parts, escape) = try parsePattern(after: left)
      return try node(
        .similar(left.expression, pattern: parts[1].expression, escape: escape, negated: negated),
        above: parts)
    case .collate: return try node(.collate(left.expression, try parseCollation()), above: [left])
    }
  }

  private mutating func parseTerms(
    after first: ParsedExpression, separatedBy word: String, above precedence: Int
  ) throws(QueryError) -> [ParsedExpression] {
    var terms = [first]
    repeat { terms.append(try parseOperators(above: precedence)) } while accept(word)
    return terms
  }

  private mutating func parseIs(_ left: ParsedExpression) throws(QueryError) -> ParsedExpression {
    let negated = accept("NOT")
    if accept("NULL") || accept("UNKNOWN") {
      return try node(.isNull(left.expression, negated: negated), above: [left])
    }
    guard accept("MISSING") else {
      throw unexpected(["NULL", "MISSING", "UNKNOWN"] + (negated ? [] : ["NOT"]))
    }
    return try node(.isMissing(left.expression, negated: negated), above: [left])
  }

  /// `(a, b, …)` after IN: its elements are compared, even if one of them is an array.
  private mutating func parseList() throws(QueryError) -> ParsedExpression {
    try expect(.openParenthesis)
    var elements: [ParsedExpression] = []
    repeat { elements.append(try parseOperators(above: 0)) } while accept(.comma)
    try expect(.closeParenthesis)
    return try node(.array(elements.map(\.expression)), above: elements)
  }

  /// A pattern with its escape character.
  private mutating func parsePattern(
    after left: ParsedExpression
  ) throws(QueryError) -> (parts: [ParsedExpression], escape: Expression?) {
    let pattern = try parseOperators(above: Precedence.like)
    guard accept("ESCAPE") else { return ([left, pattern], nil) }
    if case .string(let string) = current.kind, string.unicodeScalars.count != 1 {
      throw failure(.argument, "ESCAPE takes one character")
    }
    let escape = try parsePrimary()
    return ([left, pattern, escape], escape.expression)
  }

  private mutating func parseCollation() throws(QueryError) -> Collation {
    guard let name = current.name else { throw unexpected(["a collation"]) }
    guard let collation = Collation(rawValue: name.lowercased()) else {
      let names = Collation.allCases.map(\.rawValue)
      throw failure(
        .argument,
        "there is no collation '\(name.prefix(64))'" + NameDistance.hint(for: name.lowercased(), among: names)
      )
    }
    advance()
    return collation
  }
}

extension Expression {
  /// Whether the root of the expression is an operator.
  fileprivate var isOperation: Bool {
    switch self {
    case .unary, .binary, .and, .or, .between, .in, .inQuery, .existsQuery, .like, .similar, .isNull,
      .isMissing, .collate:
      true
    case .literal, .missing, .parameter, .path, .field, .variable, .call, .aggregate, .array, .object, .case,
      .quantified, .arrayFor, .objectFor:
      false
    }
  }
}
