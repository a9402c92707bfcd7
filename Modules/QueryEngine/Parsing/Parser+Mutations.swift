import CRDTCore

/// `INSERT`, `UPDATE`, `DELETE`, `EVICT`.
extension Parser {
  mutating func parseInsert() throws(QueryError) -> Insert {
    try expect("INSERT")
    try expect("INTO")
    var insert = Insert(into: Source(try parseCollection(allowsAlias: false)), .documents([]))
    insert.initial = accept("INITIAL")
    if at("SELECT") { throw unsupported("INSERT … SELECT") }
    guard accept("DOCUMENTS") || accept("VALUES") else {
      throw unexpected(insert.initial ? ["DOCUMENTS", "VALUES"] : ["DOCUMENTS", "VALUES", "INITIAL"])
    }
    constantContext = "a document"
    var documents: [Expression] = []
    repeat {
      try expect(.openParenthesis)
      documents.append(try parseExpression())
      try expect(.closeParenthesis)
    } while accept(.comma)
    insert.content = .documents(documents)
    constantContext = nil
    let clause = current
    if let conflict = try parseConflict() {
      if insert.initial { throw failure(.syntax, "INITIAL documents take no ON ID CONFLICT", at: clause) }
      insert.conflict = conflict
    }
    return insert
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

  mutating func parseUpdate() throws(QueryError) -> Update {
    try expect("UPDATE")
    var update = Update(collection: try parseCollection())
    let ids = try parseUseIDs()
    var changed: Set<[String]> = []
    let start = current
    if accept("APPLY") {
      repeat { update.applications.append(try parseApplication(&changed)) } while accept(.comma)
    }
    if accept("SET") {
      repeat { update.assignments.append(try parseAssignment(&changed)) } while accept(.comma)
    }
    if accept("UNSET") {
      repeat { update.removals.append(try parseTarget(&changed)) } while accept(.comma)
    }
    guard !changed.isEmpty else {
      throw QueryError(
        .syntax, "expected APPLY, SET or UNSET, found \(start.shown)", at: start.start, of: text,
        found: start.shown, expected: ["APPLY", "SET", "UNSET"])
    }
    for word in ["APPLY", "SET", "UNSET"] where at(word) {
      throw failure(.syntax, "the clauses of UPDATE stand once each, in the order APPLY, SET, UNSET")
    }
    update.predicate = try parseWhere(ids)
    return update
  }

  private mutating func parseAssignment(_ changed: inout Set<[String]>) throws(QueryError)
    -> Update.Assignment
  {
    let path = try parseTarget(&changed)
    if at(.arrow) { throw unsupported("the arrow form of SET") }
    try expect(.equal)
    return Update.Assignment(path: path, value: try parseExpression())
  }

  private mutating func parseApplication(_ changed: inout Set<[String]>) throws(QueryError)
    -> Update.Application
  {
    let path = try parseTarget(&changed)
    if accept("INCREMENT") || accept("PN_INCREMENT") {
      try expect("BY")
      return Update.Application(path: path, operation: .increment(try parseExpression()))
    }
    guard accept("RESTART") else { throw unexpected(["INCREMENT BY", "PN_INCREMENT BY", "RESTART"]) }
    let value = accept("WITH") ? try parseExpression() : .literal(.int(0))
    return Update.Application(path: path, operation: .restart(value))
  }

  /// A field to change: keys only, not the id, and each path once.
  private mutating func parseTarget(_ changed: inout Set<[String]>) throws(QueryError) -> [String] {
    let start = current
    var keys: [String] = []
    for component in unqualified(try parsePath()) {
      switch component {
      case .key(let key): keys.append(key)
      case .index: throw failure(.unsupported, "changing one element of an array is not supported", at: start)
      }
    }
    if keys.first == "_id" { throw failure(.syntax, "the id of a document cannot be changed", at: start) }
    guard changed.insert(keys).inserted else {
      throw failure(.syntax, "more than one modification specified for the path", at: start)
    }
    return keys
  }

  /// What follows DELETE and EVICT.
  mutating func parseRemoval() throws(QueryError) -> Removal {
    try expect("FROM")
    var removal = Removal(collection: try parseCollection())
    removal.predicate = try parseWhere(try parseUseIDs())
    let window = try parseWindow()
    removal.order = window.order
    removal.limit = window.limit
    removal.offset = window.offset
    return removal
  }
}
