import CRDTCore

/// Hints in errors for spellings of the other query language.
extension Parser {
  /// The hint for an error at the current token that is due to the other language.
  ///
  /// - Returns: The end of a message; `nil` for other errors.
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
    // In this language it is a name, with an operand after it.
    if isKeyword(tokens[max(index - 1, 0)], "NOT") {
      return ": 'NOT' is DQL; the builder language writes '!'"
    }
    return Self.words.lazy.compactMap { word, here -> String? in
      guard isKeyword(current, word) else { return nil }
      return ": '\(word)' is DQL; the builder language \(here)"
    }.first ?? builderSymbolHint
  }

  /// Whether the text begins with a verb of DQL and a token that can follow one.
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
    // This is a condition of the builder language instead of a statement.
    guard index == 0, tokens.contains(where: { $0.kind == .symbol(.doubleEqual) }) else { return nil }
    return ": a condition of the builder language goes to 'find'; 'execute' takes statements"
  }

  private static let verbs = ["SELECT", "INSERT", "UPDATE", "DELETE", "EVICT", "SHOW", "ALTER", "EXPLAIN"]

  /// Words of DQL, and their equivalents in the builder language.
  private static let words = [
    ("AND", "writes '&&'"), ("OR", "writes '||'"), ("NOT", "writes '!'"),
    ("IS", "writes '== null'"), ("IN", "writes contains(array, value)"),
    ("LIKE", "has starts_with, ends_with and regex"), ("ILIKE", "has starts_with, ends_with and regex"),
    ("BETWEEN", "writes '>=' and '<='"),
    ("ORDER", "leaves the order to '.sort'"), ("LIMIT", "leaves the limit to '.limit'"),
  ]

  /// The `||` outside of parentheses between a token and the current one.
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

  /// The error for `a = 1 || b = 2`, which DQL reads as a comparison with a concatenation.
  func joinedConditions(at token: Token) -> QueryError {
    failure(
      .syntax,
      "comparisons stand on both sides of '||', which joins texts in DQL: write OR between conditions, or parentheses",
      at: token)
  }
}

extension Lexer {
  /// The hint for a character of the builder language that begins no token of DQL.
  static func otherLanguageHint(_ byte: UInt8, _ dialect: Dialect) -> String {
    switch (dialect, Unicode.Scalar(byte)) {
    case (.dql, "!"): ": '!' is the builder language; DQL writes NOT"
    case (.dql, "$"): ": '$args.name' is the builder language; DQL writes :name"
    default: ""
    }
  }
}
