import CRDTCore

/// Follows a text through a pattern with wildcards of one scalar.
///
/// It is a nondeterministic automaton whose states are bits. Every pattern takes time linear in the text,
/// since nothing backtracks.
///
/// Source: Baeza-Yates and Gonnet, "A New Approach to Text Searching", CACM 1992, §4.
final class LikeAutomaton: Sendable {
  /// State *n* means that the first *n* scalars of the pattern have matched.
  private let steps: Int
  private let words: Int
  /// The states that stay active whatever scalar follows: there is a `%` there.
  private let loops: [UInt64]
  /// One row of words for each distinct scalar of the pattern: the states that the scalar advances.
  ///
  /// The first row is for all other scalars.
  private let rows: [UInt64]
  private let asciiRows: [UInt16]
  private let otherRows: [UInt32: UInt16]

  /// - Parameters:
  ///   - tokens: Those of a ``LikePattern``.
  ///   - steps: The least number of scalars in a match.
  /// - Complexity: O(*m* · *d*) for *m* scalars of which *d* are different.
  init(_ tokens: [UInt8], steps: Int) {
    let words = steps / 64 + 1
    var loops = [UInt64](repeating: 0, count: words)
    var anyRow = loops
    var scalars: [UInt32?] = []
    var offset = 0
    while offset < tokens.count {
      switch tokens[offset] {
      case LikePattern.anyText:
        loops[scalars.count / 64] |= 1 << (scalars.count % 64)
        offset += 1
      case LikePattern.anyScalar:
        anyRow[scalars.count / 64] |= 1 << (scalars.count % 64)
        scalars.append(nil)
        offset += 1
      default: scalars.append(LikePattern.nextScalar(of: tokens.span.bytes, &offset))
      }
    }
    var rows = anyRow
    var asciiRows = [UInt16](repeating: 0, count: 128)
    var otherRows: [UInt32: UInt16] = [:]
    for (state, scalar) in scalars.enumerated() {
      guard let scalar else { continue }
      var row = scalar < 128 ? asciiRows[Int(scalar)] : otherRows[scalar] ?? 0
      if row == 0 {
        row = UInt16(rows.count / words)
        rows += anyRow
        if scalar < 128 { asciiRows[Int(scalar)] = row } else { otherRows[scalar] = row }
      }
      rows[Int(row) * words + state / 64] |= 1 << (state % 64)
    }
    self.steps = steps
    self.words = words
    self.loops = loops
    self.rows = rows
    self.asciiRows = asciiRows
    self.otherRows = otherRows
  }

  private func row(of scalar: UInt32) -> Int {
    Int(scalar < 128 ? asciiRows[Int(scalar)] : otherRows[scalar] ?? 0)
  }

  /// Whether all of a text, given as UTF-8, matches.
  ///
  /// - Complexity: O(*n* · *m* / 64) for *n* scalars of text and *m* of pattern.
  func matches(_ text: RawSpan) -> Bool {
    if words == 1 { return matchesShort(text) }
    var states = [UInt64](repeating: 0, count: words)
    states[0] = 1
    var offset = 0
    while let scalar = LikePattern.nextScalar(of: text, &offset) {
      let row = row(of: scalar) * words
      var carried: UInt64 = 0
      var standing: UInt64 = 0
      for word in 0..<words {
        let moving = states[word] & rows[row + word]
        states[word] = states[word] & loops[word] | moving << 1 | carried
        carried = moving >> 63
        standing |= states[word]
      }
      if standing == 0 { return false }
    }
    return states[steps / 64] >> (steps % 64) & 1 == 1
  }

  private func matchesShort(_ text: RawSpan) -> Bool {
    var states: UInt64 = 1
    let loops = loops[0]
    var offset = 0
    while let scalar = LikePattern.nextScalar(of: text, &offset) {
      let moving = states & rows[row(of: scalar)]
      states = states & loops | moving << 1
      if states == 0 { return false }
    }
    return states >> steps & 1 == 1
  }
}
