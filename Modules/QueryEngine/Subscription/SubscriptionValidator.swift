import CRDTCore

/// Checks what peers may ask of each other: `SELECT * FROM c [WHERE …]`.
package enum SubscriptionValidator {
  /// Checks a statement.
  ///
  /// - Parameters:
  ///   - statement: What is to be subscribed to.
  ///   - isRestricted: Whether ORDER BY and LIMIT are refused; where they are admitted, what is sent does not
  ///     depend on them.
  /// - Returns: The query, of which the collection and the predicate count.
  /// - Throws: `unsupported` that names the first feature beyond it.
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

  /// Checks what documents must fulfil: by themselves, and alike on all peers at all times.
  ///
  /// - Throws: `unsupported` that names the first feature beyond that; `argument` for a collection that
  ///   cannot be.
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
