import CRDTCore

extension Expression: CustomStringConvertible {
  /// The expression as DQL with every operator in parentheses, as plans show it.
  ///
  /// It parses back to the same tree, but for what only the builder language or bound arguments can make.
  public var description: String {
    switch self {
    case .literal(let value): Self.text(of: value)
    case .missing: "MISSING"
    case .parameter(let name): ":" + name
    case .path(let path): Self.text(of: path)
    // A literal after a minus would be read as one negative number.
    case .unary(.negate, .literal(let value)): "(- (\(Self.text(of: value))))"
    case .unary(let symbol, let operand): "(\(symbol.text)\(operand))"
    case .binary(let symbol, let left, let right): "(\(left) \(symbol.text) \(right))"
    case .and(let terms): "(" + terms.map(\.description).joined(separator: " AND ") + ")"
    case .or(let terms): "(" + terms.map(\.description).joined(separator: " OR ") + ")"
    case .between(let subject, let low, let high, let negated):
      "(\(subject)\(Self.not(negated)) BETWEEN \(low) AND \(high))"
    case .in(let subject, let list, let negated): "(\(subject)\(Self.not(negated)) IN \(list))"
    case .like(let subject, let pattern, let escape, let caseInsensitive, let negated):
      "(\(subject)\(Self.not(negated)) \(caseInsensitive ? "ILIKE" : "LIKE") \(pattern)"
        + (escape.map { " ESCAPE \($0)" } ?? "") + ")"
    case .isNull(let operand, let negated): "(\(operand) IS\(Self.not(negated)) NULL)"
    case .isMissing(let operand, let negated): "(\(operand) IS\(Self.not(negated)) MISSING)"
    case .call(let function, let operands):
      function.rawValue + "(" + operands.map(\.description).joined(separator: ", ") + ")"
    case .array(let elements): "[" + elements.map(\.description).joined(separator: ", ") + "]"
    case .object(let members):
      "{" + members.map { "\(Self.quoted($0.key)): \($0.value)" }.joined(separator: ", ") + "}"
    case .case(let clauses, let otherwise):
      "CASE " + clauses.map { "WHEN \($0.condition) THEN \($0.result) " }.joined()
        + (otherwise.map { "ELSE \($0) " } ?? "") + "END"
    }
  }

  private static func not(_ negated: Bool) -> String { negated ? " NOT" : "" }

  private static func text(of value: Value) -> String {
    switch value {
    case .null: "NULL"
    case .bool(let value): value ? "true" : "false"
    case .string(let text): quoted(text)
    case .array(let elements): "[" + elements.map(text).joined(separator: ", ") + "]"
    case .map(let members):
      "{"
        + SortOrder.sorted(members).map { "\(quoted($0.key)): \(text(of: $0.value))" }.joined(separator: ", ")
        + "}"
    case .int(let value), .counter(let value): "\(value)"
    case .double(let value): "\(value)"
    case .bytes(let bytes): "<\(bytes.count) bytes>"
    case .attachment: "<attachment>"
    }
  }

  /// A path as it can stand in a query: names that are no plain words in backticks.
  static func text(of path: FieldPath) -> String {
    var text = ""
    for component in path {
      switch component {
      case .index(let index): text += "[\(index)]"
      case .key(let key):
        let isPlain =
          key.utf8.first?.startsWord == true && key.utf8.allSatisfy(\.continuesWord)
          && !ReservedWords.all.contains(key.uppercased())
        text += (text.isEmpty ? "" : ".") + (isPlain ? key : "`\(key)`")
      }
    }
    return text
  }

  /// A string literal.
  private static func quoted(_ text: String) -> String {
    var result = "'"
    for scalar in text.unicodeScalars {
      switch scalar {
      case "'": result += "\\'"
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "'"
  }
}

extension UnaryOperator {
  fileprivate var text: String {
    switch self {
    case .negate: "- "
    case .not: "NOT "
    case .isNotTrue: "! "
    }
  }
}

extension BinaryOperator {
  fileprivate var text: String {
    switch self {
    case .equal: "="
    case .notEqual: "!="
    case .less: "<"
    case .lessOrEqual: "<="
    case .greater: ">"
    case .greaterOrEqual: ">="
    case .same: "=="
    case .notSame: "!=="
    case .add: "+"
    case .subtract: "-"
    case .multiply: "*"
    case .divide: "/"
    case .remainder: "%"
    case .concatenate: "||"
    case .xor: "XOR"
    case .shiftLeft: "<<"
    case .shiftRight: ">>"
    }
  }
}
