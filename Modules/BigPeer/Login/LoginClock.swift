#if Server
  package import Foundation

  /// The times that logins go by.
  package struct LoginClock: Sendable {
    /// The wall clock, which certificates go by.
    package var now: @Sendable () -> Date
    /// A clock that nobody sets, which limits and challenges go by.
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
