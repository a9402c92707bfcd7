import CRDTCore

/// `SELECT`.
extension Parser {
  /// The projection as it stands in the text, before FROM says what may qualify a field.
  private enum RawProjection {
    case all(qualifier: Token?)
    case columns([RawColumn])
    case countAll(alias: String?)
  }

  private struct RawColumn {
    var expression: Expression
    var alias: String?
    var start: Token
  }

  mutating func parseSelect() throws(QueryError) -> Select {
    try expect("SELECT")
    let distinct = accept("DISTINCT")
    if !distinct { _ = accept("ALL") }
    let projection = try parseProjection()
    guard accept("FROM") else { throw unexpected(["','", "FROM"]) }
    let collection = try parseCollection()
    var select = Select(collection: collection, distinct: distinct)
    select.projection = try resolve(projection)
    select.predicate = try parseWhere(try parseUseIDs())
    let window = try parseWindow()
    let aliases = columnsByAlias(projection)
    select.order = window.order.map { key in
      guard case .path(let path) = key.expression, path.count == 1, case .key(let name) = path[0],
        let column = aliases[name]
      else { return key }
      return SortKey(expression: column, descending: key.descending)
    }
    select.limit = window.limit
    select.offset = window.offset
    return select
  }

  private mutating func parseProjection() throws(QueryError) -> RawProjection {
    let start = current
    if accept(.star) {
      if at(.comma) { throw mixedStar(start) }
      return .all(qualifier: nil)
    }
    if isQualifiedStar {
      advance()
      advance()
      advance()
      if at(.comma) { throw unsupported("'*' beside other columns", at: start) }
      return .all(qualifier: start)
    }
    if at("COUNT"), peek().kind == .symbol(.openParenthesis), peek(2).kind == .symbol(.star) {
      for _ in 0..<3 { advance() }
      try expect(.closeParenthesis)
      let alias = accept("AS") ? try parseName("a column's name") : nil
      if at(.comma) { throw unsupported("COUNT(*) beside other columns", at: start) }
      return .countAll(alias: alias)
    }
    var columns: [RawColumn] = []
    repeat { columns.append(try parseColumn()) } while accept(.comma)
    return .columns(columns)
  }

  private var isQualifiedStar: Bool {
    switch current.kind {
    case .word, .quoted: peek().kind == .symbol(.dot) && peek(2).kind == .symbol(.star)
    case .string, .integer, .double, .symbol, .end: false
    }
  }

  private func mixedStar(_ token: Token) -> QueryError {
    failure(.unsupported, "unqualified * with other projection elements is not supported", at: token)
  }

  private mutating func parseColumn() throws(QueryError) -> RawColumn {
    let start = current
    if at(.star) { throw mixedStar(start) }
    if isQualifiedStar { throw unsupported("'*' beside other columns") }
    if at("MISSING"), case .word = peek().kind, !isKeyword(peek(), "AS"), !isKeyword(peek(), "FROM"),
      !isKeyword(peek(), "IS")
    {
      throw unsupported("leaving out columns with MISSING")
    }
    let expression = try parseExpression()
    let alias = accept("AS") ? try parseName("a column's name") : nil
    return RawColumn(expression: expression, alias: alias, start: start)
  }

  /// Names the columns, now that the collection and its alias are known.
  private func resolve(_ raw: RawProjection) throws(QueryError) -> Select.Projection {
    switch raw {
    case .all(let qualifier):
      if let qualifier, let name = qualifier.name, name != self.qualifier {
        throw failure(.syntax, "no collection of this query has this name", at: qualifier)
      }
      return .all
    case .countAll(let alias): return .countAll(alias: alias ?? "($1)")
    case .columns(let columns):
      var names: Set<String> = []
      var result: [Select.Column] = []
      for (position, column) in columns.enumerated() {
        let expression = unqualified(column.expression)
        let name = column.alias ?? expression.columnName(at: position)
        guard names.insert(name).inserted else {
          throw failure(.syntax, "two columns have one name: name one of them with AS", at: column.start)
        }
        result.append(Select.Column(expression: expression, name: name))
      }
      return .columns(result)
    }
  }

  /// What ORDER BY may name: columns by their aliases, which come before fields of the same name.
  private func columnsByAlias(_ projection: RawProjection) -> [String: Expression] {
    guard case .columns(let columns) = projection else { return [:] }
    var result: [String: Expression] = [:]
    for column in columns {
      if let alias = column.alias { result[alias] = unqualified(column.expression) }
    }
    return result
  }

  private func unqualified(_ expression: Expression) -> Expression {
    expression.rewritten { node in
      if case .path(let path) = node { .path(unqualified(path)) } else { node }
    }
  }

  /// A path without the collection's name or alias in front of it.
  func unqualified(_ path: FieldPath) -> FieldPath {
    guard path.count > 1, let qualifier, path[0] == .key(qualifier), case .key = path[1] else { return path }
    return Array(path.dropFirst())
  }
}

extension Token {
  /// The name that a word or a name in backticks stands for.
  var name: String? {
    switch kind {
    case .word(let name), .quoted(let name): name
    case .string, .integer, .double, .symbol, .end: nil
    }
  }
}
