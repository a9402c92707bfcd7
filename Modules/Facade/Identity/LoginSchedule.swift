#if TLS
  package import Foundation
  import Links

  /// When to ask an application to log in: before its certificate expires, and when there is none.
  ///
  /// The application is asked from about two thirds of the certificate's lifetime on, then whenever half of
  /// the remaining time has passed. After a failed login it is asked again. The delay before that grows, has
  /// jitter, and is at least what the service asks for.
  package struct LoginSchedule {
    /// The question to the application.
    package enum Question: Equatable {
      /// A login: there is no certificate.
      case required
      /// Log in, since the certificate expires in this number of seconds.
      case expiringSoon(seconds: Int64)
    }

    /// The next action.
    package enum Step: Equatable {
      case ask(Question)
      /// The certificate has ended.
      case expire
      /// Do nothing before that time; with `nil`, wait for another event.
      case wait(until: Date?)
    }

    /// The least number of seconds between two questions while a certificate is valid.
    private static let pause: TimeInterval = 60
    /// The least number of seconds between a login and the next question, whenever its certificate expires.
    private static let leastTime: TimeInterval = 5
    /// The greatest delay in seconds while there is no certificate.
    ///
    /// A longer delay can only result from a clock that was set back.
    private static let longestDelay: TimeInterval = 3_700
    /// Seconds before the application is asked again after a login whose token or answer was wrong.
    private static let refusedPause: TimeInterval = 60

    /// The certificate's validity; `nil` if there is none.
    private var validity: Range<Date>?
    /// When to ask next; `nil` waits for another event.
    private var next: Date?
    /// No question is asked before this time, since a user has just logged in.
    private var earliest = Date.distantPast
    /// Whether the application is being asked and has not returned.
    private var isAsking = false
    private var delays: Backoff
    private let random: @Sendable () -> UInt64

    package init(random: @escaping @Sendable () -> UInt64 = { .random(in: 0 ... .max) }) {
      self.random = random
      delays = Backoff(initial: .seconds(2), longest: .seconds(300), random: random)
    }

    /// Returns the next action; a question counts as asked.
    package mutating func step(at now: Date) -> Step {
      if validity == nil, let next, next.timeIntervalSince(now) > Self.longestDelay { self.next = now }
      if earliest.timeIntervalSince(now) > Self.longestDelay { earliest = now }
      if let validity, now >= validity.upperBound {
        self.validity = nil
        next = max(now, earliest)
        return .expire
      }
      guard let next, next <= now, !isAsking else {
        let times = [isAsking ? nil : next, validity?.upperBound].compactMap(\.self)
        return .wait(until: times.min())
      }
      isAsking = true
      guard let end = validity?.upperBound else {
        self.next = nil
        return .ask(.required)
      }
      let left = end.timeIntervalSince(now)
      self.next = now + max(left / 2, Self.pause)
      return .ask(.expiringSoon(seconds: Int64(left)))
    }

    /// Records that the application has returned from a question.
    package mutating func answered() { isAsking = false }

    /// Records that a certificate was obtained.
    ///
    /// - Parameters:
    ///   - time: When it was obtained.
    ///   - end: When it expires.
    package mutating func granted(at time: Date, until end: Date) {
      validity = min(time, end)..<end
      // If many devices have logged in together, each one renews at a different time.
      let jitter = Double(random() >> 11) / Double(1 << 53) - 0.5
      earliest = time + Self.leastTime
      next = max(time + max(end.timeIntervalSince(time), 0) * (2.0 / 3 + jitter / 15), earliest)
      delays.reset()
    }

    /// Records that there is no longer a certificate.
    ///
    /// - Parameter time: When to ask for another one; `nil` waits for ``require(at:)``.
    package mutating func lost(askingAt time: Date?) {
      validity = nil
      next = time
      delays.reset()
    }

    /// Schedules a question now if there is no certificate and no question is scheduled.
    package mutating func require(at now: Date) { if validity == nil, next == nil { next = now } }

    /// Records that the application could not even try to log in.
    ///
    /// This schedules another question if none is scheduled otherwise.
    package mutating func gaveUp(at now: Date) {
      if validity == nil, next == nil { _ = failed(at: now, isPassing: true, retryAfter: nil) }
    }

    /// Records that a login has failed.
    ///
    /// - Parameters:
    ///   - now: The current time.
    ///   - isPassing: Whether the same attempt may succeed later.
    ///   - retryAfter: How long the service asks to wait.
    /// - Returns: When the application is asked again.
    package mutating func failed(at now: Date, isPassing: Bool, retryAfter: Duration?) -> Date {
      var delay = max(delays.next() / .seconds(1), (retryAfter ?? .zero) / .seconds(1))
      if !isPassing { delay = max(delay, Self.refusedPause) }
      next = now + delay
      return now + delay
    }
  }
#endif
