package import CRDTCore

extension Expression {
  /// This expression with every parameter replaced by its argument, and every constant part by its value.
  ///
  /// - Throws: `argument` when one has no value, `limit` when a value is nested too deeply, `unsupported` for
  ///   what cannot be evaluated.
  package func binding(_ arguments: [TextKey: Value]) throws(QueryError) -> Expression {
    try rewritten { (node) throws(QueryError) -> Expression in
      if let feature = node.unsupportedFeature { throw .unsupported(feature) }
      guard case .parameter(let name) = node else { return node.folded }
      return .literal(try Self.argument(name, in: arguments))
    }
  }

  /// A node over constants, replaced by its value; any other node as it is.
  private var folded: Expression {
    switch self {
    // What is compared by other rules stays marked as such.
    case .literal, .missing, .path, .field, .variable, .parameter, .aggregate, .inQuery, .existsQuery,
      .collate:
      return self
    case .unary, .binary, .and, .or, .between, .in, .like, .similar, .isNull, .isMissing, .call, .array,
      .object, .case, .quantified, .arrayFor, .objectFor:
      break
    }
    guard children.allSatisfy(\.isConstant) else { return self }
    do {
      return try Evaluator.strictly(self).map(Expression.literal) ?? .missing
    } catch {
      // It makes too much to be computed, or an operand has a wrong type: evaluating it on a row says so.
      return self
    }
  }

  private var isConstant: Bool {
    switch self {
    case .literal, .missing: true
    default: false
    }
  }

  /// The value of one parameter.
  static func argument(_ name: TextKey, in arguments: [TextKey: Value]) throws(QueryError) -> Value {
    guard let value = arguments[name] else {
      throw QueryError(.argument, "no argument is given for the parameter '\(name)'", found: name.text)
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
