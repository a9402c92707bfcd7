import CRDTCore

/// The SQL-like language: statements in, syntax trees out.
public enum DQL {
  /// Parses one statement; a semicolon may end it.
  ///
  /// Keywords do not depend on case, names do. A name that is a keyword stands in backticks. Where the
  /// grammar of the language is contested, this one is strict: keys of object literals are quoted, unary
  /// minus binds tightest, and no field is set twice in one statement.
  ///
  /// - Throws: `QueryError` with the place and what was expected: `syntax`, `unsupported`,
  ///   `unknownFunction`, `argument`, or `limit` (`Limits.queryBytes`, `.depth`, `.queryNodes`).
  public static func parse(_ text: String) throws(QueryError) -> Statement {
    try parseLocated(text).statement
  }

  /// Parses one statement, and keeps where its parts stand.
  package static func parseLocated(_ text: String) throws(QueryError) -> ParsedStatement {
    var parser = try Parser(text, dialect: .dql)
    let statement = try parser.parseStatement()
    try parser.expectStatementEnd()
    return ParsedStatement(statement: statement, sourceMap: parser.sourceMap)
  }

  /// Parses an expression alone, as it stands after WHERE.
  package static func parseExpression(_ text: String) throws(QueryError) -> Expression {
    var parser = try Parser(text, dialect: .dql)
    let expression = try parser.parseExpression()
    try parser.expectStatementEnd()
    return expression
  }
}

extension Parser {
  private static let statements = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "EVICT", "ALTER", "SHOW", "EXPLAIN",
  ]

  mutating func parseStatement() throws(QueryError) -> Statement {
    if at("SELECT") { return .select(try parseSelect()) }
    if at("INSERT") { return .insert(try parseInsert()) }
    if at("UPDATE") { return .update(try parseUpdate()) }
    if accept("DELETE") { return .delete(try parseRemoval()) }
    if accept("EVICT") { return .evict(try parseRemoval()) }
    if at("ALTER") { return .alterSystem(try parseAlterSystem()) }
    if accept("SHOW") { return .show(try parseShow()) }
    if accept("EXPLAIN") {
      if at("EXPLAIN") { throw unexpected(Self.statements.dropLast()) }
      return .explain(try parseStatement())
    }
    for word in ["PROFILE", "ADVISE", "TOMBSTONE"] where at(word) { throw unsupported(word) }
    if at("CREATE") || at("DROP") {
      let verb = at("CREATE") ? "CREATE INDEX" : "DROP INDEX"
      let start = current
      advance()
      guard at("INDEX") else { throw unexpected(["INDEX"]) }
      throw unsupported(verb, at: start)
    }
    throw unexpected(Self.statements)
  }

  /// Accepts the end; names the features that would stand here and are not supported.
  mutating func expectStatementEnd() throws(QueryError) {
    for word in ["JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL"] where at(word) {
      throw unsupported("JOIN")
    }
    for word in ["UNION", "EXCEPT", "INTERSECT"] where at(word) {
      throw unsupported("combining queries with \(word)")
    }
    if at("GROUP") { throw unsupported("GROUP BY") }
    for word in ["HAVING", "RETURNING", "COLLATE"] where at(word) { throw unsupported(word) }
    if at(.openParenthesis), qualifier != nil, case .word = tokens[max(index - 1, 0)].kind {
      throw unsupported("declaring the types of fields")
    }
    _ = accept(.semicolon)
    guard current.kind == .end else { throw unexpected(["the end of the query"]) }
  }

  // MARK: What statements share

  /// A name: a bare word that is no keyword, or anything in backticks.
  mutating func parseName(_ role: String) throws(QueryError) -> String {
    switch current.kind {
    case .quoted(let name):
      advance()
      return name
    case .word(let word):
      if ReservedWords.all.contains(word.uppercased()) {
        throw QueryError(
          .syntax,
          "expected \(role), found the keyword \(word.uppercased()): put it in backticks to use it as a name",
          at: current.start, of: text, found: current.shown, expected: [role])
      }
      advance()
      return word
    case .string, .integer, .double, .symbol, .end: throw unexpected([role])
    }
  }

  /// `[COLLECTION] name [[AS] alias]`, or `system:name`; it settles what may qualify a field.
  mutating func parseCollection(allowsAlias: Bool = true) throws(QueryError) -> String {
    _ = accept("COLLECTION")
    let start = current
    var name = try parseName("a collection's name (an identifier)")
    if at(.colon), isKeyword(start, "SYSTEM") {
      advance()
      name = "system:" + (try parseName("a system collection's name"))
    }
    guard name.utf8.count <= Limits.collectionNameBytes, !name.utf8.contains(0) else {
      throw failure(
        .argument, "a collection's name has at most \(Limits.collectionNameBytes) bytes, none of them zero",
        at: start)
    }
    qualifier = name
    sourceMap.note(.collection(name), at: start.start)
    if at(.openParenthesis) { throw unsupported("declaring the types of fields") }
    guard allowsAlias else { return name }
    if accept("AS") {
      qualifier = try parseName("an alias")
    } else if isAlias(current) {
      qualifier = try parseName("an alias")
    }
    return name
  }

  /// Whether a bare word after a collection is its alias and not the next clause.
  private func isAlias(_ token: Token) -> Bool {
    switch token.kind {
    case .quoted: true
    case .word(let word):
      !ReservedWords.all.contains(word.uppercased())
        && !["NATURAL", "UNSET", "INITIAL", "DOCUMENTS"].contains(where: { isKeyword(token, $0) })
        && !(isKeyword(token, "USE") && ["IDS", "INDEX", "DIRECTIVES"].contains { isKeyword(peek(), $0) })
    case .string, .integer, .double, .symbol, .end: false
    }
  }

  /// `[USE IDS …] [WHERE …]`, as one predicate; ids become a test of `_id`.
  mutating func parseUseIDs() throws(QueryError) -> Expression? {
    guard at("USE") else { return nil }
    let start = current
    advance()
    guard accept("IDS") else { throw unsupported(at("INDEX") ? "USE INDEX" : "USE DIRECTIVES", at: start) }
    constantContext = "USE IDS"
    defer { constantContext = nil }
    let ids: Expression
    if accept("LIST") {
      ids = try parsePrimary().expression
    } else {
      var list: [Expression] = []
      repeat { list.append(try parsePrimary().expression) } while accept(.comma)
      ids = .array(list)
    }
    return .in(.path([.key("_id")]), ids, negated: false)
  }

  mutating func parseWhere(_ ids: Expression?) throws(QueryError) -> Expression? {
    guard accept("WHERE") else { return ids }
    let predicate = try parseExpression()
    return ids.map { .and([$0, predicate]) } ?? predicate
  }

  /// `ORDER BY`, `LIMIT` and `OFFSET`, each at most once, in any order.
  mutating func parseWindow() throws(QueryError) -> (
    order: [SortKey], limit: Expression?, offset: Expression?
  ) {
    var order: [SortKey] = []
    var limit: Expression?
    var offset: Expression?
    while true {
      if order.isEmpty, accept("ORDER") {
        try expect("BY")
        repeat {
          let key = try parseExpression()
          order.append(SortKey(expression: key, descending: try parseDirection()))
        } while accept(.comma)
      } else if limit == nil, accept("LIMIT") {
        limit = try parseRowCount("LIMIT")
      } else if offset == nil, accept("OFFSET") {
        offset = try parseRowCount("OFFSET")
      } else {
        return (order, limit, offset)
      }
    }
  }

  private mutating func parseDirection() throws(QueryError) -> Bool {
    if accept("DESC") { return true }
    _ = accept("ASC")
    if at("NULLS") { throw unsupported("NULLS FIRST and NULLS LAST") }
    return false
  }

  /// A whole number from zero, or a parameter.
  private mutating func parseRowCount(_ clause: String) throws(QueryError) -> Expression {
    switch current.kind {
    case .integer(let magnitude):
      guard let rows = Int64(exactly: magnitude) else { throw failure(.argument, "\(clause) is too large") }
      advance()
      return .literal(.int(rows))
    case .symbol(.colon): return try parsePrimary().expression
    case .symbol(.minus), .double, .string:
      throw failure(.argument, "\(clause) takes a whole number that is not negative")
    case .symbol, .word, .quoted, .end: throw unexpected(["a whole number", "a parameter"])
    }
  }
}
