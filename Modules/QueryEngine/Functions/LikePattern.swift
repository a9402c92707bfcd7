import CRDTCore

/// A compiled pattern of LIKE or ILIKE: `%` stands for any text, `_` for one Unicode scalar.
///
/// It takes about as much memory as its text. What stands between two `%` is searched byte by byte, the first place
/// that fits being as good as any; where there is a `_`, a ``LikeAutomaton`` follows the text. Both take time linear in
/// the text.
package struct LikePattern: Sendable {
  /// The longest pattern, in bytes.
  static let maximumBytes = 1 << 12
  /// What stands for the wildcards among the tokens: bytes that UTF-8 does not have.
  static let anyText: UInt8 = 0xFE
  static let anyScalar: UInt8 = 0xFF

  /// Whether letters match in either case: then the tokens' letters are small, and so must the text's be.
  let isCaseInsensitive: Bool
  /// How many scalars a match has at least.
  let steps: Int
  /// The pattern in UTF-8 without its escapes; several `%` on end are one.
  private let tokens: [UInt8]
  /// How many bytes stand before the first `%`, and behind the last; `nil` where there is none.
  private let ends: (first: Int32, last: Int32)?
  private let hasAnyScalar: Bool
  /// Of a short pattern with `_`; that of a long one is large, and is made for each text.
  private let automaton: LikeAutomaton?

  /// The words of 64 states each that an automaton of the pattern has: the steps that a scalar of a text is taken for.
  var words: Int { steps / 64 + 1 }

  /// Compiles a pattern; fails when the escape is not one scalar or the pattern is too long.
  ///
  /// - Parameters:
  ///   - pattern: The text with its wildcards.
  ///   - escape: One scalar; what follows it stands for itself.
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
    // An escape at the very end has nothing to escape and stands for itself.
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

  /// Whether all of a text, given as UTF-8, fits the pattern.
  ///
  /// - Complexity: O(*n* + *m*) for *n* bytes of text and *m* of pattern; with `_` in the pattern
  ///   O(*n* · *m* / 64 + *m* · *d*) for *d* different scalars of the pattern.
  package func matches(_ text: RawSpan) -> Bool {
    guard isCaseInsensitive else { return matches(prepared: text) }
    return CaseFolding.withFolded(text) { matches(prepared: $0) }
  }

  /// The same of a text whose letters are small already where the pattern asks for that.
  func matches(prepared text: RawSpan) -> Bool {
    if hasAnyScalar { return (automaton ?? LikeAutomaton(tokens, steps: steps)).matches(text) }
    let tokens = tokens.span.bytes
    guard let ends else { return text.isEqual(to: tokens) }
    let (first, last) = (Int(ends.first), Int(ends.last))
    guard first + last <= text.byteCount, text.hasPrefix(tokens.extracting(first: first)),
      text.hasSuffix(tokens.extracting(last: last))
    else { return false }
    var rest = text.extracting(first..<text.byteCount - last)
    // What is left of the pattern begins and ends with `%`, which may be the same one.
    var parts = tokens.extracting(first..<tokens.byteCount - last).extracting(droppingFirst: 1)
    while let end = parts.firstOffset(ofByte: Self.anyText) {
      guard let offset = rest.firstOffset(of: parts.extracting(first: end)) else { return false }
      rest = rest.extracting(droppingFirst: offset + end)
      parts = parts.extracting(droppingFirst: end + 1)
    }
    return true
  }

  /// The longest text without wildcards that stands in every match, in UTF-8; its letters are small where those of the
  /// pattern are.
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
