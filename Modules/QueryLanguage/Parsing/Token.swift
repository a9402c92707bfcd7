import CRDTCore

/// One token of a query's text.
struct Token {
  enum Kind: Hashable {
    /// A bare word: a keyword or a name, as it was written.
    case word(String)
    /// A name in backticks; never a keyword.
    case quoted(String)
    case string(String)
    /// The magnitude of a whole number; a sign is an operator.
    case integer(UInt64)
    case double(Double)
    case symbol(Symbol)
    case end
  }

  enum Symbol: String, Hashable {
    case plus = "+"
    case minus = "-"
    case star = "*"
    case slash = "/"
    case percent = "%"
    case equal = "="
    case doubleEqual = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case shiftLeft = "<<"
    case shiftRight = ">>"
    case concatenate = "||"
    case doubleAmpersand = "&&"
    case bang = "!"
    case openParenthesis = "("
    case closeParenthesis = ")"
    case openBracket = "["
    case closeBracket = "]"
    case openBrace = "{"
    case closeBrace = "}"
    case comma = ","
    case dot = "."
    case colon = ":"
    case semicolon = ";"
    case dollar = "$"
    case arrow = "->"
  }

  let kind: Kind
  /// The start and the end, in UTF-8 bytes of the text.
  let start: Int
  let end: Int

  /// The text by which an error describes the token; the content of literals is not shown.
  var shown: String {
    switch kind {
    case .word(let word): "'\(word.prefix(64))'"
    case .quoted(let name): "'`\(name.prefix(64))`'"
    case .string: "a string"
    case .integer, .double: "a number"
    case .symbol(let symbol): "'\(symbol.rawValue)'"
    case .end: "the end of the query"
    }
  }
}

/// Words of DQL that are names only in backticks.
///
/// The list has only the words that the grammar needs, so that fields such as `year`, `value` and `id` stay
/// bare words.
enum ReservedWords {
  static let all: Set<TextKey> = [
    "ALL", "ALTER", "AND", "ANY", "APPLY", "ARRAY", "AS", "ASC", "BETWEEN", "BY", "CASE", "CAST",
    "COLLECTION",
    "CROSS", "DELETE", "DESC", "DISTINCT", "DO", "ELSE", "END", "ESCAPE", "EVICT", "EXCEPT", "EXISTS",
    "EXPLAIN",
    "FALSE", "FOR", "FROM", "FULL", "GROUP", "HAVING", "ILIKE", "IN", "INNER", "INSERT", "INTERSECT", "INTO",
    "IS", "JOIN", "LEFT", "LIKE", "LIMIT", "MISSING", "NOT", "NULL", "OBJECT", "OFFSET", "ON", "OR", "ORDER",
    "OUTER", "RETURNING", "RIGHT", "SELECT", "SET", "SHOW", "SIMILAR", "THEN", "TRUE", "UNION", "UNKNOWN",
    "UPDATE", "VALUES", "WHEN", "WHERE", "WITH", "WITHIN", "XOR",
  ]
}
