import CRDTCore
import Failpoints

/// Compilation of predicates.
///
/// For the kinds of value that a leaf's test in place does not support, the evaluator computes the leaf's
/// result once, here. So both always agree.
extension RecordMatcher {
  mutating func compile(_ expression: Expression) {
    let index = nodes.count
    switch expression {
    case .and(let terms): compile(terms, .and)
    case .or(let terms): compile(terms, .or)
    case .unary(.not, let operand): compile([operand], .not)
    case .unary(.isNotTrue, let operand): compile([operand], .isNotTrue)
    case .between(let subject, .literal(let low), .literal(let high), let negated) where subject.isPath:
      let inside = Expression.and([
        .binary(.greaterOrEqual, subject, .literal(low)), .binary(.lessOrEqual, subject, .literal(high)),
      ])
      compile(negated ? .unary(.not, inside) : inside)
      return
    default:
      let node = leaf(expression)
      nodes.append(node)
    }
    nodes[index].end = Int32(nodes.count)
  }

  private mutating func compile(
    _ children: [Expression], _ operation: MatcherNode.Operation
  ) {
    nodes.append(MatcherNode(operation: operation))
    for child in children { compile(child) }
  }

  /// Compiles the whole predicate to one node for the evaluator.
  mutating func compileWhole(_ expression: Expression) {
    nodes = [general(expression)]
    nodes[0].end = 1
  }

  private mutating func general(_ expression: Expression) -> MatcherNode {
    generals.append(ScalarProgram(expression, context))
    return MatcherNode(operation: .general, operand: Int32(generals.count - 1))
  }

  private mutating func leaf(_ expression: Expression) -> MatcherNode {
    let paths = expression.paths
    do {
      guard let path = paths.first else {
        return MatcherNode(operation: .constant, success: try expression.truth(of: nil))
      }
      let field = ResolvedField(path)
      if paths.count == 1, field.isInPlace, var node = shape(of: expression) {
        try ask(expression, for: &node)
        node.operand = place(of: field)
        return node
      }
    } catch {
      // A leaf that is too much work to evaluate in advance is evaluated for each document, and fails there.
    }
    return general(expression)
  }

  /// The number of a field among the matcher's; consecutive terms often read the same field.
  private mutating func place(of field: ResolvedField) -> Int32 {
    if let last = fields.last, last.path == field.path { return Int32(fields.count - 1) }
    fields.append(field)
    return Int32(fields.count - 1)
  }

  /// Computes the results that depend only on the kind of a value.
  private mutating func ask(_ expression: Expression, for node: inout MatcherNode) throws(QueryError) {
    let comparison = ComparisonAnswers(expression)
    if let comparison, let lastAnswers, lastAnswers.isSame(as: comparison) {
      node.kinds = lastAnswers.kinds
      return
    }
    node.kinds.missing = try expression.truth(of: nil)
    for (kind, sample) in Self.samples { node.kinds[kind] = try expression.truth(of: sample) }
    if node.operation == .bool {
      node.success = try expression.truth(of: .bool(true))
      node.failure = try expression.truth(of: .bool(false))
    }
    if var comparison {
      comparison.kinds = node.kinds
      lastAnswers = comparison
    }
  }

  private static let samples: [(ValueRef.Kind, Value)] = [
    (.null, .null), (.bool, .bool(false)), (.int, .int(0)), (.double, .double(0)), (.string, .string("")),
    (.bytes, .bytes([])), (.array, .array([])), (.map, .map([:])), (.counter, .counter(0)),
    (.attachment, .attachment(AttachmentToken(id: [], byteCount: 0))),
  ]

  /// The test in place for an expression with one path, if there is one.
  private mutating func shape(of expression: Expression) -> MatcherNode? {
    switch expression {
    case .path: return MatcherNode(operation: .bool)
    case .isNull(.path, _), .isMissing(.path, _): return MatcherNode(operation: .kind)
    case .binary(let symbol, .path, .literal(let constant)):
      return MatcherNode.Comparison(symbol).flatMap { comparison($0, constant) }
    case .binary(let symbol, .literal(let constant), .path):
      return MatcherNode.Comparison(symbol).flatMap { comparison($0.mirrored, constant) }
    case .in(.path, .literal(.array(let list)), let negated): return membership(list, negated)
    case .like(.path, .literal(.string(let pattern)), nil, let caseInsensitive, let negated):
      return likeness(pattern, caseInsensitive, negated)
    case .call(.regexpLike, let terms) where terms[0].isPath: return regularity(expression, negated: false)
    case .similar(.path, _, _, let negated): return regularity(expression, negated: negated)
    case .call(.contains, let terms): return affix(terms, .containsString)
    case .call(.startsWith, let terms): return affix(terms, .startsWith)
    case .call(.endsWith, let terms): return affix(terms, .endsWith)
    default: return nil
    }
  }

  private mutating func comparison(_ comparison: MatcherNode.Comparison, _ constant: Value) -> MatcherNode? {
    var node = MatcherNode(operation: .kind, comparison: comparison)
    switch constant {
    case .null: break
    case .bool: node.operation = .bool
    case .int(let number), .counter(let number):
      node.operation = .compareInt
      node.number = number
    case .double(let number):
      node.operation = .compareDouble
      node.number = Int64(bitPattern: number.bitPattern)
    case .string(let string):
      node.operation = .compareString
      node.constants = addText(Array(string.utf8))
    case .bytes(let bytes):
      node.operation = .compareBytes
      node.constants = addText(bytes)
    case .array, .map, .attachment, .decimal: return nil
    }
    return node
  }

  /// A list of only integers or only strings; the evaluator handles nulls and mixtures.
  private mutating func membership(_ list: [Value], _ negated: Bool) -> MatcherNode? {
    var node = MatcherNode(operation: .inInts, success: Truth(!negated), failure: Truth(negated))
    var numbers: [Int64] = []
    var strings: [[UInt8]] = []
    for element in list {
      switch element {
      case .int(let number): numbers.append(number)
      case .string(let string): strings.append(Array(string.utf8))
      case .null, .bool, .double, .bytes, .array, .map, .counter, .attachment, .decimal: return nil
      }
    }
    guard numbers.isEmpty || strings.isEmpty else { return nil }
    if strings.isEmpty {
      node.constants = ConstantRange(start: Int32(ints.count), count: Int32(numbers.count))
      ints += numbers.sorted()
      if LanguageDefect.listOfIntegersShort.isPlanted, node.constants.count > 0 { node.constants.count -= 1 }
    } else {
      let sorted = strings.sorted { $0.span.bytes.compare($1.span.bytes) < 0 }.map { addText($0) }
      node.operation = .inStrings
      node.constants = ConstantRange(start: Int32(ranges.count), count: Int32(sorted.count))
      ranges += sorted
    }
    return node
  }

  private mutating func likeness(_ pattern: String, _ caseInsensitive: Bool, _ negated: Bool) -> MatcherNode?
  {
    guard let compiled = LikePattern(pattern, caseInsensitive: caseInsensitive) else { return nil }
    var node = MatcherNode(operation: .like, success: Truth(!negated), failure: Truth(negated))
    if !caseInsensitive, let (operation, text) = Self.affix(of: pattern) {
      node.operation = operation
      node.constants = addText(text)
    } else {
      node.constants.start = Int32(patterns.count)
      patterns.append(compiled)
    }
    return node
  }

  private mutating func regularity(_ expression: Expression, negated: Bool) -> MatcherNode? {
    do {
      guard let key = PatternTable.Key(expression), let program = try PatternTable(expression).program(key)
      else {
        return nil
      }
      var node = MatcherNode(operation: .regular, success: Truth(!negated), failure: Truth(negated))
      node.constants.start = Int32(programs.count)
      programs.append(program)
      return node
    } catch {
      // An invalid pattern fails on each document, with the evaluator's error.
      return nil
    }
  }

  /// The simple search that is equivalent to `abc`, `abc%`, `%abc` or `%abc%`.
  private static func affix(of pattern: String) -> (MatcherNode.Operation, [UInt8])? {
    var text = Array(pattern.utf8)[...]
    let percent = UInt8(ascii: "%")
    let isOpenAtStart = text.first == percent
    if isOpenAtStart { text = text.dropFirst() }
    let isOpenAtEnd = text.last == percent
    if isOpenAtEnd { text = text.dropLast() }
    let isPlain = text.allSatisfy { $0 != percent && $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "\\") }
    guard isPlain else { return nil }
    switch (isOpenAtStart, isOpenAtEnd) {
    case (false, false): return (.compareString, Array(text))
    case (false, true): return (.startsWith, Array(text))
    case (true, false): return (.endsWith, Array(text))
    case (true, true): return (.containsString, Array(text))
    }
  }

  private mutating func affix(_ terms: [Expression], _ operation: MatcherNode.Operation) -> MatcherNode? {
    guard terms.count == 2, case .path = terms[0], case .literal(.string(let text)) = terms[1] else {
      return nil
    }
    return MatcherNode(operation: operation, constants: addText(Array(text.utf8)))
  }

  private mutating func addText(_ bytes: [UInt8]) -> ConstantRange {
    defer { text += bytes }
    return ConstantRange(start: Int32(text.count), count: Int32(bytes.count))
  }
}

/// The results of a comparison of a field with a constant, for each kind of value.
///
/// For every kind but the constant's own, the result is the same for all constants of a kind. So for many
/// consecutive comparisons the evaluator runs only once.
struct ComparisonAnswers: Sendable {
  private let symbol: BinaryOperator
  private let kind: ValueRef.Kind
  var kinds = KindTruths()

  /// - Returns: `nil` for any other expression, and for constants of a kind that is not compared in place.
  init?(_ expression: Expression) {
    guard case .binary(let symbol, .path, .literal(let constant)) = expression else { return nil }
    switch constant {
    case .int: kind = .int
    case .double: kind = .double
    case .string: kind = .string
    case .null, .bool, .counter, .bytes, .array, .map, .attachment, .decimal: return nil
    }
    self.symbol = symbol
  }

  func isSame(as other: Self) -> Bool { symbol == other.symbol && kind == other.kind }
}

extension Expression {
  fileprivate var isPath: Bool {
    if case .path = self { true } else { false }
  }

  /// The result when every path has this value.
  fileprivate func truth(of value: Value?) throws(QueryError) -> Truth {
    Truth(try Evaluator.evaluate(self, row: { _ in value }))
  }
}

extension MatcherNode.Comparison {
  fileprivate init?(_ symbol: BinaryOperator) {
    switch symbol {
    case .equal, .same: self = .equal
    case .notEqual, .notSame: self = .notEqual
    case .less: self = .less
    case .lessOrEqual: self = .lessOrEqual
    case .greater: self = .greater
    case .greaterOrEqual: self = .greaterOrEqual
    case .add, .subtract, .multiply, .divide, .remainder, .concatenate, .xor, .shiftLeft, .shiftRight:
      return nil
    }
  }

  /// The comparison with its sides exchanged.
  fileprivate var mirrored: Self {
    switch self {
    case .equal, .notEqual: self
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    }
  }
}
