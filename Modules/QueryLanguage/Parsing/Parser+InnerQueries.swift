import CRDTCore

/// Queries inside of expressions.
extension Parser {
  /// `(SELECT …)` after IN or EXISTS: a query that reads no fields of the statement around it.
  mutating func parseInnerQuery(after word: String) throws(QueryError) -> Select {
    try expect(.openParenthesis)
    let start = current
    let outer = (qualifier, bareKeys)
    bareKeys = .fields
    let query = try parseSelect()
    (qualifier, bareKeys) = outer
    if word.isSame(as: "IN") {
      switch query.projection {
      case .countAll: break
      case .columns(let columns) where columns.count == 1: break
      case .all, .columns, .elements:
        throw failure(.syntax, "a query after IN has one column", at: start)
      }
    }
    for word in ["UNION", "INTERSECT", "EXCEPT"] where at(word) {
      throw unsupported("combining queries inside a query")
    }
    try expect(.closeParenthesis)
    return query
  }
}
