/// Finds the known name that a mistyped one was probably meant to be.
enum NameDistance {
  /// The nearest of the known names; `nil` when none is near.
  ///
  /// - Complexity: O(*n* · *m*) for each known name.
  static func nearest(to name: String, among known: some Sequence<String>) -> String? {
    let wanted = Array(name.utf8.prefix(64))
    let reach = min(3, wanted.count / 2)
    return known.map { ($0, changes(wanted, Array($0.utf8))) }
      .filter { $0.1 <= reach }
      .min { ($0.1, $0.0) < ($1.1, $1.0) }?.0
  }

  /// Insertions, deletions and substitutions from one name to the other.
  ///
  /// Source: Wagner and Fischer, "The String-to-String Correction Problem", JACM 1974.
  private static func changes(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var row = Array(0...right.count)
    for (index, byte) in left.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for column in right.indices {
        let substituted = diagonal + (byte == right[column] ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(substituted, diagonal + 1, row[column] + 1)
      }
    }
    return row[right.count]
  }
}
