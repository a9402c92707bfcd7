import CRDTCore

/// Spellings of one query language in a text of the other, named as such in errors.
extension Parser {
  /// What the error at the cursor has to do with the other language.
  ///
  /// - Returns: The end of a message; `nil` where it has nothing to do with it.
  var otherLanguageHint: String? {
    switch dialect {
    case .builder: builderHint
    case .dql: dqlHint
    }
  }

  private var builderHint: String? {
    if index > 0, beginsStatement {
      return ": this is a statement of DQL: 'find' takes the condition alone, 'execute' takes statements"
    }
    // A name to this language, with an operand behind it.
    if isKeyword(tokens[max(index - 1, 0)], "NOT") {
      return ": 'NOT' is DQL; the builder language writes '!'"
    }
    return Self.words.lazy.compactMap { word, here -> String? in
      guard isKeyword(current, word) else { return nil }
      return ": '\(word)' is DQL; the builder language \(here)"
    }.first ?? builderSymbolHint
  }

  /// Whether the text begins with a verb of DQL and what stands behind one.
  private var beginsStatement: Bool {
    guard Self.verbs.contains(where: { isKeyword(tokens[0], $0) }) else { return false }
    if case .word = tokens[1].kind { return true }
    return tokens[1].kind == .symbol(.star)
  }

  private var builderSymbolHint: String? {
    switch current.kind {
    case .symbol(.equal): ": '=' is DQL; the builder language writes '=='"
    case .symbol(.colon): ": ':name' is DQL; the builder language writes $args.name"
    case .symbol(.plus), .symbol(.star), .symbol(.slash), .symbol(.percent):
      ": the builder language does not calculate; DQL does"
    case .word, .quoted, .string, .integer, .double, .symbol, .end: nil
    }
  }

  private var dqlHint: String? {
    if case .symbol(.doubleAmpersand) = current.kind {
      return ": '&&' is the builder language; DQL writes AND"
    }
    // A condition of the builder language in place of a statement.
    guard index == 0, tokens.contains(where: { $0.kind == .symbol(.doubleEqual) }) else { return nil }
    return ": a condition of the builder language goes to 'find'; 'execute' takes statements"
  }

  private static let verbs = ["SELECT", "INSERT", "UPDATE", "DELETE", "EVICT", "SHOW", "ALTER", "EXPLAIN"]

  /// Words of DQL, and what stands for them.
  private static let words = [
    ("AND", "writes '&&'"), ("OR", "writes '||'"), ("NOT", "writes '!'"),
    ("IS", "writes '== null'"), ("IN", "writes contains(array, value)"),
    ("LIKE", "has starts_with, ends_with and regex"), ("ILIKE", "has starts_with, ends_with and regex"),
    ("BETWEEN", "writes '>=' and '<='"),
    ("ORDER", "leaves the order to '.sort'"), ("LIMIT", "leaves the limit to '.limit'"),
  ]

  /// The `||` outside of parentheses between a token and the cursor.
  func join(since start: Int) -> Token? {
    var depth = 0
    return tokens[start..<index].first { token in
      switch token.kind {
      case .symbol(.openParenthesis): depth += 1
      case .symbol(.closeParenthesis): depth -= 1
      case .word, .quoted, .string, .integer, .double, .symbol, .end: break
      }
      return depth == 0 && token.kind == .symbol(.concatenate)
    }
  }

  /// The error for `a = 1 || b = 2`, which DQL reads as a comparison of a text that is put together.
  func joinedConditions(at token: Token) -> QueryError {
    failure(
      .syntax,
      "comparisons stand on both sides of '||', which joins texts in DQL: write OR between conditions, or parentheses",
      at: token)
  }
}

extension Lexer {
  /// What a character means in the builder language that begins nothing in DQL.
  static func otherLanguageHint(_ byte: UInt8, _ dialect: Dialect) -> String {
    switch (dialect, Unicode.Scalar(byte)) {
    case (.dql, "!"): ": '!' is the builder language; DQL writes NOT"
    case (.dql, "$"): ": '$args.name' is the builder language; DQL writes :name"
    default: ""
    }
  }
}
