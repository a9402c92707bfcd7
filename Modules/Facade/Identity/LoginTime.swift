#if TLS
  package import Foundation
  import Transports

  /// The time that logins go by: the wall clock, since certificates do, and a way to wait.
  package struct LoginTime: Sendable {
    /// The wall clock.
    package let now: @Sendable () -> Date
    /// Waits until a time, or for less, since the wall clock may be set; throws when the task is cancelled.
    package let wait: @Sendable (Date) async throws -> Void

    package init(
      now: @escaping @Sendable () -> Date, wait: @escaping @Sendable (Date) async throws -> Void
    ) {
      self.now = now
      self.wait = wait
    }

    /// That of a wall clock; it is looked at each minute, since timers stand still while a device sleeps.
    init(clock: @escaping @Sendable () -> Date) {
      now = clock
      wait = { end in
        let seconds = min(max(end.timeIntervalSince(clock()), 0.001), 60)
        try await TransportClock.continuous.sleep(for: .seconds(seconds))
      }
    }
  }
#endif
