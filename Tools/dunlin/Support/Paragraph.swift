/// Text in lines of at most 80 columns.
enum Paragraph {
  private static let columns = 80

  /// Breaks a text between words where it does not fit; runs of spaces that fit stay as they are.
  ///
  /// - Parameters:
  ///   - text: One line.
  ///   - indent: Columns before each line.
  ///   - hanging: Further ones before all but the first.
  /// - Returns: The lines.
  static func text(_ text: String, indent: Int, hanging: Int = 0) -> String {
    var lines = [String(repeating: " ", count: indent)]
    var isBegun = false
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
      let last = lines[lines.count - 1]
      let longer = isBegun ? last + " " + word : last + word
      if isBegun, longer.columns > columns, !word.isEmpty {
        lines[lines.count - 1] = trimmed(last)
        lines.append(String(repeating: " ", count: indent + hanging) + word)
      } else {
        lines[lines.count - 1] = longer
      }
      isBegun = true
    }
    return lines.joined(separator: "\n")
  }

  private static func trimmed(_ line: String) -> String {
    String(line.reversed().drop { $0 == " " }.reversed())
  }
}
