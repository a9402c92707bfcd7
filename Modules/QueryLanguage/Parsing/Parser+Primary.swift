import CRDTCore

/// Operands of DQL: literals, parameters, paths, calls, CASE, arrays and objects.
extension Parser {
  mutating func parsePrimary() throws(QueryError) -> ParsedExpression {
    let token = current
    switch token.kind {
    case .string(let string):
      advance()
      return try node(.literal(.string(string)))
    case .integer(let magnitude):
      guard let value = Int64(exactly: magnitude) else {
        throw failure(.argument, "a number exceeds 64 bits")
      }
      advance()
      return try node(.literal(.int(value)))
    case .double(let value):
      advance()
      return try node(.literal(.double(value)))
    case .symbol(.colon): return try parseParameter()
    case .symbol(.openBracket): return try parseArray()
    case .symbol(.openBrace): return try parseObject()
    case .symbol(.openParenthesis):
      advance()
      if at("SELECT") {
        throw failure(
          .unsupported,
          "a query as a value (a scalar subquery) is not supported: IN (SELECT …) and EXISTS (SELECT …) are")
      }
      let inner = try parseOperators(above: 0)
      try expect(.closeParenthesis)
      return inner
    case .quoted(let name):
      if peek().kind == .symbol(.openParenthesis), Function(name: name.lowercased()) != nil {
        return try parseCall(name)
      }
      return try parseField()
    case .word(let word):
      if let constant = try parseWordOperand() { return constant }
      if peek().kind == .symbol(.openParenthesis) { return try parseCall(word) }
      return try parseField()
    case .symbol, .end: throw unexpected(["an expression"])
    }
  }

  /// `:name`; the name follows the colon directly and may be a keyword, or in backticks.
  private mutating func parseParameter() throws(QueryError) -> ParsedExpression {
    let next = peek()
    guard let name = next.name, next.start == current.end else {
      advance()
      throw unexpected(["a parameter's name"])
    }
    let start = current.start
    advance()
    advance()
    let whole = parseParameterParts(after: name)
    sourceMap.note(.parameter(whole), at: start)
    return try node(.parameter(whole))
  }

  /// Parses the further parts of a parameter's name in access rules: `.id` in `:user.id`.
  ///
  /// - Parameter first: The part before the current token.
  /// - Returns: The parts, joined by points; outside of rules the first part alone.
  mutating func parseParameterParts(after first: String) -> TextKey {
    var name = first
    while isRule, at(.dot), current.start == tokens[max(index - 1, 0)].end, let part = peek().name,
      peek().start == current.end
    {
      name += "." + part
      advance()
      advance()
    }
    return TextKey(name)
  }

  /// Parses an operand that begins with a keyword.
  private mutating func parseWordOperand() throws(QueryError) -> ParsedExpression? {
    let constants: [(String, Expression)] = [
      ("TRUE", .literal(.bool(true))), ("FALSE", .literal(.bool(false))), ("NULL", .literal(.null)),
      ("MISSING", .missing),
    ]
    for (word, constant) in constants where accept(word) { return try node(constant) }
    if at("CASE") { return try parseCase() }
    let place = current.start
    if accept("EXISTS") { return try parseExists(at: place) }
    guard let comprehension = try parseComprehension() else { return nil }
    sourceMap.note(.operation(comprehension.expression), at: place)
    return comprehension
  }

  /// `EXISTS array` or `EXISTS (SELECT …)`.
  private mutating func parseExists(at place: Int) throws(QueryError) -> ParsedExpression {
    if at(.openParenthesis), isKeyword(peek(), "SELECT") {
      return try node(.existsQuery(try parseInnerQuery(after: "EXISTS")))
    }
    let operand = try nested { (parser) throws(QueryError) in try parser.parsePrimary() }
    return try operation(.call(.exists, [operand.expression]), above: [operand], at: place)
  }

  private mutating func parseField() throws(QueryError) -> ParsedExpression {
    let start = current
    let path = try parsePath()
    sourceMap.note(.path(path), at: start.start)
    return try node(.path(path))
  }

  /// Parses `name.name[0]['name']…`; after a dot any word is a name.
  mutating func parsePath() throws(QueryError) -> FieldPath {
    try parseSteps(after: TextKey(parseName("an expression (or a field's name)", or: "COLLECTION")))
  }

  /// Parses the steps of a path that begins with `first`.
  mutating func parseSteps(after first: TextKey) throws(QueryError) -> FieldPath {
    var path: FieldPath = [.key(first)]
    while true {
      if accept(.dot) {
        path.append(.key(try parseFieldName()))
      } else if accept(.openBracket) {
        path.append(try parseSubscript())
        try expect(.closeBracket)
      } else {
        break
      }
      guard path.count <= Limits.pathSteps else {
        throw failure(.limit, "the path is longer than \(Limits.pathSteps) steps")
      }
    }
    return path
  }

  /// Parses a field's name, which may be any word.
  mutating func parseFieldName() throws(QueryError) -> TextKey {
    guard let name = current.name else { throw unexpected(["a field's name"]) }
    advance()
    return TextKey(name)
  }

  /// Parses the content of a path's brackets: a key in quotes, or an index.
  mutating func parseSubscript() throws(QueryError) -> PathComponent {
    switch current.kind {
    case .string(let key):
      advance()
      return .key(TextKey(key))
    case .integer(let magnitude):
      guard let index = Int(exactly: magnitude) else { throw failure(.argument, "an index exceeds 64 bits") }
      advance()
      return .index(index)
    case .word, .quoted, .double, .symbol, .end: throw unexpected(["a key in quotes", "an index"])
    }
  }

  private mutating func parseArray() throws(QueryError) -> ParsedExpression {
    try expect(.openBracket)
    var elements: [ParsedExpression] = []
    if !at(.closeBracket) {
      repeat { elements.append(try parseOperators(above: 0)) } while accept(.comma)
    }
    try expect(.closeBracket)
    return try container(.array(elements.map(\.expression)), of: elements)
  }

  private mutating func parseObject() throws(QueryError) -> ParsedExpression {
    try expect(.openBrace)
    var members: [ObjectMember] = []
    var parts: [ParsedExpression] = []
    var keys: Set<TextKey> = []
    if !at(.closeBrace) {
      repeat {
        let start = current
        let key = try parseKey()
        if case .literal(.string(let name)) = key.expression {
          guard keys.insert(TextKey(name)).inserted else {
            throw failure(.syntax, "an object has a key twice", at: start)
          }
        } else {
          parts.append(key)
        }
        try expect(.colon)
        let value = try parseOperators(above: 0)
        parts.append(value)
        members.append(ObjectMember(key: key.expression, value: value.expression))
      } while accept(.comma)
    }
    try expect(.closeBrace)
    return try container(.object(members), of: parts)
  }

  /// A key in quotes, or an expression whose value is the key.
  private mutating func parseKey() throws(QueryError) -> ParsedExpression {
    if case .string(let key) = current.kind, peek().kind == .symbol(.colon) {
      advance()
      return ParsedExpression(expression: .literal(.string(key)), depth: 1)
    }
    switch (bareKeys, current.kind) {
    case (.names, .word(let name)), (.names, .quoted(let name)):
      advance()
      return ParsedExpression(expression: .literal(.string(name)), depth: 1)
    case (.fields, .word), (.fields, .quoted): return try parseOperators(above: 0)
    case (.refused, .word), (.refused, .quoted):
      throw QueryError(
        .syntax, "the keys of an object stand in quotes", at: current.start, of: text, found: current.shown,
        expected: ["a key in quotes"])
    case (_, .string), (_, .integer), (_, .double), (_, .symbol), (_, .end):
      throw unexpected(["a key in quotes"])
    }
  }

  /// A simple CASE becomes a searched CASE, which compares the operand in each branch.
  private mutating func parseCase() throws(QueryError) -> ParsedExpression {
    try expect("CASE")
    let operand = at("WHEN") ? nil : try parseOperators(above: 0)
    let operandNodes = operand?.expression.nodeCount ?? 0
    var clauses: [WhenClause] = []
    var parts: [ParsedExpression] = []
    guard at("WHEN") else { throw unexpected(["WHEN"]) }
    while accept("WHEN") {
      var condition = try parseOperators(above: 0)
      if let operand {
        try count(operandNodes)
        condition = try node(
          .binary(.equal, operand.expression, condition.expression), above: [operand, condition])
      }
      try expect("THEN")
      let result = try parseOperators(above: 0)
      parts += [condition, result]
      clauses.append(WhenClause(condition: condition.expression, result: result.expression))
    }
    var otherwise: Expression?
    if accept("ELSE") {
      let parsed = try parseOperators(above: 0)
      parts.append(parsed)
      otherwise = parsed.expression
    }
    guard accept("END") else { throw unexpected(["WHEN", "ELSE", "END"]) }
    return try node(.case(clauses, otherwise: otherwise), above: parts)
  }
}
