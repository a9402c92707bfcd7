import CRDTCore

extension ScalarProgram {
  mutating func compile(_ expression: Expression) {
    // Operations in place do not distinguish types.
    let hasForm = expression.runsInPlace && !(hasDecimals && expression.makesDecimals)
    guard !scope.isStrict, hasForm else {
      generals.append(RecordExpression(expression, scope.context))
      append(ScalarNode(operation: .general, operand: Int32(generals.count - 1)), [])
      return
    }
    if let test = ListTest(expression), let list = scope.lists.list(test.elements, by: test.rule) {
      lists.append(list)
      append(
        ScalarNode(
          operation: .listed, flag: test.isNegated, listTest: test.kind, operand: Int32(lists.count - 1)),
        [test.subject])
      return
    }
    switch expression {
    case .literal(let value): append(ScalarNode(operation: .constant, constant: constant(value)), [])
    case .missing: append(ScalarNode(operation: .constant), [])
    case .path(let path): append(field(path), [])
    case .variable(let variable, let path):
      variablePaths.append(path)
      append(
        ScalarNode(
          operation: .variable, keyID: UInt16(variablePaths.count - 1), operand: Int32(variable.slot)), [])
    case .unary(let symbol, let operand): append(ScalarNode(operation: .init(symbol)), [operand])
    case .binary(let symbol, let left, let right): append(ScalarNode(symbol), [left, right])
    case .and(let terms): append(ScalarNode(operation: .and), terms)
    case .or(let terms): append(ScalarNode(operation: .or), terms)
    case .between(let subject, let low, let high, let negated):
      append(ScalarNode(operation: .between, flag: negated), [subject, low, high])
    case .in(let subject, let list, let negated):
      append(ScalarNode(operation: .membership, flag: negated), [subject, list])
    case .like(let subject, _, _, _, let negated):
      append(ScalarNode(operation: .like, flag: negated, operand: pattern(of: expression)), [subject])
    case .isNull(let operand, let negated):
      append(ScalarNode(operation: .isNull, flag: negated), [operand])
    case .isMissing(let operand, let negated):
      append(ScalarNode(operation: .isMissing, flag: negated), [operand])
    case .call(let function, let operands): append(call(function, expression), operands)
    case .case(let clauses, let otherwise):
      append(
        ScalarNode(operation: .choose, flag: otherwise != nil),
        clauses.flatMap { [$0.condition, $0.result] } + (otherwise.map { [$0] } ?? []))
    case .quantified(let quantifier, let iteration, let condition):
      append(
        ScalarNode(
          operation: .quantified, quantifier: quantifier,
          keyID: UInt16((iteration.position?.slot ?? -1) + 1), operand: Int32(iteration.element.slot)),
        [iteration.source, condition])
    case .parameter, .field, .inQuery, .existsQuery, .similar, .collate, .aggregate, .array, .object,
      .arrayFor, .objectFor:
      append(ScalarNode(operation: .constant), [])
    }
  }

  private mutating func append(_ node: ScalarNode, _ children: [Expression]) {
    let index = nodes.count
    nodes.append(node)
    if node.operation == .regular {
      compile(children[0])
    } else {
      for child in children { compile(child) }
    }
    nodes[index].end = Int32(nodes.count)
  }

  private mutating func field(_ path: FieldPath) -> ScalarNode {
    let field = ResolvedField(path)
    fields.append(field)
    return ScalarNode(
      operation: field.isIdentifier ? .identifier : .field, operand: Int32(fields.count - 1))
  }

  private mutating func constant(_ value: Value) -> Scalar {
    switch value {
    case .null: return .null
    case .bool(let flag): return Scalar(flag)
    case .int(let number): return Scalar(number)
    case .counter(let number): return Scalar(number, kind: .counter)
    case .double(let number): return Scalar(number)
    case .string(let string): return Scalar(.string, add(string.utf8), in: .constants)
    case .bytes(let bytes): return Scalar(.bytes, add(bytes), in: .constants)
    case .array: return box(value, .array)
    case .map: return box(value, .object)
    case .attachment: return box(value, .attachment)
    case .decimal: return box(value, .decimal)
    }
  }

  private mutating func add(_ bytes: some Collection<UInt8>) -> Range<Int> {
    let start = text.count
    text += bytes
    return start..<text.count
  }

  private mutating func box(_ value: Value, _ kind: Scalar.Kind) -> Scalar {
    boxes.append(value)
    return Scalar(kind, box: boxes.count - 1, in: .constantBox)
  }

  private mutating func pattern(of expression: Expression) -> Int32 {
    var pattern: LikePattern?
    if let key = PatternTable.Key(expression) { pattern = try? scope.patterns.like(key) }
    patterns.append(pattern)
    return Int32(patterns.count - 1)
  }

  private mutating func call(_ function: Function, _ expression: Expression) -> ScalarNode {
    let operation = function.definition.inPlace
    // An automaton is compiled for a constant pattern only.
    if operation == .regular {
      guard let key = PatternTable.Key(expression), let program = try? scope.patterns.program(key) else {
        return ScalarNode(operation: .call(.onValues), function: function)
      }
      programs.append(program)
      return ScalarNode(operation: .regular, operand: Int32(programs.count - 1))
    }
    return ScalarNode(operation: operation, function: function)
  }
}

extension ScalarNode {
  fileprivate init(_ symbol: BinaryOperator) {
    switch symbol {
    case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual:
      self.init(operation: .compare, symbol: symbol)
    case .same: self.init(operation: .same)
    case .notSame: self.init(operation: .same, flag: true)
    case .xor: self.init(operation: .xor)
    case .add, .subtract, .multiply, .divide, .remainder, .shiftLeft, .shiftRight:
      self.init(operation: .arithmetic, symbol: symbol)
    case .concatenate: self.init(operation: .call(.concat), function: .concat)
    }
  }
}

extension ScalarNode.Operation {
  fileprivate init(_ symbol: UnaryOperator) {
    switch symbol {
    case .negate: self = .negate
    case .not: self = .not
    case .isNotTrue: self = .isNotTrue
    }
  }
}

extension Expression {
  /// Whether this node has a form in place.
  ///
  /// The source and the condition of a comprehension must have one as a whole, since only the program knows
  /// its variables.
  fileprivate var runsInPlace: Bool {
    switch self {
    case .parameter, .field, .inQuery, .existsQuery, .similar, .collate, .aggregate, .array, .object,
      .arrayFor, .objectFor:
      false
    case .like: PatternTable.Key(self) != nil
    case .quantified(_, let iteration, _): !iteration.isDeep && children.allSatisfy(\.runsInPlaceWhole)
    // A comparison must know the collations of its operands.
    default: !children.contains { if case .collate = $0 { true } else { false } }
    }
  }

  /// Whether it computes with decimals somewhere, for which there is no form in place.
  package var makesDecimals: Bool {
    if case .call(let function, _) = self, function.definition.traits.contains(.makesDecimals) { return true }
    return children.contains(where: \.makesDecimals)
  }

  private var runsInPlaceWhole: Bool { runsInPlace && children.allSatisfy(\.runsInPlaceWhole) }
}
