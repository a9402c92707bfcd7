import CRDTCore

/// `INSERT`, `DELETE`, `EVICT`.
extension Parser {
  mutating func parseInsert() throws(QueryError) -> Insert {
    try expect("INSERT")
    try expect("INTO")
    let target = try parseSource(allowsAlias: false).source
    var insert = Insert(into: target, .documents([]))
    insert.initial = accept("INITIAL")
    if at("SELECT") {
      if insert.initial {
        throw failure(.syntax, "expected DOCUMENTS or VALUES: INITIAL takes documents, not a query")
      }
      insert.content = .query(try parseSelect())
    } else {
      guard accept("DOCUMENTS") || accept("VALUES") else {
        throw unexpected(["DOCUMENTS", "VALUES"] + (insert.initial ? [] : ["SELECT", "INITIAL"]))
      }
      insert.content = .documents(try parseDocuments())
    }
    let clause = current
    if let conflict = try parseConflict() {
      if insert.initial { throw failure(.syntax, "INITIAL documents take no ON ID CONFLICT", at: clause) }
      insert.conflict = conflict
    }
    insert.returning = try parseReturning(target)
    return insert
  }

  /// `(document), (document), …`; the documents read no fields.
  private mutating func parseDocuments() throws(QueryError) -> [Expression] {
    let context = "a document"
    bareKeys = .refused
    // The levels of an array of documents and of a document's own map do not count.
    levelLimit = Limits.depth + 2
    defer { levelLimit = Limits.depth }
    var documents: [Expression] = []
    repeat {
      try expect(.openParenthesis)
      documents.append(try parseExpression())
      try expect(.closeParenthesis)
    } while accept(.comma)
    bareKeys = .fields
    return try Binder(.nothing(context), sourceMap).bind(documents, in: context)
  }

  private mutating func parseConflict() throws(QueryError) -> Insert.Conflict? {
    guard accept("ON") else { return nil }
    try expect("ID")
    try expect("CONFLICT")
    let hasDo = accept("DO")
    if accept("FAIL") { return .fail }
    if hasDo {
      if accept("NOTHING") { return .doNothing }
      if accept("UPDATE_LOCAL_DIFF") { return .doUpdateLocalDiff }
      if accept("UPDATE") { return .doUpdate }
    }
    throw unexpected(
      hasDo ? ["FAIL", "NOTHING", "UPDATE", "UPDATE_LOCAL_DIFF"] : ["FAIL", "DO"])
  }

  /// `[RETURNING projection]`.
  mutating func parseReturning(_ target: Source) throws(QueryError) -> Select.Projection? {
    guard accept("RETURNING") else { return nil }
    let projection = try parseProjection()
    return try Binder(.sources([target]), sourceMap).returning(projection, target)
  }

  /// Parses the text after DELETE and EVICT.
  mutating func parseRemoval() throws(QueryError) -> Removal {
    try expect("FROM")
    let (target, ids) = try parseSource()
    let predicate = try parseWhere(ids)
    let window = try parseWindow()
    let binder = Binder(.sources([target]), sourceMap)
    var removal = Removal(
      from: target, predicate: try binder.bindIfAny(predicate, in: "WHERE"),
      order: try binder.bind(window.order),
      limit: window.limit, offset: window.offset, returning: try parseReturning(target))
    removal.target.dropAlias(unlessReadBy: removal.expressions)
    return removal
  }
}
