/// A compiled pattern of LIKE or ILIKE: `%` stands for any text, `_` for one Unicode scalar.
///
/// Matching runs a nondeterministic automaton whose states are bits, so it takes time linear in the text for
/// every pattern: none makes it backtrack.
///
/// Source: Baeza-Yates and Gonnet, "A New Approach to Text Searching", CACM 1992, §4.
package struct LikePattern: Sendable {
  /// The longest pattern, in bytes.
  static let maximumBytes = 1 << 12

  private let caseInsensitive: Bool
  /// How many scalars a match has at least; state *n* is: the first *n* of them have matched.
  private let steps: Int
  /// The words of 64 states each: the steps that a scalar of a text takes.
  let words: Int
  /// The states that keep standing whatever scalar comes: there is a `%` there.
  private var loops: [UInt64]
  /// One row of words for each distinct scalar of the pattern: the states that it leads on from.
  private var rows: [UInt64]
  private var asciiRows = [UInt16](repeating: 0, count: 128)
  private var otherRows: [UInt32: UInt16] = [:]

  /// Compiles a pattern; fails when the escape is not one scalar or the pattern is too long.
  ///
  /// - Parameters:
  ///   - pattern: The text with its wildcards.
  ///   - escape: One scalar; what follows it stands for itself.
  ///   - caseInsensitive: Whether letters match in either case.
  package init?(_ pattern: String, escape: String = "\\", caseInsensitive: Bool = false) {
    guard escape.unicodeScalars.count == 1, pattern.utf8.count <= Self.maximumBytes else { return nil }
    var scalars: [UInt32?] = []
    var loopStates: [Int] = []
    var escaped = false
    for scalar in pattern.unicodeScalars {
      if !escaped, scalar == escape.unicodeScalars.first {
        escaped = true
      } else if !escaped, scalar == "%" {
        loopStates.append(scalars.count)
      } else {
        let any = !escaped && scalar == "_"
        scalars.append(any ? nil : caseInsensitive ? Self.folded(scalar.value) : scalar.value)
        escaped = false
      }
    }
    // An escape at the very end has nothing to escape and stands for itself.
    if escaped {
      scalars.append(escape.unicodeScalars.first.map { caseInsensitive ? Self.folded($0.value) : $0.value })
    }
    self.caseInsensitive = caseInsensitive
    steps = scalars.count
    words = steps / 64 + 1
    loops = [UInt64](repeating: 0, count: words)
    rows = [UInt64](repeating: 0, count: words)
    for state in loopStates { loops[state / 64] |= 1 << (state % 64) }
    for (state, scalar) in scalars.enumerated() where scalar == nil { rows[state / 64] |= 1 << (state % 64) }
    let anyRow = rows
    for (state, scalar) in scalars.enumerated() {
      guard let scalar else { continue }
      rows[row(of: scalar, startingAs: anyRow) * words + state / 64] |= 1 << (state % 64)
    }
  }

  private mutating func row(of scalar: UInt32, startingAs anyRow: [UInt64]) -> Int {
    let known = row(of: scalar)
    if known != 0 { return known }
    let row = UInt16(rows.count / words)
    rows += anyRow
    if scalar < 128 { asciiRows[Int(scalar)] = row } else { otherRows[scalar] = row }
    return Int(row)
  }

  private func row(of scalar: UInt32) -> Int {
    Int(scalar < 128 ? asciiRows[Int(scalar)] : otherRows[scalar] ?? 0)
  }

  package func matches(_ text: String) -> Bool { matches(text.utf8Span.span.bytes) }

  /// Whether all of a text, given as UTF-8, fits the pattern.
  ///
  /// - Complexity: O(*n* · *m* / 64) for *n* scalars of text and *m* of pattern.
  package func matches(_ text: RawSpan) -> Bool {
    if words == 1 { return matchesShort(text) }
    var states = [UInt64](repeating: 0, count: words)
    states[0] = 1
    var offset = 0
    while let scalar = Self.nextScalar(of: text, &offset) {
      let row = row(of: caseInsensitive ? Self.folded(scalar) : scalar) * words
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
    while let scalar = Self.nextScalar(of: text, &offset) {
      let moving = states & rows[row(of: caseInsensitive ? Self.folded(scalar) : scalar)]
      states = states & loops | moving << 1
      if states == 0 { return false }
    }
    return states >> steps & 1 == 1
  }

  /// The scalar at `offset`, which moves past it; a byte that is not UTF-8 counts as one scalar.
  static func nextScalar(of text: RawSpan, _ offset: inout Int) -> UInt32? {
    guard offset < text.byteCount else { return nil }
    let first = UInt32(unsafe text.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
    offset += 1
    guard first >= 0xC0, first < 0xF8 else { return first }
    let following = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3
    var scalar = first & (0x3F >> UInt32(following))
    for _ in 0..<following {
      guard offset < text.byteCount else { return scalar }
      scalar = scalar << 6 | UInt32(unsafe text.unsafeLoad(fromByteOffset: offset, as: UInt8.self) & 0x3F)
      offset += 1
    }
    return scalar
  }

  /// The scalar in lower case, where that is one scalar.
  static func folded(_ scalar: UInt32) -> UInt32 {
    if scalar < 128 { return scalar >= 65 && scalar <= 90 ? scalar | 0x20 : scalar }
    guard let lower = Unicode.Scalar(scalar)?.properties.lowercaseMapping.unicodeScalars, lower.count == 1
    else {
      return scalar
    }
    return lower.first?.value ?? scalar
  }
}
