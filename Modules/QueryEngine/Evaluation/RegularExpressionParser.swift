import CRDTCore

/// Makes a program of a pattern, by recursive descent; every fragment of code can be moved.
struct RegularExpressionParser {
  private typealias Instruction = RegularExpression.Instruction
  private typealias ScalarSet = RegularExpression.ScalarSet

  var isMultiline = false
  var dotMatchesLineEnds = false
  var skipsBlanks = false
  var ignoresCase = false

  private let pattern: [Unicode.Scalar]
  private var index = 0
  private var nesting = 0

  init(_ pattern: String) { self.pattern = Array(pattern.unicodeScalars) }

  /// The program; `nil` when the pattern is malformed or takes too many instructions.
  mutating func parse() -> [RegularExpression.Instruction]? {
    guard let code = parseAlternatives(), index == pattern.count else { return nil }
    return code.count < RegularExpression.maximumInstructions ? code + [.match] : nil
  }

  private var current: Unicode.Scalar? { index < pattern.count ? pattern[index] : nil }

  private mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
    guard current == scalar else { return false }
    index += 1
    return true
  }

  private mutating func skipBlanks() {
    guard skipsBlanks else { return }
    while let scalar = current, scalar.properties.isWhitespace { index += 1 }
  }

  private mutating func parseAlternatives() -> [Instruction]? {
    guard nesting < Limits.depth else { return nil }
    nesting += 1
    defer { nesting -= 1 }
    guard var code = parseSequence() else { return nil }
    while accept("|") {
      guard let other = parseSequence() else { return nil }
      code = [.split(1, code.count + 2)] + code + [.jump(other.count + 1)] + other
      guard code.count <= RegularExpression.maximumInstructions else { return nil }
    }
    return code
  }

  private mutating func parseSequence() -> [Instruction]? {
    var code: [Instruction] = []
    while true {
      skipBlanks()
      guard let scalar = current, scalar != "|", scalar != ")" else { return code }
      guard let atom = parseAtom(), let repeated = parseRepetition(of: atom) else { return nil }
      code += repeated
      guard code.count <= RegularExpression.maximumInstructions else { return nil }
    }
  }

  private mutating func parseAtom() -> [Instruction]? {
    guard let scalar = current else { return nil }
    index += 1
    switch scalar {
    case "(":
      if accept("?") { guard accept(":") else { return nil } }
      guard let inner = parseAlternatives(), accept(")") else { return nil }
      return inner
    case "[": return parseClass().map { [.set($0)] }
    case ".": return [.any(acrossLines: dotMatchesLineEnds)]
    case "^": return [.start(ofLine: isMultiline)]
    case "$": return [.end(ofLine: isMultiline)]
    case "*", "+", "?", "{", "}", "]": return nil
    case "\\": return parseEscape()
    default: return [literal(scalar)]
    }
  }

  private func literal(_ scalar: Unicode.Scalar) -> Instruction {
    .scalar(ignoresCase ? UnicodeText.folded(scalar.value) : scalar.value)
  }

  private mutating func parseEscape() -> [Instruction]? {
    guard let scalar = current else { return nil }
    index += 1
    if let set = Self.namedSet(scalar) { return [.set(set)] }
    switch scalar {
    case "b": return [.boundary(negated: false)]
    case "B": return [.boundary(negated: true)]
    default: return Self.escaped(scalar).map { [literal($0)] }
    }
  }

  /// What a backslash makes of a scalar; letters and digits without a meaning are refused.
  private static func escaped(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
    switch scalar {
    case "n": "\n"
    case "r": "\r"
    case "t": "\t"
    default: UInt8(exactly: scalar.value)?.continuesWord == true && scalar != "_" ? nil : scalar
    }
  }

  private static func namedSet(_ scalar: Unicode.Scalar) -> ScalarSet? {
    switch scalar {
    case "d", "D": ScalarSet(ranges: [48...57], negated: scalar == "D")
    case "w", "W": ScalarSet(ranges: [48...57, 65...90, 95...95, 97...122], negated: scalar == "W")
    case "s", "S": ScalarSet(ranges: [9...13, 32...32], negated: scalar == "S")
    default: nil
    }
  }

  /// What follows `[`.
  private mutating func parseClass() -> ScalarSet? {
    var set = ScalarSet()
    set.negated = accept("^")
    var isFirst = true
    while true {
      guard let scalar = current else { return nil }
      if scalar == "]", !isFirst {
        index += 1
        return set
      }
      isFirst = false
      if scalar == "\\", index + 1 < pattern.count, let named = Self.namedSet(pattern[index + 1]) {
        // Within a class only sets that are ranges can be joined.
        guard !named.negated else { return nil }
        index += 2
        set.ranges += named.ranges
        continue
      }
      guard let low = parseClassScalar() else { return nil }
      var high = low
      if current == "-", index + 1 < pattern.count, pattern[index + 1] != "]" {
        index += 1
        guard let bound = parseClassScalar() else { return nil }
        high = bound
      }
      guard low <= high else { return nil }
      set.ranges.append(low.value...high.value)
    }
  }

  private mutating func parseClassScalar() -> Unicode.Scalar? {
    guard let scalar = current else { return nil }
    index += 1
    guard scalar == "\\" else { return scalar }
    guard let next = current else { return nil }
    index += 1
    return Self.escaped(next)
  }

  private mutating func parseRepetition(of atom: [Instruction]) -> [Instruction]? {
    skipBlanks()
    var code: [Instruction]
    switch current {
    case "*": code = Self.star(atom)
    case "+": code = atom + [.split(-atom.count, 1)]
    case "?": code = [.split(1, atom.count + 1)] + atom
    case "{":
      guard let counted = parseCount(of: atom) else { return nil }
      code = counted
      index -= 1
    default: return atom
    }
    index += 1
    _ = accept("?")
    // A second repetition has nothing to repeat.
    return ["*", "+", "{"].contains(current) ? nil : code
  }

  private static func star(_ atom: [Instruction]) -> [Instruction] {
    [.split(1, atom.count + 2)] + atom + [.jump(-atom.count - 1)]
  }

  /// `{n}`, `{n,}`, `{n,m}`: the atom written out so many times.
  private mutating func parseCount(of atom: [Instruction]) -> [Instruction]? {
    index += 1
    guard let least = parseNumber() else { return nil }
    var most: Int? = least
    if accept(",") { most = current == "}" ? nil : parseNumber() ?? -1 }
    guard accept("}"), most.map({ $0 >= least }) ?? true else { return nil }
    guard (most ?? least + 1) * (atom.count + 2) <= RegularExpression.maximumInstructions else { return nil }
    var code = Array(repeatElement(atom, count: least).joined())
    guard let most else { return code + Self.star(atom) }
    for _ in least..<most { code += [.split(1, atom.count + 1)] + atom }
    return code
  }

  private mutating func parseNumber() -> Int? {
    var number: Int?
    while let scalar = current, let digit = UInt8(exactly: scalar.value), digit.isDigit {
      let value = (number ?? 0) * 10 + Int(digit) - 48
      guard value <= RegularExpression.maximumInstructions else { return nil }
      number = value
      index += 1
    }
    return number
  }
}
