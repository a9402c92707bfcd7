import CRDTCore

/// The SQL-like language: statements in, syntax trees out.
public enum DQL {
  /// Parses one statement; a semicolon may end it.
  ///
  /// Keywords do not depend on case, names do. A name that is a keyword must be in backticks. Where dialects
  /// differ, this grammar is strict: unary minus binds tightest, and no field is set twice in one statement.
  ///
  /// - Throws: `QueryError` with the position and what was expected: `syntax`, `unsupported`,
  ///   `unknownFunction`, `argument`, or `limit` (`Limits.queryBytes`, `.depth`, `.queryNodes`).
  public static func parse(_ text: String) throws(QueryError) -> Statement {
    try parseLocated(text).statement
  }

  /// Parses one statement, and records the positions of its parts.
  package static func parseLocated(_ text: String) throws(QueryError) -> ParsedStatement {
    var parser = try Parser(text, dialect: .dql)
    let statement = try parser.parseStatement()
    try parser.expectStatementEnd()
    return ParsedStatement(statement: statement, sourceMap: parser.sourceMap)
  }

  /// Parses a subscription's statement; an unsupported feature is refused before any other error.
  static func parseSubscription(_ text: String) throws(QueryError) -> Statement {
    var parser = try Parser(text, dialect: .dql)
    parser.isSubscription = true
    let statement = try parser.parseStatement()
    try parser.expectStatementEnd()
    return statement
  }

  /// Parses an expression alone, as after WHERE.
  package static func parseExpression(_ text: String) throws(QueryError) -> Expression {
    var parser = try Parser(text, dialect: .dql)
    let expression = try parser.parseExpression()
    try parser.expectStatementEnd()
    return try Binder(.rows, parser.sourceMap).bindWithAggregates(expression)
  }
}

extension Parser {
  private static let statements = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "EVICT", "CREATE INDEX", "DROP INDEX", "ALTER SYSTEM", "SHOW",
    "EXPLAIN", "PROFILE", "ADVISE",
  ]

  /// The words that begin the clauses after a collection.
  private static let clauses = [
    "JOIN", "LEFT", "RIGHT", "INNER", "USE", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "UNION",
    "INTERSECT", "EXCEPT", "SET", "UNSET", "ASC", "DESC", "WITH", "LIST", "ON", "APPLY", "RETURNING",
    "DOCUMENTS", "VALUES", "INITIAL",
  ]

  mutating func parseStatement() throws(QueryError) -> Statement {
    if accept("EXPLAIN") { return .explain(try parseExamined()) }
    if accept("PROFILE") { return .profile(try parseExamined()) }
    if accept("ADVISE") {
      let provisioning = at("AND")
      if provisioning {
        advance()
        try expect("PROVISION")
      }
      return .advise(try parseExamined(), provisioning: provisioning)
    }
    return try parseExecutable()
  }

  /// Parses the operand of EXPLAIN, PROFILE and ADVISE: any statement but these.
  private mutating func parseExamined() throws(QueryError) -> Statement {
    for word in ["EXPLAIN", "PROFILE", "ADVISE"] where at(word) {
      throw unexpected(Array(Self.statements.dropLast(3)))
    }
    return try parseExecutable()
  }

  private mutating func parseExecutable() throws(QueryError) -> Statement {
    if at("SELECT") || beginsParenthesizedQuery { return try parseQueryStatement() }
    if at("INSERT") { return .insert(try parseInsert()) }
    if at("UPDATE") { return .update(try parseUpdate()) }
    if accept("DELETE") || accept("TOMBSTONE") { return .delete(try parseRemoval()) }
    if accept("EVICT") { return .evict(try parseRemoval()) }
    if at("CREATE") { return .createIndex(try parseCreateIndex()) }
    if at("DROP") { return .dropIndex(try parseDropIndex()) }
    if at("ALTER") { return .alterSystem(try parseAlterSystem()) }
    if accept("SHOW") { return .show(try parseShow()) }
    if at("WITH") { throw unsupported("WITH, which names queries before a statement,") }
    throw unexpected(Self.statements, near: ["ALTER", "CREATE", "DROP"])
  }

  private var beginsParenthesizedQuery: Bool {
    var distance = 0
    while peek(distance).kind == .symbol(.openParenthesis) { distance += 1 }
    return distance > 0 && isKeyword(peek(distance), "SELECT")
  }

  /// Accepts the end of the text after a complete statement.
  mutating func expectStatementEnd() throws(QueryError) {
    if at(.openParenthesis), tokens[max(index - 1, 0)].name != nil {
      throw failure(
        .syntax, "expected the end of the query, found '(': types of fields are declared after COLLECTION")
    }
    _ = accept(.semicolon)
    guard current.kind == .end else { throw unexpected(["the end of the query"], near: Self.clauses) }
  }

  // MARK: What statements share

  func refuseInSubscription(_ feature: String, at token: Token) throws(QueryError) {
    if isSubscription { throw failure(.unsupported, "Unsupported feature: \(feature)", at: token) }
  }

  /// A name: a bare word that is not a keyword, or anything in backticks.
  ///
  /// - Parameters:
  ///   - role: The purpose of the name, for errors.
  ///   - keyword: A keyword that is allowed as a name here, since it begins nothing else.
  /// - Returns: The name.
  /// - Throws: `syntax` where there is no name.
  mutating func parseName(_ role: String, or keyword: String? = nil) throws(QueryError) -> String {
    switch current.kind {
    case .quoted(let name):
      advance()
      return name
    case .word(let word):
      if ReservedWords.all.contains(word.uppercased()), keyword.map(word.uppercased().isSame) != true {
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

  mutating func parseWhere(_ ids: Expression?) throws(QueryError) -> Expression? {
    guard accept("WHERE") else { return ids }
    let predicate = try parseExpression()
    return ids.map { .and([$0, predicate]) } ?? predicate
  }

  /// `ORDER BY`, `LIMIT` and `OFFSET`, each at most once, in any order.
  mutating func parseWindow() throws(QueryError) -> Window {
    var window = Window()
    while true {
      if window.order.isEmpty, accept("ORDER") {
        try expect("BY")
        repeat {
          let key = try parseExpression()
          window.order.append(SortKey(expression: key, descending: try parseDirection()))
        } while accept(.comma)
      } else if window.limit == nil, accept("LIMIT") {
        window.limit = try parseRowCount("LIMIT")
      } else if window.offset == nil, accept("OFFSET") {
        window.offset = try parseRowCount("OFFSET")
      } else {
        return window
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
