extension Expression {
  /// What this node is called where the evaluator gives it no meaning; `nil` where it does.
  var unsupportedFeature: String? {
    switch self {
    case .field: "a join"
    case .inQuery, .existsQuery: "a query inside a query"
    case .aggregate(let aggregate, _, _): "the aggregate \(aggregate.rawValue.uppercased())"
    case .literal, .missing, .parameter, .path, .variable, .collate, .unary, .binary, .and, .or, .between,
      .in, .like,
      .similar, .quantified, .arrayFor, .objectFor, .isNull, .isMissing, .call, .array, .object, .case:
      nil
    }
  }

  /// The first part of the tree without a meaning, by what it is called.
  var firstUnsupportedFeature: String? {
    unsupportedFeature ?? children.lazy.compactMap(\.firstUnsupportedFeature).first
  }
}

extension QueryError {
  /// A statement asks for what this engine does not do.
  static func unsupported(_ feature: String) -> QueryError {
    QueryError(.unsupported, "\(feature) is not supported")
  }
}
