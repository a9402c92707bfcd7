// Tools that are linked statically have no Testing.
#if canImport(Testing)
  public import Testing

  /// Records an issue at the caller's line unless `condition` holds.
  ///
  /// For loops, where `#expect` costs much: it takes its condition apart even where it holds. What the condition saw
  /// is told by `comment` alone.
  @inlinable
  public func expect(
    _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if !condition { recordFailure("The condition is false", comment(), sourceLocation) }
  }

  /// Records an issue that shows both values, at the caller's line, unless they are equal.
  @inlinable
  public func expectEqual<Value: Equatable>(
    _ one: Value, _ other: Value, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if one != other {
      recordFailure("\(String(reflecting: one)) != \(String(reflecting: other))", comment(), sourceLocation)
    }
  }

  @usableFromInline
  func recordFailure(_ failure: String, _ comment: Comment?, _ sourceLocation: SourceLocation) {
    let text = comment.map { "\($0.rawValue): \(failure)" } ?? failure
    Issue.record(Comment(rawValue: text), sourceLocation: sourceLocation)
  }
#endif
