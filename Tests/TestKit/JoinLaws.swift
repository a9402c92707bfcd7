// Tools that are linked statically have no Testing.
#if canImport(Testing)
  public import Testing

  /// Expects `join` to be commutative, associative and idempotent on these three states.
  ///
  /// The three may have been reached independently; `comment` names the case, for example its seed.
  public func expectJoinLaws<State: Equatable>(
    _ states: (State, State, State), _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, join: (State, State) throws -> State
  ) rethrows {
    let (a, b, c) = states
    let ab = try join(a, b)
    try expectEqual(ab, join(b, a), comment ?? "join is commutative", sourceLocation: sourceLocation)
    try expectEqual(
      join(ab, c), join(a, join(b, c)), comment ?? "join is associative", sourceLocation: sourceLocation)
    try expectEqual(join(a, a), a, comment ?? "join is idempotent", sourceLocation: sourceLocation)
    try expectEqual(join(ab, b), ab, comment ?? "join absorbs what it holds", sourceLocation: sourceLocation)
  }
#endif
