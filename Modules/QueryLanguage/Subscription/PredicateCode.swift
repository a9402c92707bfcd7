import CRDTCore

/// The first byte of each node of a compiled predicate; the numbers are part of its form.
enum PredicateCode: UInt8 {
  case everything = 0
  case literal, missing, path, variable, unary, binary, and, or, between, `in`, like, similar
  case isNull, isMissing, collate, call, array, object, `case`, quantified, arrayFor, objectFor

  /// The operators and the like, by their numbers in the form.
  static let unaryOperators: [UnaryOperator] = [.negate, .not, .isNotTrue]
  static let binaryOperators: [BinaryOperator] = [
    .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .same, .notSame, .add, .subtract,
    .multiply, .divide, .remainder, .concatenate, .xor, .shiftLeft, .shiftRight,
  ]
  static let quantifiers: [Quantifier] = [.any, .every, .anyAndEvery]
  static let collations: [Collation] = [.binary, .caseInsensitive]

  static func number<Symbol: Equatable>(of symbol: Symbol, in all: [Symbol]) -> UInt8 {
    UInt8(truncatingIfNeeded: all.firstIndex(of: symbol) ?? Int(UInt8.max))
  }
}

extension Expression {
  /// Writes the tree in preorder; variables are written as slots, not as names.
  ///
  /// - Throws: `unsupported` for an expression that reads more than one document; `argument` for a parameter.
  func encode(to writer: inout ByteWriter) throws(QueryError) {
    switch self {
    case .literal(let value):
      writer.write(PredicateCode.literal.rawValue)
      ValueCodec.write(value, to: &writer)
    case .missing: writer.write(PredicateCode.missing.rawValue)
    case .path(let path):
      writer.write(PredicateCode.path.rawValue)
      Self.encode(path, to: &writer)
    case .variable(let variable, let path):
      writer.write(PredicateCode.variable.rawValue)
      writer.writeVarint(variable.slot)
      Self.encode(path, to: &writer)
    case .unary(let symbol, let operand):
      writer.write(PredicateCode.unary.rawValue)
      writer.write(PredicateCode.number(of: symbol, in: PredicateCode.unaryOperators))
      try operand.encode(to: &writer)
    case .binary(let symbol, let left, let right):
      writer.write(PredicateCode.binary.rawValue)
      writer.write(PredicateCode.number(of: symbol, in: PredicateCode.binaryOperators))
      try left.encode(to: &writer)
      try right.encode(to: &writer)
    case .and(let terms): try Self.encode(.and, terms, to: &writer)
    case .or(let terms): try Self.encode(.or, terms, to: &writer)
    case .array(let terms): try Self.encode(.array, terms, to: &writer)
    case .between, .in, .like, .similar, .isNull, .isMissing, .collate: try encodeTest(to: &writer)
    case .call, .object, .case: try encodeMaking(to: &writer)
    case .quantified, .arrayFor, .objectFor: try encodeComprehension(to: &writer)
    case .parameter(let name):
      throw QueryError(.argument, "no argument is given for the parameter '\(name)'", found: name.text)
    case .aggregate: throw QueryError(.unsupported, "Unsupported feature: an aggregate")
    case .inQuery, .existsQuery: throw QueryError(.unsupported, "Unsupported feature: a subquery")
    case .field: throw QueryError(.unsupported, "Unsupported feature: Joining")
    }
  }

  private func encodeTest(to writer: inout ByteWriter) throws(QueryError) {
    switch self {
    case .between(let subject, let low, let high, let negated):
      writer.write(PredicateCode.between.rawValue)
      writer.write(negated ? 1 : 0)
      for operand in [subject, low, high] { try operand.encode(to: &writer) }
    case .in(let subject, let list, let negated):
      writer.write(PredicateCode.in.rawValue)
      writer.write(negated ? 1 : 0)
      for operand in [subject, list] { try operand.encode(to: &writer) }
    case .like(let subject, let pattern, let escape, let caseInsensitive, let negated):
      writer.write(PredicateCode.like.rawValue)
      writer.write((negated ? 1 : 0) | (caseInsensitive ? 2 : 0) | (escape == nil ? 0 : 4))
      for operand in [subject, pattern] + (escape.map { [$0] } ?? []) { try operand.encode(to: &writer) }
    case .similar(let subject, let pattern, let escape, let negated):
      writer.write(PredicateCode.similar.rawValue)
      writer.write((negated ? 1 : 0) | (escape == nil ? 0 : 4))
      for operand in [subject, pattern] + (escape.map { [$0] } ?? []) { try operand.encode(to: &writer) }
    case .isNull(let subject, let negated):
      writer.write(PredicateCode.isNull.rawValue)
      writer.write(negated ? 1 : 0)
      try subject.encode(to: &writer)
    case .isMissing(let subject, let negated):
      writer.write(PredicateCode.isMissing.rawValue)
      writer.write(negated ? 1 : 0)
      try subject.encode(to: &writer)
    case .collate(let subject, let collation):
      writer.write(PredicateCode.collate.rawValue)
      writer.write(PredicateCode.number(of: collation, in: PredicateCode.collations))
      try subject.encode(to: &writer)
    default: preconditionFailure("only tests are encoded here")
    }
  }

  private func encodeMaking(to writer: inout ByteWriter) throws(QueryError) {
    switch self {
    case .call(let function, let terms):
      writer.write(PredicateCode.call.rawValue)
      writer.writeString(function.rawValue)
      writer.writeVarint(terms.count)
      for term in terms { try term.encode(to: &writer) }
    case .object(let members):
      writer.write(PredicateCode.object.rawValue)
      writer.writeVarint(members.count)
      for member in members {
        try member.key.encode(to: &writer)
        try member.value.encode(to: &writer)
      }
    case .case(let clauses, let otherwise):
      writer.write(PredicateCode.case.rawValue)
      writer.write(otherwise == nil ? 0 : 1)
      writer.writeVarint(clauses.count)
      for clause in clauses {
        try clause.condition.encode(to: &writer)
        try clause.result.encode(to: &writer)
      }
      try otherwise?.encode(to: &writer)
    default: preconditionFailure("only what makes values is encoded here")
    }
  }

  private func encodeComprehension(to writer: inout ByteWriter) throws(QueryError) {
    switch self {
    case .quantified(let quantifier, let iteration, let condition):
      writer.write(PredicateCode.quantified.rawValue)
      writer.write(PredicateCode.number(of: quantifier, in: PredicateCode.quantifiers))
      try Self.encode(iteration, to: &writer)
      try condition.encode(to: &writer)
    case .arrayFor(let element, let iteration, let condition):
      writer.write(PredicateCode.arrayFor.rawValue)
      writer.write(condition == nil ? 0 : 1)
      try Self.encode(iteration, to: &writer)
      try element.encode(to: &writer)
      try condition?.encode(to: &writer)
    case .objectFor(let key, let value, let iteration, let condition):
      writer.write(PredicateCode.objectFor.rawValue)
      writer.write(condition == nil ? 0 : 1)
      try Self.encode(iteration, to: &writer)
      try key.encode(to: &writer)
      try value.encode(to: &writer)
      try condition?.encode(to: &writer)
    default: preconditionFailure("only comprehensions are encoded here")
    }
  }

  private static func encode(
    _ code: PredicateCode, _ terms: [Expression], to writer: inout ByteWriter
  ) throws(QueryError) {
    writer.write(code.rawValue)
    writer.writeVarint(terms.count)
    for term in terms { try term.encode(to: &writer) }
  }

  private static func encode(_ path: FieldPath, to writer: inout ByteWriter) {
    writer.writeVarint(path.count)
    for component in path {
      switch component {
      case .key(let name):
        writer.write(0)
        writer.writeString(name.text)
      case .index(let index):
        writer.write(1)
        writer.writeSignedVarint(Int64(index))
      }
    }
  }

  private static func encode(_ iteration: Iteration, to writer: inout ByteWriter) throws(QueryError) {
    writer.write((iteration.isDeep ? 1 : 0) | (iteration.position == nil ? 0 : 2))
    if let position = iteration.position { writer.writeVarint(position.slot) }
    writer.writeVarint(iteration.element.slot)
    try iteration.source.encode(to: &writer)
  }
}
