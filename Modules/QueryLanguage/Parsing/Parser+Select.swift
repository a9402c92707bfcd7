import CRDTCore

/// `SELECT`, alone and combined by set operators.
extension Parser {
  /// Parses a query with its order and bounds.
  mutating func parseSelect() throws(QueryError) -> Select {
    let raw = try parseQuery()
    return try Binder.bind(raw, try parseWindow(), sourceMap)
  }

  /// Parses a query without its order and bounds, which may belong to the compound query around it.
  private mutating func parseQuery() throws(QueryError) -> RawSelect {
    try count(1)
    try expect("SELECT")
    let distinct = accept("DISTINCT")
    if !distinct { _ = accept("ALL") }
    let projection = try parseProjection()
    let hasSource = accept("FROM")
    guard hasSource || endsProjection(current) else {
      throw unexpected(["','", "FROM"], near: ["AS"] + (distinct ? [] : ["DISTINCT"]))
    }
    var select: Select
    var ids: Expression?
    if hasSource {
      let (source, condition) = try parseSource()
      (select, ids) = (Select(from: source, distinct: distinct), condition)
      var sources = [source]
      while let join = try parseJoin(after: sources) {
        select.joins.append(join)
        sources.append(join.source)
      }
    } else {
      var source = Source(SystemCollection.prefix + SystemCollection.dual.rawValue)
      takeHintComments(into: &source.hints)
      select = Select(from: source, distinct: distinct)
    }
    select.predicate = try parseWhere(ids)
    if at("GROUP") {
      try refuseInSubscription("Grouping", at: current)
      advance()
      try expect("BY")
      repeat { select.groups.append(try parseExpression()) } while accept(.comma)
    }
    if at("HAVING") {
      try refuseInSubscription("HAVING", at: current)
      advance()
      select.having = try parseExpression()
    }
    return RawSelect(select: select, projection: projection, hasSource: hasSource)
  }

  /// Whether a token other than FROM may follow a projection.
  private func endsProjection(_ token: Token) -> Bool {
    switch token.kind {
    case .end, .symbol(.semicolon), .symbol(.closeParenthesis): true
    case .word: Self.wordsAfterProjection.contains { isKeyword(token, $0) }
    case .quoted, .string, .integer, .double, .symbol: false
    }
  }

  private static let wordsAfterProjection = [
    "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT", "ON", "RETURNING",
  ]

  // MARK: Set operators

  /// One side of a set operator; a side in parentheses is complete.
  private enum Operand {
    case open(RawSelect)
    case complete(CompoundSelect)
  }

  /// Parses queries with UNION, INTERSECT and EXCEPT between them; INTERSECT binds tighter.
  mutating func parseQueryStatement() throws(QueryError) -> Statement {
    var operands = 0
    let first = try parseIntersections(&operands)
    if operands == 1, case .open(let raw) = first, !at("UNION"), !at("EXCEPT") {
      return .select(try Binder.bind(raw, try parseWindow(), sourceMap))
    }
    var body = try closed(first)
    while at("UNION") || at("EXCEPT") {
      let symbol: CompoundSelect.SetOperator = at("UNION") ? .union : .except
      advance()
      let all = acceptAll()
      body = .combined(symbol, all: all, body, try closed(try parseIntersections(&operands)))
    }
    let window = try parseWindow()
    let order = try Binder(.rows, sourceMap).bind(window.order)
    if case .select(let select) = body, window.isEmpty { return .select(select) }
    return .compound(CompoundSelect(body, order: order, limit: window.limit, offset: window.offset))
  }

  private mutating func parseIntersections(_ operands: inout Int) throws(QueryError) -> Operand {
    let first = try parseOperand(&operands)
    guard at("INTERSECT") else { return first }
    var body = try closed(first)
    while accept("INTERSECT") {
      let all = acceptAll()
      body = .combined(.intersect, all: all, body, try closed(try parseOperand(&operands)))
    }
    return .complete(CompoundSelect(body))
  }

  /// `[ALL | DISTINCT]` after a set operator.
  private mutating func acceptAll() -> Bool {
    if accept("ALL") { return true }
    _ = accept("DISTINCT")
    return false
  }

  private mutating func parseOperand(_ operands: inout Int) throws(QueryError) -> Operand {
    operands += 1
    guard operands <= Limits.depth else {
      throw failure(.limit, "the statement combines more than \(Limits.depth) queries")
    }
    guard accept(.openParenthesis) else { return .open(try parseQuery()) }
    let start = current
    let inner = try nested { (parser) throws(QueryError) in try parser.parseQueryStatement() }
    try expect(.closeParenthesis)
    switch inner {
    case .select(let select): return .complete(CompoundSelect(.select(select)))
    case .compound(let compound)
    where compound.order.isEmpty && compound.limit == nil && compound.offset == nil:
      return .complete(compound)
    default:
      throw failure(
        .unsupported, "an order or bounds of combined queries in parentheses are not supported", at: start)
    }
  }

  private func closed(_ operand: Operand) throws(QueryError) -> CompoundSelect.Operand {
    switch operand {
    case .open(let raw): .select(try Binder.bind(raw, Window(), sourceMap))
    case .complete(let compound): compound.body
    }
  }

  // MARK: Projections

  /// `*`, or columns, `name.*` and `MISSING path` with commas between them.
  mutating func parseProjection() throws(QueryError) -> RawProjection {
    var projection = RawProjection()
    repeat { projection.elements.append(try parseElement()) } while accept(.comma)
    return projection
  }

  private mutating func parseElement() throws(QueryError) -> RawProjection.Element {
    let start = current
    if accept(.star) { return .all(start) }
    if start.name != nil, peek().kind == .symbol(.dot), peek(2).kind == .symbol(.star) {
      for _ in 0..<3 { advance() }
      return .star(start)
    }
    if at("MISSING"), beginsPath(peek()) {
      advance()
      return .without(try parsePath(), start)
    }
    let expression = try parseExpression()
    let hasAlias = accept("AS") || isColumnAlias(after: expression)
    return .column(expression, alias: hasAlias ? try parseName("a column's name") : nil, start)
  }

  /// Whether the current token is a column's name without AS.
  ///
  /// It is one only where the element ends behind it, and where the word before it is no mistyped keyword. So
  /// most mistyped words are still errors.
  private func isColumnAlias(after expression: Expression) -> Bool {
    guard beginsPath(current) else { return false }
    if case .path(let path) = expression, path.count == 1, case .key(let name) = path[0],
      NameDistance.nearest(to: name.text.uppercased(), among: ["DISTINCT", "EXISTS"], reach: 1) != nil
    {
      return false
    }
    let next = peek()
    return next.kind == .symbol(.comma) || isKeyword(next, "FROM") || endsProjection(next)
  }

  /// Whether a token is a name, and not an operator or the next clause.
  private func beginsPath(_ token: Token) -> Bool {
    switch token.kind {
    case .quoted: true
    case .word(let word): !ReservedWords.all.contains(word.uppercased()) && !isKeyword(token, "COLLATE")
    case .string, .integer, .double, .symbol, .end: false
    }
  }
}

extension Token {
  /// The name of a word token, or of a name in backticks.
  var name: String? {
    switch kind {
    case .word(let name), .quoted(let name): name
    case .string, .integer, .double, .symbol, .end: nil
    }
  }
}
