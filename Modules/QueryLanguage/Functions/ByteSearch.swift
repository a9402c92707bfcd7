/// Finds one byte string in others, in time linear in both.
///
/// Source: Knuth, Morris and Pratt, "Fast Pattern Matching in Strings", SIAM Journal on Computing 1977.
struct ByteSearch {
  private let pattern: [UInt8]
  /// For each prefix of the pattern, the longest border: the length that still matches after a mismatch.
  private let borders: [Int]

  init(_ pattern: [UInt8]) {
    var borders = [Int](repeating: 0, count: pattern.count)
    var border = 0
    for index in pattern.indices.dropFirst() {
      while border > 0, pattern[index] != pattern[border] { border = borders[border - 1] }
      if pattern[index] == pattern[border] { border += 1 }
      borders[index] = border
    }
    self.pattern = pattern
    self.borders = borders
  }

  var length: Int { pattern.count }

  /// The start of the first match at or after `start`.
  func firstMatch(in bytes: [UInt8], from start: Int = 0) -> Int? {
    if pattern.isEmpty { return start }
    var matched = 0
    for index in start..<max(start, bytes.count) {
      while matched > 0, bytes[index] != pattern[matched] { matched = borders[matched - 1] }
      if bytes[index] == pattern[matched] { matched += 1 }
      if matched == pattern.count { return index + 1 - matched }
    }
    return nil
  }
}
