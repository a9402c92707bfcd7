extension SubscriptionQuery {
  /// A matcher of the query's documents; resolve it against the collection's keys before use.
  public var matcher: RecordMatcher { compiled.matcher }
}
