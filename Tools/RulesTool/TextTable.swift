/// Rows of text in aligned columns.
package struct TextTable {
  private var rows: [[String]]
  private let rightAligned: Set<Int>

  /// Begins a table.
  ///
  /// - Parameters:
  ///   - header: The names of the columns.
  ///   - rightAligned: The columns whose text ends at one edge, numbers above all.
  package init(_ header: [String], rightAligned: Set<Int> = []) {
    rows = [header]
    self.rightAligned = rightAligned
  }

  /// Adds a row, with a cell for each column.
  package mutating func add(_ row: [String]) { rows.append(row) }

  /// The header, a rule, and the rows.
  package var text: String {
    let widths = (rows[0].indices).map { column in rows.map { $0[column].count }.max() ?? 0 }
    func line(_ row: [String]) -> String {
      let cells = row.enumerated().map { column, cell in
        let pad = String(repeating: " ", count: widths[column] - cell.count)
        return rightAligned.contains(column) ? pad + cell : cell + pad
      }
      var text = cells.joined(separator: "  ")
      while text.hasSuffix(" ") { text.removeLast() }
      return text
    }
    let rule = widths.map { String(repeating: "─", count: $0) }.joined(separator: "  ")
    return ([line(rows[0]), rule] + rows.dropFirst().map(line)).joined(separator: "\n")
  }
}
