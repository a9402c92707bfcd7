package import CRDTCore

extension Expression {
  /// This expression with every parameter replaced by its argument.
  ///
  /// - Throws: `argument` when one has no value, `limit` when a value is nested too deeply.
  package func binding(_ arguments: [String: Value]) throws(QueryError) -> Expression {
    try rewritten { (node) throws(QueryError) -> Expression in
      guard case .parameter(let name) = node else { return node }
      return .literal(try Self.argument(name, in: arguments))
    }
  }

  /// The value of one parameter.
  static func argument(_ name: String, in arguments: [String: Value]) throws(QueryError) -> Value {
    guard let value = arguments[name] else {
      throw QueryError(.argument, "no argument is given for the parameter '\(name)'", found: name)
    }
    guard value.isShallow(Limits.depth) else {
      throw QueryError(.limit, "the argument '\(name)' is nested deeper than \(Limits.depth) levels")
    }
    return value
  }
}

extension Value {
  /// Whether maps and arrays nest at most `levels` deep; it looks no deeper than that.
  func isShallow(_ levels: Int) -> Bool {
    switch self {
    case .null, .bool, .int, .double, .string, .bytes, .counter, .attachment: true
    case .array(let elements): levels > 0 && elements.allSatisfy { $0.isShallow(levels - 1) }
    case .map(let members): levels > 0 && members.values.allSatisfy { $0.isShallow(levels - 1) }
    }
  }
}
