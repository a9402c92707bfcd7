/// Finds the known name that a mistyped one probably means.
package enum NameDistance {
  /// The suffix of an error when a known name is near: `: did you mean 'upper'?`; otherwise empty.
  static func hint(for name: String, among known: some Sequence<String>) -> String {
    nearest(to: name, among: known).map { ": did you mean '\($0)'?" } ?? ""
  }

  /// The nearest known name; `nil` when none is near.
  ///
  /// - Complexity: O(*n* · *m*) for each known name.
  package static func nearest(
    to name: String, among known: some Sequence<String>, reach: Int = 3
  ) -> String? {
    let wanted = Array(name.utf8.prefix(64))
    let reach = min(reach, wanted.count / 2)
    let names = known.map { (name: $0, bytes: Array($0.utf8)) }
    let near = names.map { ($0.name, changes(wanted, $0.bytes), $0.bytes.first == wanted.first ? 0 : 1) }
      .filter { $0.1 <= reach }
      .min { ($0.1, $0.2, $0.0) < ($1.1, $1.2, $1.0) }?.0
    if let near { return near }
    // An incomplete name, if exactly one known name begins with it.
    let longer = names.filter { wanted.count > 4 && $0.bytes.starts(with: wanted) }
    return longer.count == 1 ? longer[0].name : nil
  }

  /// The number of changes from one name to the other.
  ///
  /// Changes are insertions, deletions, substitutions and swaps of neighbours.
  ///
  /// Source: Damerau, "A technique for computer detection and correction of spelling errors", CACM 1964; each
  /// place is changed once, by the table of Wagner and Fischer, JACM 1974.
  private static func changes(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var before: [Int] = []
    var above = Array(0...right.count)
    for index in left.indices {
      var row = [index + 1]
      row.reserveCapacity(right.count + 1)
      for column in right.indices {
        var least = min(
          above[column] + (left[index] == right[column] ? 0 : 1), above[column + 1] + 1, row[column] + 1)
        if index > 0, column > 0, left[index] == right[column - 1], left[index - 1] == right[column] {
          least = min(least, before[column - 1] + 1)
        }
        row.append(least)
      }
      (before, above) = (above, row)
    }
    return above[right.count]
  }
}
