/// The random part of a site that is derived from a key, so that one key can have many sites.
public struct SiteSalt: Hashable, Sendable {
  public let high: UInt64
  public let low: UInt64

  /// The length in bytes.
  public static let byteCount = 16

  /// The salt of sites that are not derived from a key.
  public static let zero = SiteSalt(high: 0, low: 0)

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The salt's bytes, the highest first.
  public var bytes: [UInt8] {
    [high, low].flatMap { word in
      stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
    }
  }
}
