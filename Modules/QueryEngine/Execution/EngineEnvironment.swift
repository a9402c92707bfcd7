public import DocStore

/// What the engine takes from the machine it runs on, passed in so that the engine itself reads nothing.
public struct EngineEnvironment: Sendable {
  /// Nanoseconds of a clock that only goes forward, from any beginning.
  public var now: @Sendable () -> UInt64
  /// Told how far CREATE INDEX has come, after each slice of its work.
  public var indexProgress: @Sendable (IndexProgress) -> Void

  public init(
    now: @escaping @Sendable () -> UInt64,
    indexProgress: @escaping @Sendable (IndexProgress) -> Void = { _ in }
  ) {
    self.now = now
    self.indexProgress = indexProgress
  }
}
