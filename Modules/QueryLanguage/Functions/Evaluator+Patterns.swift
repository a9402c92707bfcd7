import CRDTCore

/// Tests of texts against patterns: LIKE, SIMILAR TO, regular expressions.
extension Evaluator {
  mutating func like(_ expression: Expression, _ row: (FieldPath) -> Value?) throws(QueryError) -> Value? {
    guard case .like(let subject, let pattern, let escape, let caseInsensitive, let negated) = expression
    else {
      return nil
    }
    return try test(expression, subject, pattern, escape, row, negated: negated) {
      (evaluator: inout Evaluator, text, pattern, escape) throws(QueryError) in
      let key = PatternTable.Key(
        pattern: pattern, notation: .like(escape: TextKey(escape), caseInsensitive: caseInsensitive))
      guard let compiled = try evaluator.scope.patterns.like(key) else { return nil }
      try evaluator.matching.spend(compiled.words * text.utf8.count)
      return compiled.matches(text)
    }
  }

  mutating func similar(_ expression: Expression, _ row: (FieldPath) -> Value?) throws(QueryError) -> Value? {
    guard case .similar(let subject, let pattern, let escape, let negated) = expression else { return nil }
    return try test(expression, subject, pattern, escape, row, negated: negated) {
      (evaluator: inout Evaluator, text, pattern, escape) throws(QueryError) in
      let key = PatternTable.Key(pattern: pattern, notation: .similar(escape: TextKey(escape)))
      guard let program = try evaluator.scope.patterns.program(key) else { return nil }
      return try evaluator.matches(program, text)
    }
  }

  /// `regexp_like(text, pattern[, flags])`.
  mutating func regular(_ operands: [Value]) throws(QueryError) -> Value? {
    guard case .string(let text) = operands[0], case .string(let pattern) = operands[1] else { return nil }
    var letters = ""
    if operands.count > 2 {
      guard case .string(let given) = operands[2] else { return nil }
      letters = given
    }
    guard let flags = RegularFlags(letters) else {
      throw QueryError(.argument, "the flags of a regular expression are c, i, m, s and x")
    }
    let key = PatternTable.Key(pattern: pattern, notation: .regular(flags))
    return try scope.patterns.program(key).map { (program) throws(QueryError) in
      .bool(try matches(program, text))
    }
  }

  private mutating func matches(_ program: RegularProgram, _ text: String) throws(QueryError) -> Bool {
    try text.withUTF8Bytes { (bytes) throws(QueryError) in
      scope.isReference
        ? try program.followsAllStates(bytes, &matching) : try program.matches(bytes, &matching)
    }
  }

  /// A test whose operands are strings.
  ///
  /// It is MISSING if an operand is missing or of another type, and NULL if an operand is null.
  private mutating func test(
    _ expression: Expression, _ subject: Expression, _ pattern: Expression, _ escape: Expression?,
    _ row: (FieldPath) -> Value?, negated: Bool,
    _ matches: (inout Evaluator, _ text: String, _ pattern: String, _ escape: String) throws(QueryError) ->
      Bool?
  ) throws(QueryError) -> Value? {
    var operands = [try value(of: subject, row), try value(of: pattern, row)]
    if let escape { operands.append(try value(of: escape, row)) }
    // As for functions, a decimal is its text.
    for index in operands.indices where operands[index]?.isDecimal == true {
      operands[index] = operands[index]?.withoutDecimals
    }
    if isStrict { try check(operands, of: expression) }
    if operands.contains(nil) { return nil }
    if operands.contains(.null) { return .null }
    guard case .string(let text) = operands[0], case .string(let source) = operands[1] else { return nil }
    var escapeText = "\\"
    if operands.count == 3 {
      guard case .string(let given) = operands[2] else { return nil }
      escapeText = given
    }
    return try matches(&self, text, source, escapeText).map { .bool($0 != negated) }
  }
}
