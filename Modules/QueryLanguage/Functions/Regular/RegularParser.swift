/// Parses the notation of `regexp_like`: that of most libraries, without look-around and back references.
struct RegularParser {
  private var reader: PatternReader
  private var flags: RegularFlags

  /// - Throws: `argument` for an invalid pattern, `limit` for groups that nest too deeply.
  static func parse(_ pattern: String, _ flags: RegularFlags) throws(QueryError) -> RegularSyntax {
    var parser = RegularParser(reader: PatternReader(pattern), flags: flags)
    let syntax = try parser.parseChoice()
    guard parser.reader.isAtEnd else { throw parser.reader.failure("closes a group that is not open") }
    return syntax
  }

  private mutating func parseChoice() throws(QueryError) -> RegularSyntax {
    // Flags that are set inside a group are valid to its end.
    let outer = flags
    defer { flags = outer }
    var branches = [try parseSequence()]
    while reader.accept("|") { branches.append(try parseSequence()) }
    return branches.count == 1 ? branches[0] : .choice(branches)
  }

  private mutating func parseSequence() throws(QueryError) -> RegularSyntax {
    var parts: [RegularSyntax] = []
    while true {
      skipExtended()
      guard let next = reader.next, next != 0x7C, next != 0x29 else { break }
      guard let part = try parseAtom() else { continue }
      parts.append(try parseRepetition(of: part))
    }
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  /// Skips white space and comments, which the flag `x` allows.
  private mutating func skipExtended() {
    guard flags.isExtended else { return }
    while let next = reader.next {
      if next == 0x23 {
        while let skipped = reader.take(), skipped != 0x0A {}
      } else if ScalarSet.spaces.contains(next) {
        reader.offset += 1
      } else {
        return
      }
    }
  }

  private mutating func parseRepetition(of atom: RegularSyntax) throws(QueryError) -> RegularSyntax {
    var result = atom
    var count = 0
    while true {
      skipExtended()
      let bounds: (least: Int, most: Int?)
      if reader.accept("*") {
        bounds = (0, nil)
      } else if reader.accept("+") {
        bounds = (1, nil)
      } else if reader.accept("?") {
        bounds = (0, 1)
      } else if reader.at("{"), let given = try reader.takeBounds() {
        bounds = given
      } else {
        return result
      }
      // A lazy match makes no difference to whether there is a match.
      _ = reader.accept("?")
      result = .repeated(result, least: bounds.least, most: bounds.most)
      count += 1
      guard count <= 8 else { throw reader.failure("repeats a repetition too often", code: .limit) }
    }
  }

  /// `nil` for a group that only sets flags.
  private mutating func parseAtom() throws(QueryError) -> RegularSyntax? {
    guard let scalar = reader.take() else { return nil }
    switch Unicode.Scalar(scalar) {
    case ".":
      return .scalar(
        flags.dotMatchesNewline ? .all : ScalarSet.newline.complement, ignoresCase: false, isNegated: false)
    case "^": return .place(flags.isMultiline ? .lineStart : .textStart)
    case "$": return .place(flags.isMultiline ? .lineEnd : .textEnd)
    case "(": return try parseGroup()
    case "[": return try parseClass()
    case "\\": return try parseEscape()
    case "*", "+", "?":
      reader.offset -= 1
      throw reader.failure("repeats nothing")
    default: return .scalar(scalar, ignoresCase: flags.ignoresCase)
    }
  }

  private mutating func parseGroup() throws(QueryError) -> RegularSyntax? {
    let outer = flags
    if reader.accept("?") {
      if reader.accept("P") || reader.at("<") {
        guard reader.accept("<"), reader.next != 0x3D, reader.next != 0x21 else {
          throw reader.failure("looks around or refers back, which is not supported")
        }
        while let part = reader.next, ScalarSet.words.contains(part) { reader.offset += 1 }
        guard reader.accept(">") else { throw reader.failure("names a group wrongly") }
      } else if try !parseFlags() {
        return nil
      }
    }
    try reader.enterGroup()
    let inner = try parseChoice()
    guard reader.accept(")") else { throw reader.failure("leaves a group open") }
    reader.depth -= 1
    flags = outer
    return inner
  }

  /// Parses `i-s:` of a group, or `i-s)` for the rest of the group around it, which returns false.
  private mutating func parseFlags() throws(QueryError) -> Bool {
    var value = true
    while let letter = reader.take() {
      switch Unicode.Scalar(letter) {
      case ":": return true
      case ")": return false
      case "-" where value: value = false
      case "=", "!": throw reader.failure("looks around, which is not supported")
      case .some(let letter):
        if !flags.set(letter, to: value) { throw reader.failure("sets an unknown flag") }
      case nil: throw reader.failure("sets an unknown flag")
      }
    }
    throw reader.failure("leaves a group open")
  }

  private mutating func parseEscape() throws(QueryError) -> RegularSyntax {
    switch reader.next.flatMap(Unicode.Scalar.init) {
    case "b": return place(.wordBoundary)
    case "B": return place(.noWordBoundary)
    case "A": return place(.textStart)
    case "z", "Z": return place(.textEnd)
    default: break
    }
    if let set = takeClassEscape() { return .scalar(set, ignoresCase: false, isNegated: false) }
    return .scalar(try takeScalarEscape(), ignoresCase: flags.ignoresCase)
  }

  private mutating func place(_ place: RegularSyntax.Place) -> RegularSyntax {
    reader.offset += 1
    return .place(place)
  }

  /// The set of `\d` and the like; the backslash is already read.
  private mutating func takeClassEscape() -> ScalarSet? {
    let set: ScalarSet
    switch reader.next.flatMap(Unicode.Scalar.init) {
    case "d": set = .digits
    case "D": set = ScalarSet.digits.complement
    case "w": set = .words
    case "W": set = ScalarSet.words.complement
    case "s": set = .spaces
    case "S": set = ScalarSet.spaces.complement
    default: return nil
    }
    reader.offset += 1
    return set
  }

  private mutating func takeScalarEscape() throws(QueryError) -> UInt32 {
    guard let scalar = reader.take() else { throw reader.failure("ends in a backslash") }
    switch Unicode.Scalar(scalar) {
    case "n": return 0x0A
    case "t": return 0x09
    case "r": return 0x0D
    case "f": return 0x0C
    case "v": return 0x0B
    case "a": return 0x07
    case "e": return 0x1B
    case "0": return 0
    case "x": return try takeHexadecimal(2)
    case "u": return try takeHexadecimal(4)
    case "U": return try takeHexadecimal(8)
    default:
      // A letter or digit may get a meaning in the future; a punctuation character never does.
      guard !ScalarSet.words.contains(scalar) || scalar == 0x5F else {
        reader.offset -= 1
        throw reader.failure("has an unknown escape")
      }
      return scalar
    }
  }

  /// Reads a hexadecimal number: a fixed number of digits, or any number in braces.
  private mutating func takeHexadecimal(_ digits: Int) throws(QueryError) -> UInt32 {
    let isBraced = reader.accept("{")
    var value: UInt32 = 0
    var count = 0
    while count < (isBraced ? 8 : digits), let digit = reader.next.flatMap(Unicode.Scalar.init),
      let number = Character(digit).hexDigitValue, digit.isASCII
    {
      value = value << 4 | UInt32(number)
      count += 1
      reader.offset += 1
    }
    guard count > 0, isBraced ? reader.accept("}") : count == digits, Unicode.Scalar(value) != nil else {
      throw reader.failure("has an escape that is no character")
    }
    return value
  }

  private mutating func parseClass() throws(QueryError) -> RegularSyntax {
    let isNegated = reader.accept("^")
    var set = ScalarSet()
    var isFirst = true
    while isFirst || !reader.at("]") {
      defer { isFirst = false }
      guard reader.next != nil else { throw reader.failure("leaves a class open") }
      if let named = try reader.takeNamedClass() {
        set = set.union(named)
        continue
      }
      let isEscape = reader.at("\\")
      if isEscape {
        reader.offset += 1
        if let escaped = takeClassEscape() {
          set = set.union(escaped)
          continue
        }
        reader.offset -= 1
      }
      let low = try takeClassScalar()
      let high = try reader.acceptRange() ? takeClassScalar() : low
      guard low <= high else { throw reader.failure("has a range in the wrong order") }
      set = set.union(ScalarSet([low...high]))
    }
    reader.offset += 1
    return .scalar(set, ignoresCase: flags.ignoresCase, isNegated: isNegated)
  }

  private mutating func takeClassScalar() throws(QueryError) -> UInt32 {
    guard let scalar = reader.take() else { throw reader.failure("leaves a class open") }
    guard scalar == 0x5C else { return scalar }
    if reader.accept("b") { return 0x08 }
    return try takeScalarEscape()
  }
}
