import CRDTCore
import Foundation

/// One line of progress on standard error: a bar, counts, the rate and the time left.
///
/// It prints nothing if standard error is no terminal.
struct Progress {
  /// Where progress shows.
  enum Place {
    /// On a terminal alone.
    case terminal
    /// Also elsewhere, a line each second.
    case everywhere
    case nowhere
  }

  private let label: String
  private let total: Int?
  private let unit: (one: String, many: String)
  private let start: ContinuousClock.Instant
  private var lastDrawn: ContinuousClock.Instant?
  private let isTerminal: Bool
  private let isShown: Bool
  private static let barColumns = 10

  /// - Parameters:
  ///   - label: What is done.
  ///   - total: How many there are, where that is known.
  ///   - unit: What is counted: one of it, and many.
  ///   - start: Since when it is done: rates go by that.
  ///   - place: Where it shows.
  init(
    _ label: String, total: Int? = nil, unit: (one: String, many: String) = ("document", "documents"),
    start: ContinuousClock.Instant = .now, place: Place = .terminal
  ) {
    self.label = label
    self.total = total
    self.unit = unit
    self.start = start
    isTerminal = isatty(STDERR_FILENO) == 1
    isShown = place == .everywhere || place == .terminal && isTerminal
  }

  /// - Parameters:
  ///   - count: How many are done.
  ///   - share: Which part of the work that is, where no total is known.
  mutating func update(_ count: Int, share: Double? = nil) {
    guard isShown else { return }
    let now = ContinuousClock.now
    if let lastDrawn, now - lastDrawn < .milliseconds(isTerminal ? 80 : 1_000) { return }
    lastDrawn = now
    let text = line(count, share)
    guard isTerminal else { return Output.note(text) }
    let shown = text.cut(toColumns: Terminal.width(of: STDERR_FILENO) - 1)
    FileHandle.standardError.write(Data(("\r\u{1B}[2K" + shown).utf8))
  }

  /// Ends the line and returns what it said, for those who have no terminal.
  mutating func finish(_ count: Int) -> String {
    clear()
    return line(count, nil)
  }

  /// Takes the line away.
  func clear() {
    if isShown, isTerminal, lastDrawn != nil {
      FileHandle.standardError.write(Data("\r\u{1B}[2K".utf8))
    }
  }

  /// How long it has taken.
  var seconds: Double { max((ContinuousClock.now - start).seconds, 0.001) }

  /// What is shown for so many.
  func line(_ count: Int, _ part: Double? = nil) -> String {
    let seconds = seconds
    let rate = "\(Int(Double(count) / seconds).groupedDigits)/s"
    guard let share = total.map({ $0 > 0 ? Double(count) / Double($0) : nil }) ?? part else {
      return "\(label)  \(count.counting(unit.one, unit.many))  \(rate)"
    }
    let done = min(max(share, 0), 1)
    let bar = "\(Bar.text(done, columns: Self.barColumns)) \(Int(done * 100))%"
    let left = done > 0.01 && done < 1 ? "  \(Self.timeLeft(seconds * (1 - done) / done)) left" : ""
    let counted =
      total.map { "\(count.groupedDigits)/\($0.groupedDigits) \(unit.many)" }
      ?? count.counting(unit.one, unit.many)
    return "\(label)  \(bar)  \(counted)  \(rate)\(left)"
  }

  private static func timeLeft(_ seconds: Double) -> String {
    Duration.seconds(max(1, Int(min(seconds, 1e9)))).text
  }
}

/// A bar of characters.
enum Bar {
  /// A bar that is filled to `share`, from 0 to 1.
  static func text(_ share: Double, columns: Int) -> String {
    let whole = share.isFinite ? min(max(share, 0), 1) : 0
    let filled = Int((whole * Double(columns)).rounded())
    return String(repeating: "█", count: filled) + String(repeating: "░", count: columns - filled)
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
