/// The time that links and drivers go by: read and slept on through here, so that a test can replace it.
public struct TransportClock: Sendable {
  private let read: @Sendable () -> Duration
  private let wait: @Sendable (Duration) async throws -> Void

  /// Follows `clock`, with the moment of this call as zero.
  public init<Source: Clock>(_ clock: Source) where Source.Duration == Duration {
    let origin = clock.now
    read = { origin.duration(to: clock.now) }
    wait = { deadline in try await clock.sleep(until: origin.advanced(by: deadline), tolerance: nil) }
  }

  /// The time since an arbitrary moment; never goes back.
  public var now: Duration { read() }

  /// Waits until `now` has reached `deadline`.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  public func sleep(until deadline: Duration) async throws { try await wait(deadline) }

  /// Waits for `duration` from now.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  public func sleep(for duration: Duration) async throws { try await wait(read() + duration) }

  /// The system's clock that counts on while the machine sleeps.
  public static let continuous = TransportClock(ContinuousClock())
}
