package import CRDTCore

extension Expression {
  /// This expression with every parameter replaced by its argument, and every constant part by its value.
  ///
  /// A decimal argument is replaced by a call of `decimal`, so that it compares as a number.
  ///
  /// - Throws: `argument` when a parameter has no value, `limit` when a value is nested too deeply,
  ///   `unsupported` for an expression that cannot be evaluated.
  package func binding(_ arguments: [TextKey: Value]) throws(QueryError) -> Expression {
    try rewritten { (node) throws(QueryError) -> Expression in
      if let feature = node.unsupportedFeature { throw .unsupported(feature) }
      guard case .parameter(let name) = node else { return node.folded }
      return try Self.given(name, in: arguments).expression
    }
  }

  /// This expression with every constant part replaced by its value; parameters stay.
  var foldingConstants: Expression { rewritten { $0.folded } }

  /// The value of a node over constants; any other node is unchanged.
  private var folded: Expression {
    switch self {
    // An operand with a collation keeps it.
    case .literal, .missing, .path, .field, .variable, .parameter, .aggregate, .inQuery, .existsQuery,
      .collate:
      return self
    case .unary, .binary, .and, .or, .between, .in, .like, .similar, .isNull, .isMissing, .call, .array,
      .object, .case, .quantified, .arrayFor, .objectFor:
      break
    }
    guard children.allSatisfy(\.isConstant) else { return self }
    do {
      guard let value = try Evaluator.strictly(self) else { return .missing }
      // Constants in queries and in indexes cannot be decimals.
      return value.holdsDecimal ? self : .literal(value)
    } catch {
      // It produces too much, or an operand has a wrong type: the error occurs when it is evaluated on a row.
      return self
    }
  }

  private var isConstant: Bool {
    switch self {
    case .literal, .missing: true
    default: false
    }
  }

  /// The value of one parameter; decimals in it are replaced by their texts.
  ///
  /// - Parameters:
  ///   - name: The parameter.
  ///   - arguments: The values of all parameters.
  ///   - mayBeDocument: Whether it may be a document or an array of documents; their own levels do not count.
  /// - Returns: The value.
  /// - Throws: `argument` where it has no value, `limit` where it is nested too deeply.
  package static func argument(
    _ name: TextKey, in arguments: [TextKey: Value], mayBeDocument: Bool = false
  ) throws(QueryError) -> Value {
    let value = try given(name, in: arguments, mayBeDocument: mayBeDocument)
    return value.holdsDecimal ? value.withoutDecimals : value
  }

  /// The value of one parameter, with its decimals.
  private static func given(
    _ name: TextKey, in arguments: [TextKey: Value], mayBeDocument: Bool = false
  ) throws(QueryError) -> Value {
    guard let value = arguments[name] else {
      throw QueryError(.argument, "no argument is given for the parameter '\(name)'", found: name.text)
    }
    guard value.isShallow(Limits.depth) || mayBeDocument && value.isWithinDepthOfDocuments else {
      throw QueryError(.limit, "the argument '\(name)' is nested deeper than \(Limits.depth) levels")
    }
    return value
  }
}

extension Value {
  /// The expression of an argument.
  ///
  /// A decimal, alone or as the element of an array, is a call of `decimal`; elsewhere it is its text, as
  /// documents store it.
  fileprivate var expression: Expression {
    switch self {
    case .decimal(let number): return .call(.decimal, [.literal(.string(number.text))])
    case .array(let elements) where elements.contains(where: \.isDecimal):
      return .array(elements.map(\.expression))
    case .array, .map: return .literal(holdsDecimal ? withoutDecimals : self)
    case .null, .bool, .int, .double, .string, .bytes, .counter, .attachment: return .literal(self)
    }
  }

  private var isDocumentWithinDepth: Bool {
    guard case .map(let members) = self else { return false }
    return members.values.allSatisfy { $0.isShallow(Limits.depth) }
  }

  /// Whether it is a document, or an array of documents, whose fields are not nested too deeply.
  fileprivate var isWithinDepthOfDocuments: Bool {
    guard case .array(let elements) = self else { return isDocumentWithinDepth }
    return elements.allSatisfy(\.isDocumentWithinDepth)
  }

  /// Whether maps and arrays nest at most `levels` deep; it does not examine deeper levels.
  func isShallow(_ levels: Int) -> Bool {
    switch self {
    case .null, .bool, .int, .double, .string, .bytes, .counter, .attachment, .decimal: true
    case .array(let elements): levels > 0 && elements.allSatisfy { $0.isShallow(levels - 1) }
    case .map(let members): levels > 0 && members.values.allSatisfy { $0.isShallow(levels - 1) }
    }
  }
}
