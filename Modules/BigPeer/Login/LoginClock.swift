#if Server
  package import Foundation

  /// The clocks for logins.
  package struct LoginClock: Sendable {
    /// The wall clock, for the validity of certificates.
    package var now: @Sendable () -> Date
    /// A monotonic clock, for limits and challenges.
    package var moment: @Sendable () -> Duration

    package init(now: @escaping @Sendable () -> Date, moment: @escaping @Sendable () -> Duration) {
      self.now = now
      self.moment = moment
    }

    /// The system's clocks.
    package static let system: LoginClock = {
      let start = ContinuousClock.now
      return LoginClock(now: { Date() }, moment: { ContinuousClock.now - start })
    }()
  }
#endif
