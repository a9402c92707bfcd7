import CRDTCore

/// Durations as texts: `1h30m`, `1.5s`, `250ms`, or `P1DT2H30M` as in ISO 8601.
enum DurationText {
  private static let units: [(name: String, milliseconds: Int64)] = [
    ("ms", 1), ("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000),
  ]

  /// - Returns: Milliseconds; `nil` for a text that is not a duration, and for a duration that is too long.
  static func parse(_ text: String) -> Int64? {
    var rest = text.utf8[...]
    let isNegative = rest.first == UInt8(ascii: "-")
    if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
    let isISO = rest.first == UInt8(ascii: "P")
    if isISO { rest.removeFirst() }
    guard !rest.isEmpty else { return nil }
    var total: Int64 = 0
    // In ISO 8601 an M before the T is a month, which has no fixed length.
    var isTime = !isISO
    while !rest.isEmpty {
      if isISO, !isTime, rest.first == UInt8(ascii: "T") {
        isTime = true
        rest.removeFirst()
        guard !rest.isEmpty else { return nil }
      }
      guard let part = takePart(&rest, isISO: isISO, isTime: isTime) else { return nil }
      let (sum, overflow) = total.addingReportingOverflow(part)
      guard !overflow else { return nil }
      total = sum
    }
    return isNegative ? -total : total
  }

  /// Reads a number and its unit.
  private static func takePart(_ rest: inout Substring.UTF8View, isISO: Bool, isTime: Bool) -> Int64? {
    let isDigit = { (byte: UInt8) in (0x30...0x39).contains(byte) }
    let digits = rest.prefix(while: isDigit)
    rest = rest.dropFirst(digits.count)
    var fraction = ""
    if rest.first == UInt8(ascii: ".") {
      rest.removeFirst()
      fraction = String(Substring(rest.prefix(while: isDigit)))
      rest = rest.dropFirst(fraction.utf8.count)
      guard !fraction.isEmpty else { return nil }
    }
    let letters = rest.prefix { !isDigit($0) && $0 != UInt8(ascii: "T") && $0 != UInt8(ascii: ".") }
    let name = String(Substring(letters))
    rest = rest.dropFirst(letters.count)
    guard let whole = Int64(String(Substring(digits))), whole < 1 << 50, fraction.utf8.count <= 9,
      let unit = units.first(where: { $0.name.isSame(as: isISO ? name.lowercased() : name) })
    else { return nil }
    let isDay = unit.name.isSame(as: "w") || unit.name.isSame(as: "d")
    guard !isISO || isDay != isTime && !unit.name.isSame(as: "ms") else { return nil }
    let (scaled, overflow) = whole.multipliedReportingOverflow(by: unit.milliseconds)
    let part = fraction.isEmpty ? 0 : (Double("0." + fraction) ?? 0) * Double(unit.milliseconds)
    return overflow ? nil : scaled.addingReportingOverflow(Int64(part.rounded())).partialValue
  }

  /// `1h30m0s`; below a second `250ms`.
  static func text(milliseconds: Int64) -> String {
    if milliseconds.magnitude < 1_000 { return "\(milliseconds)ms" }
    let total = milliseconds.magnitude
    let (hours, minutes, seconds, rest) = (
      total / 3_600_000, total / 60_000 % 60, total / 1_000 % 60, total % 1_000
    )
    var text = milliseconds < 0 ? "-" : ""
    if hours > 0 { text += "\(hours)h" }
    if total >= 60_000 { text += "\(minutes)m" }
    var fraction = rest == 0 ? "" : "." + DateText.padded(Int(rest), 3)
    while fraction.utf8.last == UInt8(ascii: "0") { fraction.removeLast() }
    return text + "\(seconds)\(fraction)s"
  }
}
