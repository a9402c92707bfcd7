import CRDTCore
import Foundation

/// Shows a result that changes: on a terminal always in the same place, elsewhere one state after another.
struct LiveScreen {
  /// Rows that are shown where there is no screen to fit.
  private static let rowsElsewhere = 1_000
  /// The screen's lines beside the rows: statement, table head, note on omitted rows, and last line.
  private static let otherLines = 6

  private let title: String
  private let isTerminal = isatty(STDOUT_FILENO) == 1
  private var columns: [TextKey]?
  private var rows: [[TextKey: Value]] = []

  init(_ title: String) { self.title = title }

  /// So many rows are shown at most.
  var rowLimit: Int {
    isTerminal ? max(1, Terminal.height(of: STDOUT_FILENO) - Self.otherLines) : Self.rowsElsewhere
  }

  mutating func begin(_ columns: [TextKey]?) { (self.columns, rows) = (columns, []) }

  mutating func add(_ row: [TextKey: Value]) { rows.append(row) }

  /// Shows the rows, which are the first of `count`.
  func show(of count: Int, _ makeWriter: ([TextKey]?) -> any RowWriter) throws {
    if isTerminal {
      let width = Terminal.width(of: STDOUT_FILENO)
      try Output.print(Self.clearing + title.printable.cut(toColumns: width))
    }
    var writer = makeWriter(columns)
    for row in rows { try writer.add(row) }
    try writer.finish()
    let more = count - rows.count
    let summary = count.counting("row") + (more > 0 ? ", the first \(rows.count.groupedDigits) shown" : "")
    Output.note(isTerminal ? "\(summary); Control-C ends it" : summary)
  }

  /// Moves the cursor to the first place of an empty screen.
  static let clearing = "\u{1B}[H\u{1B}[2J"
}
