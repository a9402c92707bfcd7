import CRDTCore

/// `ANY`, `EVERY`, `ARRAY … FOR` and `OBJECT … FOR`; binding gives their variables slots later.
extension Parser {
  /// Parses a comprehension, which begins with a keyword; `nil` where none begins.
  mutating func parseComprehension() throws(QueryError) -> ParsedExpression? {
    if at("ANY") || at("EVERY") && peek().name != nil { return try parseQuantified() }
    if accept("ARRAY") {
      let element = try parsePart()
      let (iteration, condition, parts) = try parseFor()
      return try node(
        .arrayFor(element.expression, iteration, when: condition), above: [element] + parts)
    }
    guard accept("OBJECT") else { return nil }
    let key = try parsePart()
    try expect(.colon)
    let value = try parsePart()
    let (iteration, condition, parts) = try parseFor()
    return try node(
      .objectFor(key: key.expression, value: value.expression, iteration, when: condition),
      above: [key, value] + parts)
  }

  /// `ANY | EVERY | ANY AND EVERY … SATISFIES condition END`.
  private mutating func parseQuantified() throws(QueryError) -> ParsedExpression {
    var quantifier = Quantifier.every
    if accept("ANY") {
      quantifier = .any
      if accept("AND") {
        try expect("EVERY")
        quantifier = .anyAndEvery
      }
    } else {
      advance()
    }
    let (iteration, source) = try parseIteration()
    try expect("SATISFIES")
    let condition = try parsePart()
    try expect("END")
    return try node(
      .quantified(quantifier, iteration, satisfies: condition.expression), above: [source, condition])
  }

  /// `FOR … [WHEN condition] END`.
  private mutating func parseFor() throws(QueryError) -> (Iteration, Expression?, [ParsedExpression]) {
    try expect("FOR")
    let (iteration, source) = try parseIteration()
    var parts = [source]
    var condition: Expression?
    if accept("WHEN") {
      let parsed = try parsePart()
      parts.append(parsed)
      condition = parsed.expression
    }
    guard accept("END") else { throw unexpected(condition == nil ? ["WHEN", "END"] : ["END"]) }
    return (iteration, condition, parts)
  }

  /// `[position :] element IN | WITHIN source`.
  private mutating func parseIteration() throws(QueryError) -> (Iteration, ParsedExpression) {
    let first = try parseName("a variable's name")
    var position: Variable?
    var element = first
    if accept(.colon) {
      let start = current
      element = try parseName("a variable's name")
      guard !element.isSame(as: first) else {
        throw failure(.syntax, "two variables have one name", at: start)
      }
      position = Variable(first, slot: 0)
    }
    let isDeep = accept("WITHIN")
    guard isDeep || accept("IN") else { throw unexpected(["IN", "WITHIN"]) }
    let source = try parsePart()
    return (
      Iteration(
        position: position, element: Variable(element, slot: 0), source: source.expression, isDeep: isDeep),
      source
    )
  }

  /// Parses an expression inside of a comprehension.
  ///
  /// It may have no aggregates, since they would be over rows, not over elements.
  private mutating func parsePart() throws(QueryError) -> ParsedExpression {
    let start = current
    let part = try parseOperators(above: 0)
    guard part.expression.firstAggregate == nil else {
      throw failure(.syntax, "an aggregate cannot stand inside ANY, EVERY, ARRAY or OBJECT", at: start)
    }
    return part
  }
}
