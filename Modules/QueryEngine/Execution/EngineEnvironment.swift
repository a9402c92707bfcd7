public import DocStore

/// What the engine takes from the machine that it runs on.
///
/// It is passed in, so that the engine itself reads nothing.
public struct EngineEnvironment: Sendable {
  /// Nanoseconds of a clock that only goes forward, with any origin.
  public var now: @Sendable () -> UInt64
  /// Milliseconds since 1970, for `clock`.
  public var wallClock: @Sendable () -> Int64
  /// The offset of a named time zone at a moment.
  ///
  /// The offset is in seconds east of Greenwich; the moment is in milliseconds since 1970.
  public var zoneOffset: @Sendable (_ zone: String, _ milliseconds: Int64) -> Int?
  /// The name of the application in `request_info`; `nil` where it has no name.
  public var appID: String?
  /// Is called with the progress of CREATE INDEX, after each chunk of its work.
  public var indexProgress: @Sendable (IndexProgress) -> Void
  /// Is called with statements that took longer than the system parameters allow, without their values.
  public var log: @Sendable (String) -> Void
  /// Is called once for each field in a condition that no document has; `nil`: the log is called.
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
