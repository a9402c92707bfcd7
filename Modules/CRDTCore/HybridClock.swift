import Failpoints

/// A site's hybrid logical clock: strictly rising, close to wall time, and never far ahead of it.
///
/// It is a value: the caller passes the wall clock in, and the caller persists ``latest`` (or a ceiling above
/// it).
///
/// Source: Kulkarni et al., "Logical Physical Clocks and Consistent Snapshots", OPODIS 2014.
public struct HybridClock: Sendable {
  /// How far ahead of the wall clock a peer's clock reading may pull this clock.
  public static let maximumLead: Duration = .seconds(300)
  /// How far ahead of the wall clock an accepted document may be, in milliseconds: a hundred years.
  public static let maximumDocumentLead: UInt64 = 36_525 * 86_400_000

  /// Whether a document that mentions `reading` may be accepted.
  ///
  /// Later writes are stamped above every clock reading that a document mentions. The bound moves on with
  /// time, so an accepted document can always be written to.
  public static func accepts(_ reading: ClockReading, now: UInt64) -> Bool {
    reading.milliseconds <= now || reading.milliseconds - now <= maximumDocumentLead
  }

  /// The greatest clock reading that this clock returned or adopted so far.
  public private(set) var latest: ClockReading

  /// The counter of the first clock reading in a millisecond.
  private var firstCounter: UInt16 = 0

  public init(latest: ClockReading = .zero) { self.latest = latest }

  /// Returns a clock reading above every earlier one; `now` is wall time in milliseconds since 1970.
  public mutating func tick(now: UInt64) -> ClockReading {
    latest =
      CRDTDefect.wallClockAlone.isPlanted
      ? ClockReading(milliseconds: now)
      : max(latest.next, ClockReading(milliseconds: now, counter: firstCounter))
    return latest
  }

  /// Makes this clock and a clock that was a copy of it return different readings from now on.
  ///
  /// While the clock is close to wall time, each millisecond's counter begins at 15 bits of `random`. A clock
  /// that is ahead of wall time moves forward by up to 16 ms, by 20 other bits of `random`.
  ///
  /// - Parameters:
  ///   - random: Fresh random bits.
  ///   - now: Wall time in milliseconds since 1970.
  package mutating func diverge(by random: UInt64, now: UInt64) {
    firstCounter = UInt16(random & 0x7FFF)
    guard latest.milliseconds >= now, latest < .latestAccepted else { return }
    latest = ClockReading(rawValue: latest.rawValue + (random >> 16) & 0xF_FFFF)
  }

  /// Records a clock reading of a peer, so that later local writes come after it.
  ///
  /// - Parameters:
  ///   - reading: A clock reading from a peer's data.
  ///   - now: Wall time in milliseconds since 1970.
  /// - Returns: `false` when the reading is further ahead than ``maximumLead``; then the clock does not
  ///   adopt it.
  public mutating func observe(_ reading: ClockReading, now: UInt64) -> Bool {
    let lead = UInt64(Self.maximumLead.components.seconds) * 1000
    guard reading.milliseconds <= now &+ lead else { return false }
    latest = max(latest, reading)
    return true
  }

  /// Records a clock reading above this clock that the site itself used for a document ahead of it.
  ///
  /// - Parameters:
  ///   - reading: The clock reading that the site used.
  ///   - now: Wall time in milliseconds since 1970.
  /// - Returns: `false` when adopting it would put the clock further ahead than it is and than
  ///   ``maximumLead``.
  public mutating func goOn(from reading: ClockReading, now: UInt64) -> Bool {
    guard reading.milliseconds > latest.milliseconds else {
      latest = max(latest, reading)
      return true
    }
    return observe(reading, now: now)
  }
}
