import CRDTCore

/// Types that statements declare for fields: `(f MAP(g REGISTER), n COUNTER)`.
extension Parser {
  mutating func parseTypes() throws(QueryError) -> [FieldDeclaration] {
    try nested { (parser) throws(QueryError) in
      try parser.expect(.openParenthesis)
      var fields: [FieldDeclaration] = []
      repeat {
        let start = parser.current
        let name = try parser.parseName("a field's name")
        guard !fields.contains(where: { $0.name.isSame(as: name) }) else {
          throw parser.failure(.syntax, "a field's type is declared twice", at: start)
        }
        guard !name.isSame(as: "_id") else {
          throw parser.failure(.syntax, "the id of a document has no type to declare", at: start)
        }
        try parser.count(1)
        fields.append(FieldDeclaration(name, try parser.parseType()))
      } while parser.accept(.comma)
      try parser.expect(.closeParenthesis)
      return fields
    }
  }

  private mutating func parseType() throws(QueryError) -> FieldType {
    if accept("REGISTER") { return .register }
    if accept("COUNTER") { return .counter }
    if accept("PN_COUNTER") || accept("PNCOUNTER") { return .pnCounter }
    if accept("ATTACHMENT") { return .attachment }
    guard accept("MAP") else {
      throw unexpected(["REGISTER", "MAP", "COUNTER", "PN_COUNTER", "ATTACHMENT"])
    }
    return .map(at(.openParenthesis) ? try parseTypes() : [])
  }
}
