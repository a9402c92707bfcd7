import CRDTCore

/// Function calls of DQL, with the forms that have words between their arguments.
extension Parser {
  mutating func parseCall(_ word: String) throws(QueryError) -> ParsedExpression {
    let start = current
    let name = word.lowercased()
    if let feature = Function.feature(named: name) { throw unsupported(feature) }
    guard let function = Function(name: name) else {
      if ReservedWords.all.contains(word.uppercased()) { throw unexpected(["an expression"]) }
      let nearest = NameDistance.nearest(to: name, among: Function.allCases.map(\.rawValue))
      let hint = nearest.map { ": did you mean '\($0)'?" } ?? ""
      throw failure(.unknownFunction, "there is no function '\(word.prefix(64))'" + hint)
    }
    advance()
    try expect(.openParenthesis)
    let arguments = try parseArguments(of: function, isKeyword(start, "POSITION"))
    try expect(.closeParenthesis)
    try check(arguments, of: function, at: start)
    return try node(.call(function, arguments.map(\.expression)), above: arguments)
  }

  private func check(_ arguments: [ParsedExpression], of function: Function, at start: Token)
    throws(QueryError)
  {
    let (least, most) = (function.arity.lowerBound, function.arity.upperBound)
    guard arguments.count >= least, arguments.count <= most else {
      let wanted =
        most == .max ? "at least \(least)" : least == most ? "\(least)" : "\(least) to \(most)"
      throw failure(
        .argument, "'\(function.rawValue)' takes \(wanted) arguments, not \(arguments.count)", at: start)
    }
    if function == .cast, case .literal(.string(let type)) = arguments[1].expression,
      CastType(name: type) == nil
    {
      throw failure(.argument, "'cast' knows the types boolean, integer, float and string", at: start)
    }
  }

  private mutating func parseArguments(
    of function: Function, _ isPosition: Bool
  ) throws(QueryError) -> [ParsedExpression] {
    if at(.closeParenthesis) { return [] }
    if function == .trim, let arguments = try parseTrim() { return arguments }
    var arguments: [ParsedExpression]
    if isPosition {
      arguments = [try parseOperators(above: Precedence.comparison)]
      if accept("IN") { return [try parseOperators(above: 0), arguments[0]] }
    } else {
      arguments = [try parseOperators(above: 0)]
    }
    if function == .cast, accept("AS") {
      guard let name = current.name else { throw unexpected(["a type's name"]) }
      advance()
      return [arguments[0], try node(.literal(.string(name.lowercased())))]
    }
    while accept(.comma) { arguments.append(try parseOperators(above: 0)) }
    return arguments
  }

  /// `TRIM(BOTH x FROM s)`; LEADING and TRAILING are `ltrim` and `rtrim`.
  private mutating func parseTrim() throws(QueryError) -> [ParsedExpression]? {
    if at("LEADING") || at("TRAILING"), peek().kind != .symbol(.comma),
      peek().kind != .symbol(.closeParenthesis)
    {
      throw unsupported("TRIM(\(at("LEADING") ? "LEADING" : "TRAILING") …)")
    }
    guard at("BOTH"), peek().kind != .symbol(.comma), peek().kind != .symbol(.closeParenthesis) else {
      return nil
    }
    advance()
    let characters = try parseOperators(above: 0)
    try expect("FROM")
    return [try parseOperators(above: 0), characters]
  }
}
