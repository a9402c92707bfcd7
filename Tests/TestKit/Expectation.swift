// Tools that are linked statically have no Testing.
#if canImport(Testing)
  public import Testing

  /// Records an issue at the caller's line unless `condition` holds.
  ///
  /// It is meant for loops, where `#expect` is expensive: `#expect` takes its condition apart even where it
  /// holds. Only `comment` reports the values in the condition.
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
