package import CRDTCore

/// Turns syntax trees back into DQL, with every operator in parentheses, as in plans.
///
/// The text parses back to the same tree, unless only the builder language or bound arguments can produce
/// that tree.
package struct Printer {
  /// The names of the joined sources in the statement.
  var sources: [String] = []
  /// The name that the parser removes from the front of paths; `nil` outside statements on one source.
  var qualifier: String?
  /// Whether every value is printed as `?`, for logs.
  var hidesValues = false
  /// The variables of the comprehensions around the current expression.
  private var variables: Set<TextKey> = []

  package init(sources: [String] = [], qualifier: String? = nil, hidesValues: Bool = false) {
    self.sources = sources
    self.qualifier = qualifier
    self.hidesValues = hidesValues
  }

  func text(of expression: Expression) -> String {
    switch expression {
    case .literal(let value): text(of: value)
    case .missing: "MISSING"
    case .parameter(let name): ":" + Self.name(orKeyword: name.text)
    case .path, .field, .variable: reference(expression)
    case .unary, .binary, .and, .or, .between, .collate: operation(expression)
    case .in, .inQuery, .existsQuery, .like, .similar, .isNull, .isMissing: test(expression)
    case .call(let function, let operands): function.rawValue + "(" + list(operands) + ")"
    case .aggregate(let aggregate, let distinct, let operand):
      aggregate.rawValue.uppercased() + "(" + (distinct ? "DISTINCT " : "")
        + (operand.map { text(of: $0) } ?? "*") + ")"
    case .array(let elements): "[" + list(elements) + "]"
    case .object(let members):
      "{" + members.map { "\(key(of: $0)): \(text(of: $0.value))" }.joined(separator: ", ") + "}"
    case .case(let clauses, let otherwise):
      "CASE "
        + clauses.map { "WHEN \(text(of: $0.condition)) THEN \(text(of: $0.result)) " }.joined()
        + (otherwise.map { "ELSE \(text(of: $0)) " } ?? "") + "END"
    case .quantified, .arrayFor, .objectFor: comprehension(expression)
    }
  }

  /// A member's key; a fixed key is a name, which is shown even if values are hidden.
  private func key(of member: ObjectMember) -> String {
    if case .literal(.string(let name)) = member.key { Self.quoted(name) } else { text(of: member.key) }
  }

  func list(_ expressions: [Expression]) -> String {
    expressions.map { text(of: $0) }.joined(separator: ", ")
  }

  private func reference(_ expression: Expression) -> String {
    switch expression {
    case .path(let path):
      // The whole document is the name alone, where it is known.
      guard let first = path.first else { return qualifier.map { Self.name($0) } ?? "*" }
      if let qualifier {
        let name = PathComponent.key(TextKey(qualifier))
        if path == [name] || path != path.unqualified(by: qualifier) || isVariable(first) {
          return Self.text(of: [name] + path)
        }
      }
      return Self.text(of: path)
    case .field(let source, let path):
      let name = sources.indices.contains(source) ? sources[source] : "source \(source)"
      return Self.text(of: [.key(TextKey(name))] + path)
    case .variable(let variable, let path): return Self.text(of: [.key(variable.$name)] + path)
    default: return ""
    }
  }

  private func isVariable(_ component: PathComponent) -> Bool {
    if case .key(let name) = component { variables.contains(name) } else { false }
  }

  private func operation(_ expression: Expression) -> String {
    switch expression {
    // A literal after a minus would be parsed as one negative number.
    case .unary(.negate, .literal(let value)): "(- (\(text(of: value))))"
    case .unary(let symbol, let operand): "(\(symbol.text)\(text(of: operand)))"
    case .binary(let symbol, let left, let right):
      "(\(text(of: left)) \(symbol.text) \(text(of: right)))"
    case .and(let terms): "(" + terms.map { text(of: $0) }.joined(separator: " AND ") + ")"
    case .or(let terms): "(" + terms.map { text(of: $0) }.joined(separator: " OR ") + ")"
    case .between(let subject, let low, let high, let negated):
      "(\(text(of: subject))\(Self.not(negated)) BETWEEN \(text(of: low)) AND \(text(of: high)))"
    case .collate(let operand, let collation): "(\(text(of: operand)) COLLATE \(collation.rawValue))"
    default: ""
    }
  }

  private func test(_ expression: Expression) -> String {
    switch expression {
    case .in(let subject, let list, let negated):
      "(\(text(of: subject))\(Self.not(negated)) IN \(text(of: list)))"
    case .inQuery(let subject, let query, let negated):
      // The query has sources of its own.
      "(\(text(of: subject))\(Self.not(negated)) IN (\(Printer(hidesValues: hidesValues).text(of: query))))"
    case .existsQuery(let query): "EXISTS (\(Printer(hidesValues: hidesValues).text(of: query)))"
    case .like(let subject, let pattern, let escape, let caseInsensitive, let negated):
      "(\(text(of: subject))\(Self.not(negated)) \(caseInsensitive ? "ILIKE" : "LIKE") \(text(of: pattern))"
        + (escape.map { " ESCAPE \(text(of: $0))" } ?? "") + ")"
    case .similar(let subject, let pattern, let escape, let negated):
      "(\(text(of: subject))\(Self.not(negated)) SIMILAR TO \(text(of: pattern))"
        + (escape.map { " ESCAPE \(text(of: $0))" } ?? "") + ")"
    case .isNull(let operand, let negated): "(\(text(of: operand)) IS\(Self.not(negated)) NULL)"
    case .isMissing(let operand, let negated): "(\(text(of: operand)) IS\(Self.not(negated)) MISSING)"
    default: ""
    }
  }

  private func comprehension(_ expression: Expression) -> String {
    switch expression {
    case .quantified(let quantifier, let iteration, let condition):
      "\(quantifier.text) \(text(of: iteration)) SATISFIES \(inside(iteration).text(of: condition)) END"
    case .arrayFor(let element, let iteration, let condition):
      "ARRAY \(inside(iteration).text(of: element)) FOR \(text(of: iteration))"
        + "\(inside(iteration).when(condition)) END"
    case .objectFor(let key, let value, let iteration, let condition):
      "OBJECT \(inside(iteration).text(of: key)) : \(inside(iteration).text(of: value)) "
        + "FOR \(text(of: iteration))\(inside(iteration).when(condition)) END"
    default: ""
    }
  }

  /// The printer for expressions that see the variables of an iteration.
  private func inside(_ iteration: Iteration) -> Printer {
    var printer = self
    printer.variables.formUnion([iteration.position?.$name, iteration.element.$name].compactMap(\.self))
    return printer
  }

  private func text(of iteration: Iteration) -> String {
    let position = iteration.position.map { Self.name($0.name) + " : " } ?? ""
    return position + Self.name(iteration.element.name) + (iteration.isDeep ? " WITHIN " : " IN ")
      + text(of: iteration.source)
  }

  private func when(_ condition: Expression?) -> String { condition.map { " WHEN \(text(of: $0))" } ?? "" }

  private static func not(_ negated: Bool) -> String { negated ? " NOT" : "" }
}

// MARK: - Values and names

extension Printer {
  package func text(of value: Value) -> String {
    if hidesValues { return "?" }
    return switch value {
    case .null: "NULL"
    case .bool(let value): value ? "true" : "false"
    case .string(let text): Self.quoted(text)
    case .array(let elements): "[" + elements.map { text(of: $0) }.joined(separator: ", ") + "]"
    case .map(let members):
      "{"
        + SortOrder.sorted(members).map { "\(Self.quoted($0.key.text)): \(text(of: $0.value))" }
        .joined(separator: ", ")
        + "}"
    case .int(let value), .counter(let value): "\(value)"
    case .double(let value): "\(value)"
    case .decimal(let value): value.text
    case .bytes(let bytes): "<\(bytes.count) bytes>"
    case .attachment: "<attachment>"
    }
  }

  /// A path as the parser accepts it.
  package static func text(of path: FieldPath) -> String {
    var text = ""
    for component in path {
      switch component {
      case .index(let index): text += "[\(index)]"
      case .key(let key): text += (text.isEmpty ? "" : ".") + name(key.text)
      }
    }
    return text
  }

  /// A name as the parser accepts it: in backticks unless it is a plain word.
  static func name(_ name: String) -> String {
    let isPlain =
      name.utf8.first?.startsWord == true && name.utf8.allSatisfy(\.continuesWord)
      && !ReservedWords.all.contains(name.uppercased())
    if isPlain { return name }
    let parts = name.utf8.split(separator: UInt8(ascii: "`"), omittingEmptySubsequences: false)
    return "`\(parts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "``"))`"
  }

  /// A parameter's name, which may be a keyword.
  static func name(orKeyword name: String) -> String {
    ReservedWords.all.contains(name.uppercased()) ? name : self.name(name)
  }

  /// A string literal.
  package static func quoted(_ text: String) -> String {
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

extension Expression: CustomStringConvertible {
  public var description: String { Printer().text(of: self) }
}

extension Quantifier {
  fileprivate var text: String {
    switch self {
    case .any: "ANY"
    case .every: "EVERY"
    case .anyAndEvery: "ANY AND EVERY"
    }
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
  var text: String {
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
