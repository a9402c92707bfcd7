import CRDTCore

/// The syntax tree of a regular expression, whatever its notation.
indirect enum RegularSyntax: Sendable {
  /// A place between scalars, such as a word boundary.
  enum Place: Sendable {
    case textStart, textEnd, lineStart, lineEnd, wordBoundary, noWordBoundary
  }

  case empty
  case scalar(ScalarSet, ignoresCase: Bool, isNegated: Bool)
  case place(Place)
  case sequence([RegularSyntax])
  case choice([RegularSyntax])
  /// From `least` to `most` times; `nil` means any number.
  case repeated(RegularSyntax, least: Int, most: Int?)

  static func scalar(_ scalar: UInt32, ignoresCase: Bool = false) -> RegularSyntax {
    .scalar(ScalarSet(scalar), ignoresCase: ignoresCase, isNegated: false)
  }

  static let anyScalar = RegularSyntax.scalar(.all, ignoresCase: false, isNegated: false)
}

/// The flags by which a regular expression is read.
struct RegularFlags: Hashable, Sendable {
  /// `i`; `c`, the default, clears it.
  var ignoresCase = false
  /// `m`: `^` and `$` also match at the ends of lines.
  var isMultiline = false
  /// `s`: a dot also matches a line feed.
  var dotMatchesNewline = false
  /// `x`: white space and comments in the pattern are ignored.
  var isExtended = false

  init() {}

  /// - Returns: `nil` when a letter is not a flag.
  init?(_ letters: String) {
    for letter in letters.unicodeScalars { if !set(letter, to: true) { return nil } }
  }

  /// Sets or clears the flag of a letter; false when there is no such flag.
  mutating func set(_ letter: Unicode.Scalar, to flag: Bool) -> Bool {
    switch letter {
    case "i": ignoresCase = flag
    case "c": ignoresCase = !flag
    case "m": isMultiline = flag
    case "s": dotMatchesNewline = flag
    case "x": isExtended = flag
    default: return false
    }
    return true
  }
}

/// Reads the scalars of a pattern one by one.
struct PatternReader {
  /// The greatest depth of nested groups.
  static let maximumDepth = 64

  let scalars: [UInt32]
  var offset = 0
  var depth = 0

  init(_ pattern: String) { scalars = pattern.unicodeScalars.map(\.value) }

  var isAtEnd: Bool { offset == scalars.count }

  var next: UInt32? { offset < scalars.count ? scalars[offset] : nil }

  func peek(_ distance: Int) -> UInt32? {
    offset + distance < scalars.count ? scalars[offset + distance] : nil
  }

  func at(_ scalar: Unicode.Scalar) -> Bool { next == scalar.value }

  mutating func take() -> UInt32? {
    guard offset < scalars.count else { return nil }
    offset += 1
    return scalars[offset - 1]
  }

  mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
    guard at(scalar) else { return false }
    offset += 1
    return true
  }

  /// Accepts the hyphen of a class's range; before the end of the class it stands for itself.
  mutating func acceptRange() -> Bool {
    guard let end = peek(1), end != 0x5D else { return false }
    return accept("-")
  }

  /// Reads decimal digits; `nil` without any, and the greatest `Int32` for too many.
  mutating func takeNumber() -> Int? {
    var number: Int?
    while let digit = next, (0x30...0x39).contains(digit) {
      number = min((number ?? 0) * 10 + Int(digit - 0x30), Int(Int32.max))
      offset += 1
    }
    return number
  }

  /// Enters a group; the caller decrements `depth` when it leaves.
  mutating func enterGroup() throws(QueryError) {
    depth += 1
    guard depth <= Self.maximumDepth else { throw failure("nests groups too deeply", code: .limit) }
  }

  /// The error with the position in the pattern.
  ///
  /// It does not show the pattern, which is a literal of the query or a document's content.
  func failure(_ fault: String, code: QueryError.Code = .argument) -> QueryError {
    QueryError(code, "the regular expression \(fault), at its character \(offset + 1)")
  }

  /// Reads `{n}`, `{n,}` or `{n,m}`, from the opening brace on; `nil` for anything else.
  mutating func takeBounds() throws(QueryError) -> (least: Int, most: Int?)? {
    let start = offset
    offset += 1
    let least = takeNumber()
    var most = least
    if accept(",") { most = takeNumber() }
    guard accept("}"), least != nil || most != nil else {
      offset = start
      return nil
    }
    guard most.map({ $0 >= least ?? 0 }) ?? true else { throw failure("has bounds in the wrong order") }
    return (least ?? 0, most)
  }

  /// Reads a class of POSIX, `[:name:]`, if it is next.
  mutating func takeNamedClass() throws(QueryError) -> ScalarSet? {
    guard at("["), peek(1) == 0x3A else { return nil }
    let classes: [TextKey: ScalarSet] = [
      "alpha": .letters, "digit": .digits, "alnum": .letters.union(.digits), "word": .words, "space": .spaces,
      "upper": ScalarSet([0x41...0x5A]), "lower": ScalarSet([0x61...0x7A]),
      "punct": ScalarSet([0x21...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E]),
      "blank": ScalarSet([0x09...0x09, 0x20...0x20]), "cntrl": ScalarSet([0...0x1F, 0x7F...0x7F]),
      "xdigit": ScalarSet([0x30...0x39, 0x41...0x46, 0x61...0x66]), "graph": ScalarSet([0x21...0x7E]),
      "print": ScalarSet([0x20...0x7E]), "ascii": ScalarSet([0...0x7F]),
    ]
    offset += 2
    let isNegated = accept("^")
    var name = ""
    while let scalar = next.flatMap(Unicode.Scalar.init), scalar != ":", name.utf8.count < 8 {
      name.unicodeScalars.append(scalar)
      offset += 1
    }
    guard accept(":"), accept("]"), let set = classes[name] else { throw failure("has an unknown class") }
    return isNegated ? set.complement : set
  }
}
