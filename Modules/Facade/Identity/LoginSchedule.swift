#if TLS
  package import Foundation
  import Transports

  /// When an application is asked to log in: before its certificate ends, and when there is none.
  ///
  /// It is asked from about two thirds of the certificate's time on, then whenever half of what is left has gone. A login that
  /// fails is asked for again after a delay that grows, with jitter, and no sooner than the service wishes.
  package struct LoginSchedule {
    /// What the application is asked for.
    package enum Question: Equatable {
      /// A login: there is no certificate.
      case required
      /// A login, since the certificate ends in so many seconds.
      case expiringSoon(seconds: Int64)
    }

    /// What is to be done now.
    package enum Step: Equatable {
      case ask(Question)
      /// The certificate has ended.
      case expire
      /// Nothing before that time; `nil` is nothing at all before something happens.
      case wait(until: Date?)
    }

    /// Seconds that lie between two questions at least while a certificate holds.
    private static let pause: TimeInterval = 60
    /// Seconds between a login and the next question at least, however soon the certificate ends that it has given.
    private static let leastTime: TimeInterval = 5
    /// Seconds that anything is put off at most where there is no certificate; more comes of a clock that was set back.
    private static let longestDelay: TimeInterval = 3_700
    /// Seconds before a login is asked for again whose token or answer was wrong.
    private static let refusedPause: TimeInterval = 60

    /// The time that the certificate has; `nil` where there is none.
    private var validity: Range<Date>?
    /// When to ask next; `nil` is not at all before something happens.
    private var next: Date?
    /// Before which nothing is asked, since somebody has just logged in.
    private var earliest = Date.distantPast
    /// Whether the application is being asked, and has not come back.
    private var isAsking = false
    private var delays: Backoff
    private let random: @Sendable () -> UInt64

    package init(random: @escaping @Sendable () -> UInt64 = { .random(in: 0 ... .max) }) {
      self.random = random
      delays = Backoff(initial: .seconds(2), longest: .seconds(300), random: random)
    }

    /// What is to be done now; a question counts as asked.
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

    /// The application has come back from being asked.
    package mutating func answered() { isAsking = false }

    /// A certificate was obtained.
    ///
    /// - Parameters:
    ///   - time: When.
    ///   - end: Until when it holds.
    package mutating func granted(at time: Date, until end: Date) {
      validity = min(time, end)..<end
      // Of many devices that have logged in together, each one renews at a time of its own.
      let jitter = Double(random() >> 11) / Double(1 << 53) - 0.5
      earliest = time + Self.leastTime
      next = max(time + max(end.timeIntervalSince(time), 0) * (2.0 / 3 + jitter / 15), earliest)
      delays.reset()
    }

    /// There is no certificate any more.
    ///
    /// - Parameter time: When to ask for another one; `nil` is not before ``require(at:)``.
    package mutating func lost(askingAt time: Date?) {
      validity = nil
      next = time
      delays.reset()
    }

    /// Sees to it that the application is asked, where there is no certificate and no time to ask.
    package mutating func require(at now: Date) { if validity == nil, next == nil { next = now } }

    /// The application could not even try to log in: it is asked again where it would not be otherwise.
    package mutating func gaveUp(at now: Date) {
      if validity == nil, next == nil { _ = failed(at: now, isPassing: true, retryAfter: nil) }
    }

    /// A login has failed.
    ///
    /// - Parameters:
    ///   - now: When.
    ///   - isPassing: Whether the same attempt may well succeed later.
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
