import CRDTCore

/// `ALTER SYSTEM` and `SHOW`.
extension Parser {
  mutating func parseAlterSystem() throws(QueryError) -> AlterSystem {
    try expect("ALTER")
    try expect("SYSTEM")
    if accept("RESET") {
      return accept("ALL") ? .resetAll : .reset(TextKey(try parseParameterName()))
    }
    guard accept("SET") else { throw unexpected(["SET", "RESET"]) }
    let name = try parseParameterName()
    guard accept(.equal) || accept("TO") else { throw unexpected(["'='", "TO"]) }
    if accept("DEFAULT") { return .reset(TextKey(name)) }
    bareKeys = .names
    let context = "a system parameter"
    let value = try parseExpression()
    return .set(TextKey(name), try Binder(.nothing(context), sourceMap).bind(value, in: context))
  }

  mutating func parseShow() throws(QueryError) -> Show {
    guard accept("ALL") else { return .parameter(TextKey(try parseParameterName())) }
    let caseInsensitive = at("ILIKE")
    guard accept("LIKE") || accept("ILIKE") else { return .all(like: nil, caseInsensitive: false) }
    guard case .string(let pattern) = current.kind else { throw unexpected(["a pattern in quotes"]) }
    advance()
    return .all(like: TextKey(pattern), caseInsensitive: caseInsensitive)
  }

  /// Names of system parameters do not depend on case.
  private mutating func parseParameterName() throws(QueryError) -> String {
    try parseName("a system parameter's name").lowercased()
  }
}
