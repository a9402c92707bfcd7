package import CRDTCore

/// A query of access rules: documents of one collection that a user may read or write.
///
/// It has the restrictions of a subscription: deterministic, about one document, within the limits of
/// queries. Its parameters are those of a user, `:user.id` and `:claims.NAME`, and get their values when the
/// rules are compiled for that user.
package struct RuleQuery: Sendable {
  /// The parameter that is the user's id.
  package static let user: TextKey = "user.id"
  private static let claims = "claims."

  package let language: SubscriptionQuery.Language
  @TextKey package private(set) var text: String
  /// The names of the parameters that the condition reads.
  package let parameters: Set<TextKey>
  /// The condition on documents; `nil` accepts every document.
  let condition: Expression?

  /// Reads a query.
  ///
  /// Three forms are accepted: `SELECT * FROM c WHERE …`; a condition of DQL, where every name is a field;
  /// and a condition of the builder language, which is recognised by `&&`, `||`, `!` or `$args`.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - collection: The collection under which it stands.
  /// - Throws: What parsing throws; `unsupported` for what a subscription may not have either; `argument` for
  ///   another collection and for a parameter that rules do not have.
  package init(_ text: String, on collection: String) throws(QueryError) {
    let parsed = try Self.parse(text, on: collection)
    let condition = parsed.condition == .literal(.bool(true)) ? nil : parsed.condition
    try SubscriptionValidator.check(collection, condition)
    let parameters = condition?.parameters ?? []
    for name in parameters.sorted() where name != Self.user && Self.claim(of: name) == nil {
      throw parsed.sourceMap.error(
        .argument, "rules have no parameter '\(name.text.prefix(64))', only user.id and claims.NAME",
        about: .parameter(name), found: name.text)
    }
    language = parsed.language
    self.text = text
    self.parameters = parameters
    self.condition = condition
  }

  /// The claim whose value a parameter has; `nil` for any other parameter.
  package static func claim(of parameter: TextKey) -> TextKey? {
    guard parameter.utf8.starts(with: claims.utf8) else { return nil }
    let name = String(parameter.text.dropFirst(claims.count))
    return name.isEmpty || name.utf8.contains(UInt8(ascii: ".")) ? nil : TextKey(name)
  }

  /// The parameter that has the value of a claim.
  package static func parameter(ofClaim name: TextKey) -> TextKey { TextKey(claims + name.text) }

  /// The predicate for one user.
  ///
  /// - Parameter arguments: The values of the parameters.
  /// - Returns: The predicate; `nil` if a parameter has no value, so that the query accepts no document.
  /// - Throws: `limit` if the predicate is too large with these values.
  package func compiled(_ arguments: [TextKey: Value]) throws(QueryError) -> CompiledPredicate? {
    guard parameters.allSatisfy({ arguments[$0] != nil }) else { return nil }
    let compiled = try CompiledPredicate(condition, arguments: arguments)
    guard compiled.expression == .literal(.bool(true)) else { return compiled }
    return try CompiledPredicate(nil)
  }

  /// Whether it may accept some document, whatever its parameters are.
  package var mayAccept: Bool { condition?.foldingConstants.mayBeTrue ?? true }

  /// Whether it looks for a text within a field where an element of an array may be meant.
  package var looksForTextInField: Bool { condition?.looksForTextInField ?? false }
}

extension CompiledPredicate {
  /// Whether it accepts every document, whatever it is.
  package var acceptsAll: Bool { expression == nil }

  /// Whether it may accept some document, as far as its constants tell.
  package var mayAccept: Bool { expression?.mayBeTrue ?? true }

  /// Whether it reads nothing of a document but its id.
  package var readsIDAlone: Bool {
    expression?.paths.allSatisfy { $0.first == .key("_id") } ?? true
  }

  /// Whether it accepts a document, by its values.
  ///
  /// - Parameter value: The value at a path of the document; `nil` where there is none.
  /// - Returns: False also when the predicate fails on it.
  package func accepts(_ value: (FieldPath) -> Value?) -> Bool {
    guard let expression else { return true }
    return (try? Evaluator.matches(expression, row: value)) == true
  }
}

extension Expression {
  fileprivate var looksForTextInField: Bool {
    if case .call(.contains, let operands) = self, case .path? = operands.first { return true }
    return children.contains(where: \.looksForTextInField)
  }
}

extension RuleQuery {
  private struct Parsed {
    let language: SubscriptionQuery.Language
    let condition: Expression?
    let sourceMap: SourceMap
  }

  private static func parse(_ text: String, on collection: String) throws(QueryError) -> Parsed {
    if isStatement(text) { return try parse(statement: text, on: collection) }
    var parser = try Parser(text, dialect: isOfBuilder(text) ? .builder : .dql)
    parser.isRule = true
    guard parser.dialect == .dql else {
      let condition = try Builder.parsePredicate(&parser)
      return Parsed(language: .builder, condition: condition, sourceMap: parser.sourceMap)
    }
    let expression = try parser.parseExpression()
    try parser.expectStatementEnd()
    let condition = try Binder(.rows, parser.sourceMap).bind(expression, in: "a rule")
    return Parsed(language: .dql, condition: condition, sourceMap: parser.sourceMap)
  }

  private static func parse(statement text: String, on collection: String) throws(QueryError) -> Parsed {
    var parser = try Parser(text, dialect: .dql)
    parser.isSubscription = true
    parser.isRule = true
    let statement = try parser.parseStatement()
    try parser.expectStatementEnd()
    let select = try SubscriptionValidator.check(statement, isRestricted: true)
    try SubscriptionValidator.checkFields(of: select)
    guard select.collection.isSame(as: collection) else {
      throw parser.sourceMap.error(
        .argument, "the query reads another collection than the one under which it stands",
        about: .collection(TextKey(select.collection)), found: select.collection)
    }
    return Parsed(language: .dql, condition: select.predicate, sourceMap: parser.sourceMap)
  }

  /// Whether a text begins with the word SELECT.
  private static func isStatement(_ text: String) -> Bool {
    let first = text.drop(while: \.isWhitespace).prefix { !$0.isWhitespace }
    return String(first).uppercased().isSame(as: "SELECT")
  }

  /// Whether a condition has a symbol that only the builder language has, or uses for conditions.
  private static func isOfBuilder(_ text: String) -> Bool {
    guard let (tokens, _) = try? Lexer.tokens(of: Array(text.utf8), dialect: .builder) else { return false }
    return tokens.contains { token in
      switch token.kind {
      case .symbol(.doubleAmpersand), .symbol(.concatenate), .symbol(.bang), .symbol(.dollar): true
      case .symbol, .word, .quoted, .string, .integer, .double, .end: false
      }
    }
  }
}
