/// The identity under which one database writes: 128 random bits.
public struct SiteID: Hashable, Sendable, Comparable, BitwiseCopyable {
  public var high: UInt64
  public var low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The site of default data: below every real site, and not the site of any database.
  public static let zero = SiteID(high: 0, low: 0)

  public static func < (a: SiteID, b: SiteID) -> Bool { a.high != b.high ? a.high < b.high : a.low < b.low }
}

extension SiteID: CustomStringConvertible {
  public var description: String {
    func hex(_ word: UInt64) -> String {
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    return hex(high) + hex(low)
  }
}
