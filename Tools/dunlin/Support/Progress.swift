import Foundation

/// One line of progress on standard error: a bar, counts and the rate; silent when that is no terminal.
struct Progress {
  private let label: String
  private let total: Int?
  private let unit: String
  private let start = ContinuousClock.now
  private var lastDrawn: ContinuousClock.Instant?
  private let isTerminal = isatty(2) == 1

  init(_ label: String, total: Int? = nil, unit: String = "documents") {
    self.label = label
    self.total = total
    self.unit = unit
  }

  mutating func update(_ count: Int) {
    guard isTerminal else { return }
    let now = ContinuousClock.now
    if let lastDrawn, now - lastDrawn < .milliseconds(80) { return }
    lastDrawn = now
    FileHandle.standardError.write(Data(("\r\u{1B}[2K" + line(count)).utf8))
  }

  /// Ends the line and returns what it said, for those who have no terminal.
  mutating func finish(_ count: Int) -> String {
    if isTerminal { FileHandle.standardError.write(Data("\r\u{1B}[2K".utf8)) }
    return line(count)
  }

  private func line(_ count: Int) -> String {
    let seconds = max((ContinuousClock.now - start).seconds, 0.001)
    let rate = "\(Int(Double(count) / seconds).grouped)/s"
    guard let total, total > 0 else { return "\(label)  \(count.grouped) \(unit)  \(rate)" }
    let share = min(Double(count) / Double(total), 1)
    let filled = Int(share * 24)
    let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 24 - filled)
    return "\(label)  \(bar) \(Int(share * 100))%  \(count.grouped)/\(total.grouped) \(unit)  \(rate)"
  }
}

extension Duration {
  var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension Int {
  /// With commas between thousands.
  var grouped: String {
    var digits = String(magnitude)
    var groups: [String] = []
    while digits.count > 3 {
      groups.insert(String(digits.suffix(3)), at: 0)
      digits.removeLast(3)
    }
    return (self < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
  }

  /// As kilobytes or megabytes.
  var asBytes: String {
    if self >= 10_000_000 { return String(format: "%.1f MB", Double(self) / 1e6) }
    return self >= 10_000 ? String(format: "%.1f KB", Double(self) / 1e3) : "\(self) B"
  }
}
