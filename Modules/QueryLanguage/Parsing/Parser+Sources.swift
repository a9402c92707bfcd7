import CRDTCore

/// The collections that statements name, with their aliases, types and hints.
extension Parser {
  /// The most joins of one query.
  static let maximumJoins = 10

  /// `[COLLECTION] name [(types)] [[AS] alias] [USE …]`, or `system:name`.
  ///
  /// - Returns: The source, and the test of ids that is equivalent to USE IDS.
  mutating func parseSource(allowsAlias: Bool = true) throws(QueryError) -> (source: Source, ids: Expression?)
  {
    if at(.openParenthesis), isKeyword(peek(), "SELECT") {
      throw unsupported("a query in place of a collection")
    }
    let isDeclared = accept("COLLECTION")
    var source = Source(try parseCollectionName())
    if isDeclared, at(.openParenthesis) { source.types = try parseTypes() }
    if allowsAlias {
      if accept("AS") {
        source.alias = TextKey(try parseName("an alias"))
      } else if isAlias(current) {
        impliedAlias = current
        source.alias = TextKey(try parseName("an alias"))
      }
    }
    qualifier = source.name
    let ids = try parseUses(of: &source)
    takeHintComments(into: &source.hints)
    return (source, ids)
  }

  mutating func parseCollectionName() throws(QueryError) -> String {
    let start = current
    var name = try parseName("a collection's name (an identifier)")
    if at(.colon), isKeyword(start, "SYSTEM") {
      advance()
      name = SystemCollection.prefix + (try parseName("a system collection's name"))
    }
    guard (1...Limits.collectionNameBytes).contains(name.utf8.count), !name.utf8.contains(0) else {
      throw failure(
        .argument, "a collection's name has 1 to \(Limits.collectionNameBytes) bytes, none of them zero",
        at: start)
    }
    sourceMap.note(.collection(TextKey(name)), at: start.start)
    return name
  }

  /// Whether a bare word after a collection is its alias and not the next clause.
  private func isAlias(_ token: Token) -> Bool {
    switch token.kind {
    case .quoted: true
    case .word(let word):
      !ReservedWords.all.contains(word.uppercased())
        && !["NATURAL", "UNSET", "INITIAL", "DOCUMENTS"].contains(where: { isKeyword(token, $0) })
        && !(isKeyword(token, "USE") && beginsUse)
    case .string, .integer, .double, .symbol, .end: false
    }
  }

  /// Whether the tokens after USE can only be an operand of USE.
  private var beginsUse: Bool {
    if ["IDS", "INDEX", "DIRECTIVES"].contains(where: { isKeyword(peek(), $0) }) { return true }
    guard case .word = peek().kind, case .string = peek(2).kind else { return false }
    return true
  }

  // MARK: USE

  /// `USE IDS …`, `USE INDEX …` and `USE DIRECTIVES …`, each at most once, in any order.
  private mutating func parseUses(of source: inout Source) throws(QueryError) -> Expression? {
    var ids: Expression?
    while at("USE") {
      advance()
      let clause = current
      if ids == nil, accept("IDS") {
        try refuseInSubscription("USE IDS", at: clause)
        ids = .in(.path([.key(TextKey(source.name)), .key("_id")]), try parseIDs(), negated: false)
      } else if source.hints.indexes == nil, accept("INDEX") {
        source.hints.indexes = try parseIndexNames()
      } else if accept("DIRECTIVES") {
        guard case .string(let text) = current.kind else { throw unexpected(["directives in quotes"]) }
        do {
          source.hints.take(try Hints(directives: text))
        } catch {
          throw failure(error.code, error.message)
        }
        advance()
      } else {
        guard !["IDS", "INDEX"].contains(where: { isKeyword(clause, $0) }) else {
          throw failure(.syntax, "a collection has this clause twice")
        }
        throw unexpected(["IDS", "INDEX", "DIRECTIVES"])
      }
    }
    return ids
  }

  private mutating func parseIDs() throws(QueryError) -> Expression {
    let isList = accept("LIST")
    if !isList, at(.openParenthesis) {
      throw failure(.syntax, "expected ids without parentheses, or LIST and an array")
    }
    if !isList, case .word = current.kind,
      peek().kind == .symbol(.colon) || peek().kind == .symbol(.openBracket)
    {
      throw unexpected(["an id", "LIST"])
    }
    let ids = try parsePrimary().expression
    guard !isList else { return try Binder(.nothing("USE IDS"), sourceMap).bind(ids, in: "USE IDS") }
    var list = [ids]
    while accept(.comma) { list.append(try parsePrimary().expression) }
    return .array(try Binder(.nothing("USE IDS"), sourceMap).bind(list, in: "USE IDS"))
  }

  /// Names of indexes; the empty name alone means no index.
  private mutating func parseIndexNames() throws(QueryError) -> [TextKey] {
    var names: [TextKey] = []
    repeat {
      guard case .string(let name) = current.kind else { throw unexpected(["an index's name in quotes"]) }
      advance()
      if !name.isEmpty { names.append(TextKey(name)) }
    } while accept(.comma)
    return names
  }

  // MARK: Joins

  /// One `JOIN … ON …`; `nil` where none begins.
  mutating func parseJoin(after sources: [Source]) throws(QueryError) -> Join? {
    let start = current
    let kind: Join.Kind
    if accept("LEFT") {
      kind = .left
    } else if accept("RIGHT") {
      kind = .right
    } else if accept("INNER") || at("JOIN") {
      kind = .inner
    } else {
      for word in ["FULL", "CROSS", "NATURAL"] where at(word) { throw unsupported("\(word) JOIN") }
      return nil
    }
    let hasOuter = kind != .inner && accept("OUTER")
    guard accept("JOIN") else { throw unexpected(kind == .inner || hasOuter ? ["JOIN"] : ["OUTER", "JOIN"]) }
    if kind == .right, sources.count > 1 {
      throw failure(
        .unsupported, "RIGHT OUTER join that isn't the first join is not supported", at: start)
    }
    guard sources.count <= Self.maximumJoins else {
      throw failure(.limit, "Too many joins: a query has at most \(Self.maximumJoins)", at: start)
    }
    let name = current
    let (source, ids) = try parseSource()
    guard !sources.contains(where: { $0.name.isSame(as: source.name) }) else {
      throw failure(.syntax, "two sources have one name: give one of them an alias", at: name)
    }
    try expect("ON")
    let condition = try parseExpression()
    return Join(kind, source, on: ids.map { .and([$0, condition]) } ?? condition)
  }
}
