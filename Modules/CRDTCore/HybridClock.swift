import Failpoints

/// A site's hybrid logical clock: strictly rising, close to wall time, and never dragged far ahead.
///
/// It is a value: the wall clock is passed in, and persisting ``latest`` (or a ceiling above it) is
/// the caller's part.
///
/// Source: Kulkarni et al., "Logical Physical Clocks and Consistent Snapshots", OPODIS 2014.
public struct HybridClock: Sendable {
  /// How far ahead of the wall clock a peer's reading may pull this clock.
  public static let maximumLead: Duration = .seconds(300)
  /// How far ahead of the wall clock a peer's document may be to be taken in at all, in milliseconds: a
  /// hundred years.
  public static let maximumDocumentLead: UInt64 = 36_525 * 86_400_000

  /// Whether a document that mentions `reading` may be taken in.
  ///
  /// Later writes are stamped above all that a document mentions. As time passes the bound moves on, so what
  /// was let in can always be written to.
  public static func accepts(_ reading: ClockReading, now: UInt64) -> Bool {
    reading.milliseconds <= now || reading.milliseconds - now <= maximumDocumentLead
  }

  /// The greatest reading given out or adopted so far.
  public private(set) var latest: ClockReading

  /// The counter of a millisecond's first reading.
  private var firstCounter: UInt16 = 0

  public init(latest: ClockReading = .zero) { self.latest = latest }

  /// Takes a reading above every earlier one; `now` is wall time in milliseconds since 1970.
  public mutating func tick(now: UInt64) -> ClockReading {
    latest =
      CRDTDefect.wallClockAlone.isPlanted
      ? ClockReading(milliseconds: now)
      : max(latest.next, ClockReading(milliseconds: now, counter: firstCounter))
    return latest
  }

  /// Sees to it that a clock that was a copy of this one takes other readings from here on.
  ///
  /// Close to wall time, each millisecond's counter begins at 15 bits of `random`. A clock that is ahead of it goes on up to
  /// 16 ms later, at 20 other bits.
  ///
  /// - Parameters:
  ///   - random: Random bits, drawn for this.
  ///   - now: Wall time in milliseconds since 1970.
  package mutating func diverge(by random: UInt64, now: UInt64) {
    firstCounter = UInt16(random & 0x7FFF)
    guard latest.milliseconds >= now, latest < .latestAccepted else { return }
    latest = ClockReading(rawValue: latest.rawValue + (random >> 16) & 0xF_FFFF)
  }

  /// Takes note of a peer's reading, so that later local writes come after it.
  ///
  /// - Parameters:
  ///   - reading: A reading seen in a peer's data.
  ///   - now: Wall time in milliseconds since 1970.
  /// - Returns: `false` when the reading lies further ahead than ``maximumLead`` and was not adopted.
  public mutating func observe(_ reading: ClockReading, now: UInt64) -> Bool {
    let lead = UInt64(Self.maximumLead.components.seconds) * 1000
    guard reading.milliseconds <= now &+ lead else { return false }
    latest = max(latest, reading)
    return true
  }

  /// Takes note of a reading that the site gave out itself, above this clock, for a document that was ahead of it.
  ///
  /// - Parameters:
  ///   - reading: What it gave out.
  ///   - now: Wall time in milliseconds since 1970.
  /// - Returns: `false` when that would drag the clock further ahead than it is, and than ``maximumLead``.
  public mutating func goOn(from reading: ClockReading, now: UInt64) -> Bool {
    guard reading.milliseconds > latest.milliseconds else {
      latest = max(latest, reading)
      return true
    }
    return observe(reading, now: now)
  }
}
