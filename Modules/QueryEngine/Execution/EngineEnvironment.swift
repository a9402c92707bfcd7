public import DocStore

/// What the engine takes from the machine it runs on, passed in so that the engine itself reads nothing.
public struct EngineEnvironment: Sendable {
  /// Nanoseconds of a clock that only goes forward, from any beginning.
  public var now: @Sendable () -> UInt64
  /// Milliseconds since 1970, for `clock`.
  public var wallClock: @Sendable () -> Int64
  /// How far east of Greenwich, in seconds, a named time zone is at a moment in milliseconds since 1970.
  public var zoneOffset: @Sendable (_ zone: String, _ milliseconds: Int64) -> Int?
  /// What `request_info` calls the application; `nil` where it has no name.
  public var appID: String?
  /// Told how far CREATE INDEX has come, after each slice of its work.
  public var indexProgress: @Sendable (IndexProgress) -> Void
  /// Told of statements that took longer than the system parameters say; the text has no values in it.
  public var log: @Sendable (String) -> Void
  /// Told once of each field in a condition that no document has; `nil`: the log is told.
  public var hint: (@Sendable (String) -> Void)?

  public init(
    now: @escaping @Sendable () -> UInt64, wallClock: @escaping @Sendable () -> Int64 = { 0 },
    zoneOffset: @escaping @Sendable (String, Int64) -> Int? = { _, _ in nil }, appID: String? = nil,
    indexProgress: @escaping @Sendable (IndexProgress) -> Void = { _ in },
    log: @escaping @Sendable (String) -> Void = { _ in }, hint: (@Sendable (String) -> Void)? = nil
  ) {
    self.now = now
    self.wallClock = wallClock
    self.zoneOffset = zoneOffset
    self.appID = appID
    self.log = log
    self.hint = hint
    self.indexProgress = indexProgress
  }
}
