extension Duration {
  /// The duration as people say it: `83 ms`, `1.4 s`, `2 min`, `3 h`; two or three digits are enough.
  package var text: String {
    let nanoseconds = components.attoseconds / 1_000_000_000
    let milliseconds = (nanoseconds + 500_000) / 1_000_000
    let seconds = components.seconds
    if seconds < 0 || nanoseconds < 0 { return "-" + (.zero - self).text }
    if seconds == 0, milliseconds < 1 { return nanoseconds == 0 ? "0 s" : "\((nanoseconds + 500) / 1_000) µs" }
    if seconds == 0, milliseconds < 1_000 { return "\(milliseconds) ms" }
    if seconds < 10 {
      let tenths = seconds * 10 + (milliseconds + 50) / 100
      return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }
    if seconds < 120 { return "\(seconds + (milliseconds + 500) / 1_000) s" }
    if seconds < 7_200 { return "\((seconds + 30) / 60) min" }
    return seconds < 172_800 ? "\((seconds + 1_800) / 3_600) h" : "\((seconds + 43_200) / 86_400) days"
  }
}

extension Int {
  /// The number and what it counts: `1 row`, `2,000 rows`.
  ///
  /// - Parameters:
  ///   - singular: The noun for one.
  ///   - plural: The noun for any other number; by default the other one with an s.
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
