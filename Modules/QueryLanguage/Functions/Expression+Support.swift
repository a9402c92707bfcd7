extension Expression {
  /// The name of this node's feature if the evaluator does not support it; otherwise `nil`.
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

  /// The name of the first unsupported feature of the tree.
  var firstUnsupportedFeature: String? {
    unsupportedFeature ?? children.lazy.compactMap(\.firstUnsupportedFeature).first
  }
}

extension QueryError {
  /// The error for a feature that this engine does not support.
  package static func unsupported(_ feature: String) -> QueryError {
    QueryError(.unsupported, "\(feature) is not supported")
  }
}
