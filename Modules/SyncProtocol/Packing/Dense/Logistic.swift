/// The tables of logistic mixing: from a probability to its logarithmic odds and back, in whole numbers.
///
/// Both ends of a session must compute the same, so nothing here is a floating-point number.
final class Logistic: Sendable {
  /// Odds range from -2,047 to 2,047, in units of 1/256 of the natural logarithm.
  private static let limit = 2_047
  /// The logistic curve at every 128th of the odds, as 12-bit probabilities.
  private static let points = [
    1, 2, 3, 6, 10, 16, 27, 45, 73, 120, 194, 310, 488, 747, 1_101, 1_546, 2_047, 2_549, 2_994, 3_348, 3_607,
    3_785, 3_901, 3_975, 4_022, 4_050, 4_068, 4_079, 4_085, 4_089, 4_092, 4_093, 4_094,
  ]

  static let shared = Logistic()

  // SAFETY: written before any other code can read them, and never freed.
  /// The probability for given odds, from 1 to 4,095, indexed by the odds plus 2,048.
  nonisolated(unsafe) let probabilities = UnsafeMutablePointer<Int>.allocate(capacity: 4_096)
  /// The odds for a 12-bit probability.
  nonisolated(unsafe) let odds = UnsafeMutablePointer<Int>.allocate(capacity: 4_096)
  /// How far a counter moves towards an observed bit, in units of 1/65,536, by its count.
  nonisolated(unsafe) let steps = UnsafeMutablePointer<Int>.allocate(capacity: 1_024)

  private init() {
    var known = 0
    for position in 0..<4_096 {
      let (low, fraction) = (position >> 7, position & 127)
      let value = max(1, (Self.points[low] * (128 - fraction) + Self.points[low + 1] * fraction + 64) >> 7)
      unsafe probabilities[position] = value
      while known <= value, known < 4_096 {
        unsafe odds[known] = position - 2_048
        known += 1
      }
    }
    while known < 4_096 {
      unsafe odds[known] = Self.limit
      known += 1
    }
    for count in 0..<1_024 { unsafe steps[count] = 655_360 / (10 * count + 16) }
  }

  static func bounded(_ odds: Int) -> Int { odds > limit ? limit : odds < -limit ? -limit : odds }
}
