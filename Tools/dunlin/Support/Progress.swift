import CRDTCore
import Foundation

/// One line of progress on standard error: a bar, counts and the rate; silent when that is no terminal.
struct Progress {
  private let label: String
  private let total: Int?
  private let unit: (one: String, many: String)
  private let start = ContinuousClock.now
  private var lastDrawn: ContinuousClock.Instant?
  private let isTerminal = isatty(2) == 1

  /// - Parameters:
  ///   - label: What is done.
  ///   - total: How many there are, where that is known.
  ///   - unit: What is counted: one of it, and many.
  init(_ label: String, total: Int? = nil, unit: (one: String, many: String) = ("document", "documents")) {
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

  /// What is shown for so many.
  func line(_ count: Int) -> String {
    let seconds = max((ContinuousClock.now - start).seconds, 0.001)
    let rate = "\(Int(Double(count) / seconds).groupedDigits)/s"
    guard let total, total > 0 else { return "\(label)  \(count.counting(unit.one, unit.many))  \(rate)" }
    let share = min(Double(count) / Double(total), 1)
    let filled = Int(share * 24)
    let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 24 - filled)
    return
      "\(label)  \(bar) \(Int(share * 100))%  \(count.groupedDigits)/\(total.groupedDigits) \(unit.many)  \(rate)"
  }
}

extension Duration {
  /// As a number of seconds.
  var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension Int {
  /// As kilobytes or megabytes.
  var asBytes: String {
    if self >= 10_000_000 { return String(format: "%.1f MB", Double(self) / 1e6) }
    return self >= 10_000 ? String(format: "%.1f KB", Double(self) / 1e3) : "\(self) B"
  }
}
