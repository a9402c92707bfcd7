extension Duration {
  /// The duration as people say it, with two or three digits: `83 ms`, `1.4 s`, `2 min`, `3 h`.
  package var text: String {
    if self < .zero { return "-" + (.zero - self).text }
    // With `rounded()`, a program that links only this module would need the C math library.
    func rounded(to unit: Duration) -> Int64 { Int64(self / unit + 0.5) }
    switch self {
    case .zero: return "0 s"
    case ..<Duration.milliseconds(1): return "\(rounded(to: .microseconds(1))) µs"
    case ..<Duration.nanoseconds(999_500_000): return "\(rounded(to: .milliseconds(1))) ms"
    case ..<Duration.milliseconds(9_950):
      let tenths = rounded(to: .milliseconds(100))
      return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    case ..<Duration.seconds(120): return "\(rounded(to: .seconds(1))) s"
    case ..<Duration.seconds(7_200): return "\(rounded(to: .seconds(60))) min"
    case ..<Duration.seconds(172_800): return "\(rounded(to: .seconds(3_600))) h"
    default: return "\(rounded(to: .seconds(86_400))) days"
    }
  }
}

extension Int {
  /// Returns the number and what it counts: `1 row`, `2,000 rows`.
  ///
  /// - Parameters:
  ///   - singular: The noun for one.
  ///   - plural: The noun for any other number; by default the singular with an s.
  /// - Returns: The text, with commas between thousands.
  package func counting(_ singular: String, _ plural: String? = nil) -> String {
    "\(groupedDigits) \(self == 1 ? singular : plural ?? singular + "s")"
  }

  /// The number with commas between thousands.
  package var groupedDigits: String {
    var digits = String(magnitude)
    var groups: [String] = []
    while digits.utf8.count > 3 {
      groups.insert(String(digits.suffix(3)), at: 0)
      digits.removeLast(3)
    }
    return (self < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
  }
}
