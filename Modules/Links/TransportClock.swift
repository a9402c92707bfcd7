import NIOCore
import NIOPosix

/// The clock of links and drivers: they read it and sleep on it, so that a test can replace it.
public struct TransportClock: Sendable {
  private let read: @Sendable () -> Duration
  private let wait: @Sendable (Duration) async throws -> Void

  /// Uses `clock`, with the time of this call as zero.
  public init<Source: Clock>(_ clock: Source) where Source.Duration == Duration {
    let origin = clock.now
    read = { origin.duration(to: clock.now) }
    wait = { deadline in try await clock.sleep(until: origin.advanced(by: deadline), tolerance: nil) }
  }

  /// The time since an arbitrary moment; it never decreases.
  public var now: Duration { read() }

  /// Waits until `now` has reached `deadline`.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  public func sleep(until deadline: Duration) async throws { try await wait(deadline) }

  /// Waits for `duration` from now.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  public func sleep(for duration: Duration) async throws { try await wait(read() + duration) }

  private init(
    read: @escaping @Sendable () -> Duration, wait: @escaping @Sendable (Duration) async throws -> Void
  ) {
    (self.read, self.wait) = (read, wait)
  }

  /// The system's clock that continues while the machine sleeps.
  ///
  /// It waits on the event loops, whose timers exist once the loops run. The runtime's own timers open file
  /// descriptors when they are first used, and end the process when there are none.
  public static let continuous: TransportClock = {
    let clock = ContinuousClock()
    let origin = clock.now
    let read = { @Sendable in origin.duration(to: clock.now) }
    return TransportClock(read: read) { deadline in
      try Task.checkCancellation()
      while true {
        let left = deadline - read()
        guard left > .zero else { return }
        // The loops' clock stops while the machine sleeps, so the wait is split and checked again.
        try await sleepOnEventLoop(min(left, .seconds(30)))
      }
    }
  }()

  private static func sleepOnEventLoop(_ duration: Duration) async throws {
    let alarm = TCP.group.any().scheduleTask(in: TimeAmount(duration)) {}
    do {
      try await withTaskCancellationHandler {
        try await alarm.futureResult.get()
      } onCancel: {
        alarm.cancel()
      }
    } catch {
      throw CancellationError()
    }
  }
}
