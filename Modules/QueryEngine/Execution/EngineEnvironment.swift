/// What the engine takes from the machine it runs on, passed in so that the engine itself reads nothing.
public struct EngineEnvironment: Sendable {
  /// Nanoseconds of a clock that only goes forward, from any beginning.
  public var now: @Sendable () -> UInt64

  public init(now: @escaping @Sendable () -> UInt64) { self.now = now }
}
