package import CRDTCore

/// `UPDATE`.
extension Parser {
  /// The fields that a statement changes, each of them once.
  private struct Changes {
    let target: Source
    var assignments: [Update.Assignment] = []
    var applications: [Update.Application] = []
    var removals: [[TextKey]] = []
    var paths: Set<[TextKey]> = []
  }

  mutating func parseUpdate() throws(QueryError) -> Update {
    try expect("UPDATE")
    let (target, ids) = try parseSource()
    var changes = Changes(target: target)
    let start = current
    if accept("APPLY") {
      repeat { try parseApplication(&changes) } while accept(.comma)
    }
    if accept("SET") {
      repeat { try parseAssignment(&changes) } while accept(.comma)
    }
    if accept("UNSET") {
      repeat { changes.removals.append(try parseTarget(&changes)) } while accept(.comma)
    }
    guard !changes.paths.isEmpty else {
      let error = unexpected(["APPLY", "SET", "UNSET"])
      throw QueryError(
        .syntax, "Missing SET and/or UNSET clause: " + error.message, at: start.start, of: text,
        found: error.found, expected: error.expected)
    }
    for word in ["APPLY", "SET", "UNSET"] where at(word) {
      throw failure(.syntax, "the clauses of UPDATE stand once each, in the order APPLY, SET, UNSET")
    }
    let predicate = try parseWhere(ids)
    let window = try parseWindow()
    let binder = Binder(.sources([target]), sourceMap)
    var update = Update(
      target, applications: changes.applications, assignments: changes.assignments,
      removals: changes.removals, predicate: try binder.bindIfAny(predicate, in: "WHERE"))
    try update.bind(binder)
    (update.order, update.limit, update.offset) = (try binder.bind(window.order), window.limit, window.offset)
    update.returning = try parseReturning(target)
    update.target.dropAlias(unlessReadBy: update.expressions)
    return update
  }

  private mutating func parseApplication(_ changes: inout Changes) throws(QueryError) {
    let path = try parseTarget(&changes)
    let operation: Update.CounterOperation
    if accept("INCREMENT") || accept("PN_INCREMENT") {
      try expect("BY")
      operation = .increment(try parseExpression())
    } else {
      guard accept("RESTART") else {
        throw unexpected(
          ["INCREMENT BY", "PN_INCREMENT BY", "RESTART"], near: ["INCREMENT", "PN_INCREMENT"])
      }
      operation = .restart(accept("WITH") ? try parseExpression() : .literal(.int(0)))
    }
    changes.applications.append(Update.Application(path: path, operation: operation))
  }

  // MARK: SET

  private mutating func parseAssignment(_ changes: inout Changes) throws(QueryError) {
    let start = current
    let path = try parseTargetPath().unqualified(by: changes.target.name)
    try parseAssignment(to: try keys(of: path, at: start), &changes, at: start)
  }

  /// Parses `= value`, or an older form with an arrow: `-> (…)`, `-> tombstone()`, `-> default()`.
  private mutating func parseAssignment(
    to path: [TextKey], _ changes: inout Changes, at start: Token
  ) throws(QueryError) {
    guard accept(.arrow) else {
      try claim(path, &changes, at: start)
      guard accept(.equal) else { throw unexpected(["'='", "'->'"]) }
      changes.assignments.append(Update.Assignment(path: path, value: try parseExpression()))
      return
    }
    if accept(.openParenthesis) { return try parseMembers(of: path, &changes) }
    let word = current
    guard accept("TOMBSTONE") || accept("DEFAULT") else {
      throw unexpected(["'('", "tombstone()", "default()"], near: ["TOMBSTONE", "DEFAULT"])
    }
    try expect(.openParenthesis)
    try expect(.closeParenthesis)
    try claim(path, &changes, at: start)
    if isKeyword(word, "TOMBSTONE") {
      changes.removals.append(path)
      return
    }
    let value: Expression
    switch changes.target.declaredType(of: path) {
    case .map: value = .object([])
    case .register, nil: value = .literal(.null)
    case .counter, .pnCounter, .attachment:
      throw failure(.syntax, "default() is for fields declared as REGISTER or MAP", at: word)
    }
    changes.assignments.append(Update.Assignment(path: path, value: value))
  }

  /// `name = value, name -> tombstone(), …)`: fields of a map.
  private mutating func parseMembers(of path: [TextKey], _ changes: inout Changes) throws(QueryError) {
    try nested { (parser) throws(QueryError) in
      repeat {
        let start = parser.current
        let member = try parser.parseTargetPath()
        try parser.parseAssignment(
          to: path + (try parser.keys(of: member, at: start)), &changes, at: start)
      } while parser.accept(.comma)
      try parser.expect(.closeParenthesis)
    }
  }

  // MARK: Targets

  private mutating func parseTarget(_ changes: inout Changes) throws(QueryError) -> [TextKey] {
    let start = current
    let path = try keys(of: parseTargetPath().unqualified(by: changes.target.name), at: start)
    try claim(path, &changes, at: start)
    return path
  }

  private mutating func parseTargetPath() throws(QueryError) -> FieldPath {
    try count(1)
    return try parsePath()
  }

  /// The keys of a path that can be changed: the path has only keys, and is not the id.
  private func keys(of path: FieldPath, at start: Token) throws(QueryError) -> [TextKey] {
    var keys: [TextKey] = []
    for component in path {
      switch component {
      case .key(let key): keys.append(key)
      case .index: throw failure(.unsupported, "changing one element of an array is not supported", at: start)
      }
    }
    return keys
  }

  /// Reserves a path for one change.
  private func claim(_ path: [TextKey], _ changes: inout Changes, at start: Token) throws(QueryError) {
    if path.first == "_id" { throw failure(.syntax, "The document id `_id` cannot be modified", at: start) }
    guard changes.paths.insert(path).inserted else {
      throw failure(.syntax, "More than one modification specified for the path", at: start)
    }
  }
}

extension Update {
  /// Binds the values of the clauses.
  fileprivate mutating func bind(_ binder: Binder) throws(QueryError) {
    for index in assignments.indices {
      assignments[index].value = try binder.bind(assignments[index].value, in: "SET")
    }
    for index in applications.indices {
      switch applications[index].operation {
      case .increment(let amount):
        applications[index].operation = .increment(try binder.bind(amount, in: "APPLY"))
      case .restart(let value):
        applications[index].operation = .restart(try binder.bind(value, in: "APPLY"))
      }
    }
  }
}

extension Source {
  /// The type that the statement declares for a field; `nil` when it declares none.
  package func declaredType(of path: [TextKey]) -> FieldType? {
    var fields = types
    var type: FieldType?
    for key in path {
      guard let field = fields.first(where: { $0.$name == key }) else { return nil }
      type = field.type
      if case .map(let inner) = field.type { fields = inner } else { fields = [] }
    }
    return type
  }
}
