import CRDTCore

/// A compiled pattern of LIKE or ILIKE: `%` matches any text, `_` one Unicode scalar.
///
/// It uses about as much memory as its text. The text between two `%` is searched byte by byte; the first
/// match is as good as any other. If the pattern contains `_`, a ``LikeAutomaton`` follows the text. Both
/// take time linear in the text.
package struct LikePattern: Sendable {
  /// The longest pattern, in bytes.
  static let maximumBytes = 1 << 12
  /// The tokens of the wildcards: bytes that do not occur in UTF-8.
  static let anyText: UInt8 = 0xFE
  static let anyScalar: UInt8 = 0xFF

  /// Whether case is ignored; then the tokens are in lower case, and the text must be too.
  let isCaseInsensitive: Bool
  /// The least number of scalars in a match.
  let steps: Int
  /// The pattern in UTF-8 without its escapes; consecutive `%` are one.
  private let tokens: [UInt8]
  /// The number of bytes before the first `%` and after the last; `nil` without `%`.
  private let ends: (first: Int32, last: Int32)?
  private let hasAnyScalar: Bool
  /// The automaton of a short pattern with `_`; that of a long pattern is large, and is made for each text.
  private let automaton: LikeAutomaton?

  /// The number of words, of 64 states each, in an automaton of the pattern.
  ///
  /// Each scalar of a text counts as this number of steps.
  var words: Int { steps / 64 + 1 }

  /// Compiles a pattern; fails when the escape is not one scalar, or the pattern is too long.
  ///
  /// - Parameters:
  ///   - pattern: The text with its wildcards.
  ///   - escape: One scalar; the scalar after it is matched literally.
  ///   - caseInsensitive: Whether letters match in either case.
  package init?(_ pattern: String, escape: String = "\\", caseInsensitive: Bool = false) {
    guard escape.unicodeScalars.count == 1, let escape = escape.unicodeScalars.first,
      pattern.utf8.count <= Self.maximumBytes
    else { return nil }
    var tokens: [UInt8] = []
    tokens.reserveCapacity(pattern.utf8.count)
    var steps = 0
    var isEscaped = false
    let append = { (scalar: Unicode.Scalar) in
      steps += 1
      CaseFolding.append(caseInsensitive ? CaseFolding.folded(scalar.value) : scalar.value, to: &tokens)
    }
    for scalar in pattern.unicodeScalars {
      if isEscaped {
        isEscaped = false
        append(scalar)
      } else if scalar == escape {
        isEscaped = true
      } else if scalar == "%" {
        if tokens.last != Self.anyText { tokens.append(Self.anyText) }
      } else if scalar == "_" {
        steps += 1
        tokens.append(Self.anyScalar)
      } else {
        append(scalar)
      }
    }
    // An escape at the very end has nothing to escape and is matched literally.
    if isEscaped { append(escape) }
    isCaseInsensitive = caseInsensitive
    self.steps = steps
    self.tokens = tokens
    hasAnyScalar = tokens.contains(Self.anyScalar)
    automaton = hasAnyScalar && steps < 64 ? LikeAutomaton(tokens, steps: steps) : nil
    if let first = tokens.firstIndex(of: Self.anyText), let last = tokens.lastIndex(of: Self.anyText) {
      ends = (Int32(first), Int32(tokens.count - 1 - last))
    } else {
      ends = nil
    }
  }

  package func matches(_ text: String) -> Bool { text.withUTF8Bytes { matches($0) } }

  /// Whether all of a text, given as UTF-8, matches the pattern.
  ///
  /// - Complexity: O(*n* + *m*) for *n* bytes of text and *m* of pattern; with `_` in the pattern O(*n* · *m*
  ///   / 64 + *m* · *d*) for *d* different scalars of the pattern.
  package func matches(_ text: RawSpan) -> Bool {
    guard isCaseInsensitive else { return matches(prepared: text) }
    return CaseFolding.withFolded(text) { matches(prepared: $0) }
  }

  /// The same for a text that is already in lower case where the pattern ignores case.
  func matches(prepared text: RawSpan) -> Bool {
    if hasAnyScalar { return (automaton ?? LikeAutomaton(tokens, steps: steps)).matches(text) }
    let tokens = tokens.span.bytes
    guard let ends else { return text.isEqual(to: tokens) }
    let (first, last) = (Int(ends.first), Int(ends.last))
    guard first + last <= text.byteCount, text.hasPrefix(tokens.extracting(first: first)),
      text.hasSuffix(tokens.extracting(last: last))
    else { return false }
    var rest = text.extracting(first..<text.byteCount - last)
    // The rest of the pattern begins and ends with `%`, which may be the same one.
    var parts = tokens.extracting(first..<tokens.byteCount - last).extracting(droppingFirst: 1)
    while let end = parts.firstOffset(ofByte: Self.anyText) {
      guard let offset = rest.firstOffset(of: parts.extracting(first: end)) else { return false }
      rest = rest.extracting(droppingFirst: offset + end)
      parts = parts.extracting(droppingFirst: end + 1)
    }
    return true
  }

  /// The longest text without wildcards that occurs in every match, in UTF-8.
  ///
  /// It is in lower case where the pattern is.
  var longestLiteral: ArraySlice<UInt8> {
    tokens.split { $0 == Self.anyText || $0 == Self.anyScalar }.max { $0.count < $1.count } ?? []
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
}
