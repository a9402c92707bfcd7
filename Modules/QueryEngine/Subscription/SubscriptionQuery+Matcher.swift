extension SubscriptionQuery {
  /// A matcher of the query's documents; resolve it against the collection's keys before use.
  public var matcher: RecordMatcher {
    // A query has a value for every parameter from its making on.
    do { return try RecordMatcher(predicate, arguments: arguments) } catch { return .nothing }
  }
}
