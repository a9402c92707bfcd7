#if TLS
  package import Foundation
  import Links

  /// The time source for logins: the wall clock, on which certificates depend, and a way to wait.
  package struct LoginTime: Sendable {
    /// The wall clock.
    package let now: @Sendable () -> Date
    /// Waits until a time, or for less, since the wall clock may be set.
    ///
    /// It throws when the task is cancelled.
    package let wait: @Sendable (Date) async throws -> Void

    package init(
      now: @escaping @Sendable () -> Date, wait: @escaping @Sendable (Date) async throws -> Void
    ) {
      self.now = now
      self.wait = wait
    }

    /// The time of a wall clock.
    ///
    /// A wait checks the clock each minute, since timers stop while a device sleeps.
    init(clock: @escaping @Sendable () -> Date) {
      now = clock
      wait = { end in
        let seconds = min(max(end.timeIntervalSince(clock()), 0.001), 60)
        try await TransportClock.continuous.sleep(for: .seconds(seconds))
      }
    }
  }
#endif
