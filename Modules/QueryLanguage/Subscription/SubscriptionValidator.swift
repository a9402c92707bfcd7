import CRDTCore

/// Checks the subscriptions of peers: `SELECT * FROM c [WHERE …]`.
package enum SubscriptionValidator {
  /// Checks a statement.
  ///
  /// - Parameters:
  ///   - statement: The statement of the subscription.
  ///   - isRestricted: Whether ORDER BY and LIMIT are refused. If they are allowed, they have no effect on
  ///     what is sent.
  /// - Returns: The query, of which only the collection and the predicate are used.
  /// - Throws: `unsupported`, with the name of the first feature that is not allowed.
  package static func check(_ statement: Statement, isRestricted: Bool) throws(QueryError) -> Select {
    guard case .select(let select) = statement else {
      throw refusal("non-SELECT statement in sync subscription")
    }
    let features: [(isUsed: Bool, name: String)] = [
      (select.distinct, "DISTINCT"),
      (!select.joins.isEmpty, "Joining"),
      (!select.groups.isEmpty, "Grouping"),
      (select.having != nil, "HAVING"),
      (!select.source.types.isEmpty, "a type definition"),
      (!select.source.hints.isEmpty, "USE INDEX or USE DIRECTIVES"),
      (select.projection != .all, "A projection other than wildcard (*)"),
      (isRestricted && (!select.order.isEmpty || select.limit != nil), "Limit or Order by"),
      (select.offset != nil, "OFFSET"),
    ]
    if let feature = features.first(where: \.isUsed) { throw refusal(feature.name) }
    return select
  }

  /// Checks that the condition compares fields, and not the whole document.
  ///
  /// - Throws: `unsupported`, with the way to write a field that has the name of its collection.
  static func checkFields(of select: Select) throws(QueryError) {
    guard select.predicate?.readsDocument == true else { return }
    let name = TextKey(select.source.name)
    let field = Printer.text(of: [.key(name), .key(name)])
    throw refusal("the whole document in a condition: '\(field)' is the field of that name")
  }

  /// Checks a condition on documents: it must concern single documents, with the same result on all peers.
  ///
  /// - Throws: `unsupported`, with the name of the first feature that is not allowed; `argument` for an
  ///   invalid collection name.
  static func check(_ collection: String, _ predicate: Expression?) throws(QueryError) {
    guard (1...Limits.collectionNameBytes).contains(collection.utf8.count), !collection.utf8.contains(0)
    else {
      throw QueryError(
        .argument, "a collection's name has 1 to \(Limits.collectionNameBytes) bytes, none zero")
    }
    guard !collection.utf8.starts(with: "system:".utf8) else { throw refusal("a virtual collection") }
    guard let predicate else { return }
    try check(predicate)
    if let feature = predicate.firstUnsupportedFeature { throw refusal(feature) }
  }

  private static func check(_ predicate: Expression) throws(QueryError) {
    switch predicate {
    case .aggregate: throw refusal("an aggregate")
    case .inQuery, .existsQuery: throw refusal("a subquery")
    case .field: throw refusal("Joining")
    case .call(let function, _) where !function.isDeterministic:
      throw refusal("a function that depends on more than its arguments")
    default: break
    }
    for child in predicate.children { try check(child) }
  }

  private static func refusal(_ feature: String) -> QueryError {
    QueryError(.unsupported, "Unsupported feature: \(feature)")
  }
}
