/// Parses the patterns of SIMILAR TO: `%`, `_`, `|`, groups, classes, `* + ?` and bounds in braces.
///
/// Every other character is matched literally, the dot too. A pattern must match the whole text.
struct SimilarParser {
  private var reader: PatternReader
  private let escape: UInt32

  /// - Throws: `argument` for an invalid pattern, `limit` for groups that nest too deeply.
  static func parse(_ pattern: String, escape: Unicode.Scalar) throws(QueryError) -> RegularSyntax {
    var parser = SimilarParser(reader: PatternReader(pattern), escape: escape.value)
    let syntax = try parser.parseChoice()
    guard parser.reader.isAtEnd else { throw parser.reader.failure("closes a group that is not open") }
    return .sequence([.place(.textStart), syntax, .place(.textEnd)])
  }

  private mutating func parseChoice() throws(QueryError) -> RegularSyntax {
    var branches = [try parseSequence()]
    while reader.accept("|") { branches.append(try parseSequence()) }
    return branches.count == 1 ? branches[0] : .choice(branches)
  }

  private mutating func parseSequence() throws(QueryError) -> RegularSyntax {
    var parts: [RegularSyntax] = []
    while let next = reader.next, next == escape || next != 0x7C && next != 0x29 {
      parts.append(try parseRepetition(of: try parseAtom()))
    }
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  private mutating func parseRepetition(of atom: RegularSyntax) throws(QueryError) -> RegularSyntax {
    var result = atom
    for _ in 0..<8 {
      guard reader.next != escape else { return result }
      if reader.accept("*") {
        result = .repeated(result, least: 0, most: nil)
      } else if reader.accept("+") {
        result = .repeated(result, least: 1, most: nil)
      } else if reader.accept("?") {
        result = .repeated(result, least: 0, most: 1)
      } else if reader.at("{"), let bounds = try reader.takeBounds() {
        result = .repeated(result, least: bounds.least, most: bounds.most)
      } else {
        return result
      }
    }
    throw reader.failure("repeats a repetition too often", code: .limit)
  }

  private mutating func parseAtom() throws(QueryError) -> RegularSyntax {
    guard let scalar = reader.take() else { return .empty }
    if scalar == escape { return .scalar(reader.take() ?? escape) }
    switch Unicode.Scalar(scalar) {
    case "%": return .repeated(.anyScalar, least: 0, most: nil)
    case "_": return .anyScalar
    case "(":
      try reader.enterGroup()
      let inner = try parseChoice()
      guard reader.accept(")") else { throw reader.failure("leaves a group open") }
      reader.depth -= 1
      return inner
    case "[": return try parseClass()
    case "*", "+", "?":
      reader.offset -= 1
      throw reader.failure("repeats nothing")
    default: return .scalar(scalar)
    }
  }

  private mutating func parseClass() throws(QueryError) -> RegularSyntax {
    let isNegated = reader.accept("^")
    var set = ScalarSet()
    var isFirst = true
    while isFirst || !reader.at("]") {
      defer { isFirst = false }
      if let named = try reader.takeNamedClass() {
        set = set.union(named)
        continue
      }
      let low = try takeClassScalar()
      let high = try reader.acceptRange() ? takeClassScalar() : low
      guard low <= high else { throw reader.failure("has a range in the wrong order") }
      set = set.union(ScalarSet([low...high]))
    }
    reader.offset += 1
    return .scalar(set, ignoresCase: false, isNegated: isNegated)
  }

  private mutating func takeClassScalar() throws(QueryError) -> UInt32 {
    guard let scalar = reader.take() else { throw reader.failure("leaves a class open") }
    return scalar == escape ? reader.take() ?? escape : scalar
  }
}
