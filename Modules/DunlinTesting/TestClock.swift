public import Foundation
import Synchronization

/// A wall clock that advances only when a test moves it.
///
/// ```swift
/// let clock = TestClock()
/// let database = try TestDatabase(clock: clock)
/// clock.advance(by: .seconds(8 * 86_400))   // deletions may be forgotten now
/// ```
///
/// Connections still use the system's timers: a test cuts them, and does not wait for them.
public final class TestClock: Sendable {
  private let time: Mutex<Date>

  /// Makes a clock that shows a time; by default noon of 2030-01-01, UTC.
  public init(_ now: Date = Date(timeIntervalSince1970: 1_893_499_200)) { time = Mutex(now) }

  /// The time that the clock shows; it may be set back, as a device's clock can be.
  public var now: Date {
    get { time.withLock { $0 } }
    set { time.withLock { $0 = newValue } }
  }

  /// Moves the clock forward; a negative duration moves it back.
  public func advance(by duration: Duration) {
    let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    time.withLock { $0 += seconds }
  }
}
