/// A hybrid logical clock reading: 48 bits of wall milliseconds, then a 16-bit counter.
///
/// Source: Kulkarni et al., "Logical Physical Clocks and Consistent Snapshots", OPODIS 2014.
public struct ClockReading: Hashable, Sendable, Comparable, BitwiseCopyable {
  public var rawValue: UInt64

  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Milliseconds since 1970-01-01T00:00:00Z; the counter starts at `counter`.
  public init(milliseconds: UInt64, counter: UInt16 = 0) {
    self.rawValue = (min(milliseconds, 0xFFFF_FFFF_FFFF) << 16) | UInt64(counter)
  }

  /// The reading of default data, below every real one.
  public static let zero = ClockReading(rawValue: 0)

  /// The greatest clock reading that is accepted from a peer's document.
  ///
  /// Above it, 2^48 clock readings remain for later writes.
  public static let latestAccepted = ClockReading(milliseconds: 0xFFFF_0000_0000)

  public var milliseconds: UInt64 { rawValue >> 16 }
  public var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

  /// The clock reading just above this one; the greatest one returns itself.
  public var next: ClockReading { ClockReading(rawValue: rawValue == .max ? .max : rawValue + 1) }

  public static func < (a: ClockReading, b: ClockReading) -> Bool { a.rawValue < b.rawValue }
}

/// The time of a write: a clock reading, then the site that took it; stamps are totally ordered.
public struct Stamp: Hashable, Sendable, Comparable {
  public var reading: ClockReading
  public var site: SiteID

  public init(reading: ClockReading, site: SiteID) {
    self.reading = reading
    self.site = site
  }

  /// The stamp of default data: the same on every device, and below every real write's.
  public static let zero = Stamp(reading: .zero, site: .zero)

  public static func < (a: Stamp, b: Stamp) -> Bool {
    a.reading != b.reading ? a.reading < b.reading : a.site < b.site
  }
}
