import Foundation

/// Prints what rows came to, a line each, as soon as it is known.
struct Table {
  private static let widths = [22, 15, 5, 6, 6, 8, 26]

  func printHead() {
    Self.print(
      ["row", "MiB while/after", "cpu s", "disk", "log KB", "MiB sent", "worst wait ms, idle"], "verdict")
  }

  /// Prints what a row came to, and whether that is as it should be.
  func print(_ name: String, _ figures: Figures, _ misses: [String], mustMiss: Bool) {
    let worst =
      String(format: "%.0f", figures.attacked.worst) + " (\(String(format: "%.0f", figures.attacked.median)))"
    let idle = String(format: "%.0f (%.0f)", figures.idle.worst, figures.idle.median)
    var verdict = misses.isEmpty ? "as aimed" : "MISSED: " + misses.joined(separator: ", ")
    if mustMiss { verdict += misses.isEmpty ? " (a control that must be missed)" : " (as it must)" }
    if let bytes = figures.neighbourBytes { verdict += "; the neighbour received \(bytes) bytes" }
    Self.print(
      [
        name, "\(Self.mebibytes(figures.memoryWhile)) / \(Self.mebibytes(figures.memoryAfter))",
        String(format: "%.1f", figures.processorSeconds), Self.mebibytes(figures.diskBytes),
        "\(figures.logBytes / 1_000)", String(format: "%.2f", Double(figures.sentBytes) / 1_048_576),
        "\(worst), \(idle)",
      ], verdict)
  }

  private static func mebibytes(_ bytes: Int) -> String { String(format: "%.1f", Double(bytes) / 1_048_576) }

  private static func print(_ cells: [String], _ last: String) {
    let line = zip(cells, widths).map { $0.padding(toLength: max($1, $0.count), withPad: " ", startingAt: 0) }
    Swift.print((line + [last]).joined(separator: "  "))
    fflush(nil)
  }
}
