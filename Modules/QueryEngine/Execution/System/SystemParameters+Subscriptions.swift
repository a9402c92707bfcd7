import CRDTCore

extension SystemParameters {
  /// Whether subscriptions with ORDER BY or LIMIT are refused.
  ///
  /// - Throws: `unknownParameter`, but never for a registry with the parameters of this layer.
  public var restrictsSubscriptions: Bool {
    get throws(QueryError) {
      try value(of: BuiltInParameter.restrictSubscriptions.rawValue) != .bool(false)
    }
  }
}
