/// A query as it is parsed, before its names are bound.
struct RawSelect {
  /// Everything but the projection and the window.
  var select: Select
  var projection: RawProjection
  /// Whether it has FROM; without, it reads one empty document and no fields.
  var hasSource = true
}

/// The elements of a projection as they are in the text.
struct RawProjection {
  enum Element {
    /// `*`.
    case all(Token)
    /// `name.*`; the token is the name.
    case star(Token)
    /// `MISSING path`.
    case without(FieldPath, Token)
    case column(Expression, alias: String?, Token)
  }

  var elements: [Element] = []
}

/// ORDER BY, LIMIT and OFFSET.
struct Window {
  var order: [SortKey] = []
  var limit: Expression?
  var offset: Expression?

  var isEmpty: Bool { order.isEmpty && limit == nil && offset == nil }
}
