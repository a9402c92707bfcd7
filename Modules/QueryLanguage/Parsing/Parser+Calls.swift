import CRDTCore

/// Function calls of DQL, including the forms that have words between their arguments.
extension Parser {
  mutating func parseCall(_ word: String) throws(QueryError) -> ParsedExpression {
    let start = current
    let name = word.lowercased()
    if let aggregate = Aggregate(rawValue: name) { return try parseAggregate(aggregate) }
    guard var function = Function(name: name) else {
      if ReservedWords.all.contains(word.uppercased()) { throw unexpected(["an expression"]) }
      throw failure(
        .unknownFunction,
        "there is no function '\(word.prefix(64))'" + NameDistance.hint(for: name, among: Self.functionNames))
    }
    advance()
    try expect(.openParenthesis)
    let arguments = try parseArguments(of: &function, isKeyword(start, "POSITION"))
    try expect(.closeParenthesis)
    try check(arguments, of: function, at: start)
    return try operation(.call(function, arguments.map(\.expression)), above: arguments, at: start.start)
  }

  private static let functionNames = Function.allCases.map(\.rawValue) + Aggregate.allCases.map(\.rawValue)

  // MARK: Aggregates

  /// `COUNT(*)`, or `name([DISTINCT] expression)`.
  private mutating func parseAggregate(_ aggregate: Aggregate) throws(QueryError) -> ParsedExpression {
    let start = current
    advance()
    try expect(.openParenthesis)
    if aggregate == .count, accept(.star) {
      try expect(.closeParenthesis)
      return try aggregateNode(.aggregate(.count, distinct: false, nil), [], at: start)
    }
    let distinct = accept("DISTINCT")
    if !distinct { _ = accept("ALL") }
    let operand = try parseOperators(above: 0)
    guard operand.expression.firstAggregate == nil else {
      throw failure(.syntax, "an aggregate cannot stand inside another", at: start)
    }
    if at(.comma) {
      throw failure(.argument, "'\(aggregate.rawValue)' takes 1 argument", at: start)
    }
    try expect(.closeParenthesis)
    return try aggregateNode(
      .aggregate(aggregate, distinct: distinct, operand.expression), [operand], at: start)
  }

  private mutating func aggregateNode(
    _ expression: Expression, _ below: [ParsedExpression], at start: Token
  ) throws(QueryError) -> ParsedExpression {
    sourceMap.note(.aggregate(expression), at: start.start)
    return try node(expression, above: below)
  }

  // MARK: Functions

  private func check(_ arguments: [ParsedExpression], of function: Function, at start: Token)
    throws(QueryError)
  {
    let (least, most) = (function.arity.lowerBound, function.arity.upperBound)
    guard arguments.count >= least, arguments.count <= most else {
      let wanted =
        most == .max ? "at least \(least)" : least == most ? "\(least)" : "\(least) to \(most)"
      throw failure(
        .argument, "'\(function.rawValue)' takes \(wanted) arguments, not \(arguments.count)", at: start)
    }
    if function == .cast, case .literal(.string(let type)) = arguments[1].expression,
      CastType(name: type) == nil
    {
      let hint = NameDistance.hint(for: type, among: CastType.names)
      throw failure(
        .argument, "'cast' knows the types boolean, integer, float, string and binary" + hint,
        at: tokens[max(index - 2, 0)])
    }
  }

  private mutating func parseArguments(
    of function: inout Function, _ isPosition: Bool
  ) throws(QueryError) -> [ParsedExpression] {
    if at(.closeParenthesis) { return [] }
    if function == .trim { return try parseTrim(&function) }
    var arguments: [ParsedExpression]
    if isPosition {
      arguments = [try parseOperators(above: Precedence.comparison)]
      if accept("IN") { return [try parseOperators(above: 0), arguments[0]] }
    } else {
      arguments = [try parseOperators(above: 0)]
    }
    if function == .cast, accept("AS") {
      guard let name = current.name else { throw unexpected(["a type's name"]) }
      advance()
      return [arguments[0], try node(.literal(.string(name.lowercased())))]
    }
    while accept(.comma) { arguments.append(try parseOperators(above: 0)) }
    return arguments
  }

  /// `TRIM([BOTH | LEADING | TRAILING] [x] FROM s)`, or the arguments of an ordinary call.
  private mutating func parseTrim(_ function: inout Function) throws(QueryError) -> [ParsedExpression] {
    let sides: [(String, Function)] = [("BOTH", .trim), ("LEADING", .leftTrim), ("TRAILING", .rightTrim)]
    var hasSide = false
    // If one of these words is the name of a field, no operand follows it.
    if beginsOperand(peek()) {
      for (word, side) in sides where accept(word) {
        function = side
        hasSide = true
        break
      }
    }
    if hasSide, accept("FROM") { return [try parseOperators(above: 0)] }
    var arguments = [try parseOperators(above: 0)]
    if accept("FROM") { return [try parseOperators(above: 0), arguments[0]] }
    if hasSide { throw unexpected(["FROM"]) }
    while accept(.comma) { arguments.append(try parseOperators(above: 0)) }
    guard at(.closeParenthesis) else {
      throw unexpected(["','", "FROM", "')'"], near: sides.map(\.0))
    }
    return arguments
  }

  /// Whether a token may begin an operand, or is FROM without an operand before it.
  private func beginsOperand(_ token: Token) -> Bool {
    switch token.kind {
    case .quoted, .string, .integer, .double, .symbol(.colon): true
    case .word(let word): isKeyword(token, "FROM") || !Self.infixWords.contains(word.uppercased())
    case .symbol, .end: false
    }
  }

  private static let infixWords: Set<TextKey> = [
    "AND", "OR", "XOR", "NOT", "IS", "IN", "BETWEEN", "LIKE", "ILIKE", "SIMILAR", "COLLATE",
  ]
}
