import CRDTCore

/// Reads the tree of a compiled predicate, which may be no deeper and no larger than a parsed one.
struct PredicateDecoder {
  private var depth = 0
  private var nodes = 0
  /// The number of variables that are bound around the current node.
  private var bound = 0

  /// - Returns: `nil` for the predicate that accepts every document.
  mutating func predicate(_ reader: inout ByteReader) throws(CodecError) -> Expression? {
    var ahead = ByteReader(reader.bytes, offset: reader.offset)
    if try ahead.readByte() == PredicateCode.everything.rawValue {
      _ = try reader.readByte()
      return nil
    }
    return try expression(&reader)
  }

  private mutating func expression(_ reader: inout ByteReader) throws(CodecError) -> Expression {
    nodes += 1
    depth += 1
    defer { depth -= 1 }
    // Flattening reduces the depth of trees, and binding does not add nodes.
    guard depth <= Limits.expressionDepth + 1, nodes <= Limits.queryNodes else {
      throw reader.failure(.limit, "a predicate is nested too deeply or too large")
    }
    guard let code = PredicateCode(rawValue: try reader.readByte()) else {
      throw reader.failure(.malformed, "a predicate has a node of unknown kind")
    }
    switch code {
    case .everything: throw reader.failure(.malformed, "a part of a predicate is missing")
    case .literal: return .literal(try ValueCodec.read(&reader))
    case .missing: return .missing
    case .path:
      let path = try path(&reader)
      guard case .key? = path.first else { throw reader.failure(.malformed, "a path begins with no name") }
      return .path(path)
    case .variable: return .variable(try variable(&reader, below: bound), try path(&reader))
    case .unary:
      return .unary(try symbol(&reader, PredicateCode.unaryOperators), try expression(&reader))
    case .binary:
      let symbol = try symbol(&reader, PredicateCode.binaryOperators)
      return .binary(symbol, try expression(&reader), try expression(&reader))
    case .and: return .and(try terms(&reader))
    case .or: return .or(try terms(&reader))
    case .array: return .array(try terms(&reader))
    case .between, .in, .like, .similar, .isNull, .isMissing, .collate: return try test(code, &reader)
    case .call, .object, .case: return try making(code, &reader)
    case .quantified, .arrayFor, .objectFor: return try comprehension(code, &reader)
    }
  }

  private mutating func test(_ code: PredicateCode, _ reader: inout ByteReader) throws(CodecError)
    -> Expression
  {
    if code == .collate {
      let collation = try symbol(&reader, PredicateCode.collations)
      return .collate(try expression(&reader), collation)
    }
    let flags = try flags(&reader, code == .like ? 7 : code == .similar ? 5 : 1)
    let negated = flags & 1 != 0
    let subject = try expression(&reader)
    switch code {
    case .between:
      return .between(
        subject, low: try expression(&reader), high: try expression(&reader), negated: negated)
    case .in: return .in(subject, try expression(&reader), negated: negated)
    case .like:
      return .like(
        subject, pattern: try expression(&reader), escape: try optional(flags & 4 != 0, &reader),
        caseInsensitive: flags & 2 != 0, negated: negated)
    case .similar:
      return .similar(
        subject, pattern: try expression(&reader), escape: try optional(flags & 4 != 0, &reader),
        negated: negated)
    case .isNull: return .isNull(subject, negated: negated)
    default: return .isMissing(subject, negated: negated)
    }
  }

  private mutating func making(
    _ code: PredicateCode, _ reader: inout ByteReader
  ) throws(CodecError) -> Expression {
    if code == .call {
      let start = reader.offset
      let name = try reader.readString()
      guard let function = Function(rawValue: name) else {
        throw CodecError(.malformed, "a predicate calls an unknown function", at: start)
      }
      let terms = try terms(&reader)
      guard function.isDeterministic, function.arity.contains(terms.count) else {
        throw CodecError(.malformed, "a predicate calls a function as it cannot be called", at: start)
      }
      return .call(function, terms)
    }
    if code == .object {
      var members: [ObjectMember] = []
      for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
        members.append(ObjectMember(key: try expression(&reader), value: try expression(&reader)))
      }
      return .object(members)
    }
    let flags = try flags(&reader, 1)
    var clauses: [WhenClause] = []
    for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
      clauses.append(WhenClause(condition: try expression(&reader), result: try expression(&reader)))
    }
    return .case(clauses, otherwise: try optional(flags != 0, &reader))
  }

  private mutating func comprehension(
    _ code: PredicateCode, _ reader: inout ByteReader
  ) throws(CodecError) -> Expression {
    let outer = bound
    defer { bound = outer }
    if code == .quantified {
      let quantifier = try symbol(&reader, PredicateCode.quantifiers)
      let iteration = try iteration(&reader)
      return .quantified(quantifier, iteration, satisfies: try expression(&reader))
    }
    let hasCondition = try flags(&reader, 1) != 0
    let iteration = try iteration(&reader)
    let first = try expression(&reader)
    if code == .arrayFor { return .arrayFor(first, iteration, when: try optional(hasCondition, &reader)) }
    return .objectFor(
      key: first, value: try expression(&reader), iteration, when: try optional(hasCondition, &reader))
  }

  private mutating func optional(
    _ isThere: Bool, _ reader: inout ByteReader
  ) throws(CodecError) -> Expression? {
    isThere ? try expression(&reader) : nil
  }

  private mutating func terms(_ reader: inout ByteReader) throws(CodecError) -> [Expression] {
    var terms: [Expression] = []
    for _ in 0..<(try reader.readCount()) { terms.append(try expression(&reader)) }
    return terms
  }

  private func path(_ reader: inout ByteReader) throws(CodecError) -> FieldPath {
    var path: FieldPath = []
    for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
      if try flags(&reader, 1) == 0 {
        path.append(.key(TextKey(try reader.readString())))
      } else {
        guard let index = Int(exactly: try reader.readSignedVarint()) else {
          throw reader.failure(.malformed, "an index is too large")
        }
        path.append(.index(index))
      }
    }
    guard path.count <= Limits.pathSteps else { throw reader.failure(.limit, "a path is too long") }
    return path
  }

  private func variable(_ reader: inout ByteReader, below bound: Int) throws(CodecError) -> Variable {
    guard let slot = Int(exactly: try reader.readVarint()), slot < bound else {
      throw reader.failure(.malformed, "a variable is bound nowhere")
    }
    return Variable("v\(slot)", slot: slot)
  }

  /// Reads the source of a comprehension, and binds its variables for the expressions that follow.
  private mutating func iteration(_ reader: inout ByteReader) throws(CodecError) -> Iteration {
    let flags = try flags(&reader, 3)
    let inner = bound + (flags & 2 != 0 ? 2 : 1)
    let position = flags & 2 != 0 ? try variable(&reader, below: inner) : nil
    let element = try variable(&reader, below: inner)
    guard element.slot >= bound, position.map({ $0.slot >= bound && $0.slot != element.slot }) ?? true else {
      throw reader.failure(.malformed, "a variable is bound twice")
    }
    let source = try expression(&reader)
    bound = inner
    return Iteration(position: position, element: element, source: source, isDeep: flags & 1 != 0)
  }

  private func symbol<Symbol>(
    _ reader: inout ByteReader, _ all: [Symbol]
  ) throws(CodecError) -> Symbol {
    let number = Int(try reader.readByte())
    guard all.indices.contains(number) else { throw reader.failure(.malformed, "a symbol is unknown") }
    return all[number]
  }

  private func flags(_ reader: inout ByteReader, _ known: UInt8) throws(CodecError) -> UInt8 {
    let flags = try reader.readByte()
    guard flags & ~known == 0 else { throw reader.failure(.malformed, "a flag is unknown") }
    return flags
  }
}
