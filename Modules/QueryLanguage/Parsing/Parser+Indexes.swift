import CRDTCore

/// `CREATE INDEX` and `DROP INDEX`.
extension Parser {
  mutating func parseCreateIndex() throws(QueryError) -> CreateIndex {
    try expect("CREATE")
    try expect("INDEX")
    let allowsExisting = at("IF") && isKeyword(peek(), "NOT")
    if allowsExisting {
      advance()
      advance()
      try expect("EXISTS")
    }
    let name = try parseName("an index's name")
    let collection = try parseIndexedCollection()
    try expect(.openParenthesis)
    var keys: [CreateIndex.Key] = []
    repeat { keys.append(try parseIndexKey()) } while accept(.comma)
    guard accept(.closeParenthesis) else { throw unexpected(["'.'", "ASC", "DESC", "','", "')'"]) }
    return CreateIndex(name, on: collection, keys, allowsExisting: allowsExisting)
  }

  mutating func parseDropIndex() throws(QueryError) -> DropIndex {
    try expect("DROP")
    try expect("INDEX")
    let allowsMissing = at("IF") && isKeyword(peek(), "EXISTS")
    if allowsMissing {
      advance()
      advance()
    }
    let name = try parseName("an index's name")
    return DropIndex(name, on: try parseIndexedCollection(), allowsMissing: allowsMissing)
  }

  private mutating func parseIndexedCollection() throws(QueryError) -> String {
    try expect("ON")
    _ = accept("COLLECTION")
    return try parseCollectionName()
  }

  /// Parses `path`, `path[*]` or `(lower(path))`, with a direction.
  ///
  /// The function is in parentheses of its own, since `(lower(make))` alone is an error in the language.
  private mutating func parseIndexKey() throws(QueryError) -> CreateIndex.Key {
    try count(1)
    var part = CreateIndex.Key.Part.value
    let path: [TextKey]
    if accept(.openParenthesis) {
      try expect("LOWER")
      try expect(.openParenthesis)
      path = try parseKeys()
      try expect(.closeParenthesis)
      try expect(.closeParenthesis)
      part = .lowercase
    } else {
      path = try parseKeys()
      if accept(.openBracket) {
        try expect(.star)
        try expect(.closeBracket)
        part = .elements
      }
    }
    let descending = accept("DESC")
    if !descending { _ = accept("ASC") }
    return CreateIndex.Key(path, part: part, descending: descending)
  }

  private mutating func parseKeys() throws(QueryError) -> [TextKey] {
    var keys = [TextKey(try parseName("a field's name"))]
    while true {
      if accept(.dot) {
        guard let name = current.name else { throw unexpected(["a field's name"]) }
        advance()
        keys.append(TextKey(name))
      } else if at(.openBracket), case .string(let key) = peek().kind {
        advance()
        advance()
        try expect(.closeBracket)
        keys.append(TextKey(key))
      } else {
        break
      }
      guard keys.count <= Limits.pathSteps else {
        throw failure(.limit, "the path is longer than \(Limits.pathSteps) steps")
      }
    }
    return keys
  }
}
