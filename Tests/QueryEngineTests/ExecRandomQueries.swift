import CRDTCore
import QueryEngine
import TestKit

/// Random documents and predicates over a few fields, so that they meet often.
struct RandomQueries {
  var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// In the last one stands a counter, whose place no plain number takes.
  static let fields = ["a", "b", "c", "d", "e"]

  mutating func document() -> [TextKey: Value] {
    var document: [TextKey: Value] = [:]
    for field in Self.fields where !random.oneIn(4) {
      document[field] = field == "e" ? .counter(Int64(random.int(below: 4))) : value(depth: 2)
    }
    return document
  }

  mutating func id() -> Value {
    switch random.int(below: 8) {
    case 0: .int(Int64(random.int(below: 30)) - 10)
    case 1: .bool(random.oneIn(2))
    case 2: .array([.string("k"), .int(Int64(random.int(below: 5)))])
    case 3: .map(["region": .string("r\(random.int(below: 3))"), "n": .int(Int64(random.int(below: 5)))])
    default: .string("id\(random.int(below: 400))")
    }
  }

  mutating func value(depth: Int) -> Value {
    switch random.int(below: depth > 0 ? 14 : 11) {
    case 0: .null
    case 1: .bool(random.oneIn(2))
    case 2, 3, 4: .int(random.pick([-1, 0, 1, 2, 3, 1 << 40, .max, .min]))
    case 5, 6: .double(random.pick([-1, 0, -0.0, 0.5, 1, 2, 1e300, 9.3e18]))
    case 7, 8, 9:
      .string(
        random.pick(["", "a", "ab", "abc", "b", "ba", "xab", "ähb", "ÄB", "a%b", "longer than a slot"]))
    case 10: .bytes([1, 2])
    case 11, 12: .map(["a": value(depth: depth - 1), "k": value(depth: depth - 1)])
    default: .array((0..<random.int(below: 4)).map { _ in value(depth: 0) })
    }
  }

  mutating func path() -> Expression {
    let field = PathComponent.key(TextKey(random.pick(Self.fields)))
    switch random.int(below: 8) {
    case 0: return .path([field, .key("a")])
    case 1: return .path([field, .key("k"), .key("a")])
    case 2: return .path([field, .index(random.int(below: 2))])
    case 3: return random.oneIn(2) ? .path([.key("_id")]) : .path([.key("_id"), .key("n")])
    default: return .path([field])
    }
  }

  mutating func predicate(depth: Int) -> Expression {
    guard depth > 0, !random.oneIn(3) else { return leaf() }
    switch random.int(below: 6) {
    case 0, 1: return .and((0...random.int(below: 3)).map { _ in predicate(depth: depth - 1) })
    case 2, 3: return .or((0...random.int(below: 3)).map { _ in predicate(depth: depth - 1) })
    case 4: return .unary(.not, predicate(depth: depth - 1))
    default: return .unary(.isNotTrue, predicate(depth: depth - 1))
    }
  }

  /// An expression of any kind; `variables` are bound around it.
  mutating func expression(depth: Int, variables: Int = 0) -> Expression {
    guard depth > 0, !random.oneIn(6) else {
      if variables > 0, random.oneIn(2) {
        let slot = random.int(below: variables)
        let path: FieldPath = random.oneIn(4) ? [random.oneIn(2) ? .key("a") : .index(0)] : []
        return .variable(Variable("v\(slot)", slot: slot), path)
      }
      return random.oneIn(3) ? literal() : path()
    }
    func operand(_ queries: inout RandomQueries) -> Expression {
      queries.expression(depth: depth - 1, variables: variables)
    }
    switch random.int(below: 12) {
    case 0, 1:
      return .binary(
        random.pick([.add, .subtract, .multiply, .divide, .remainder, .shiftLeft, .shiftRight, .concatenate]),
        operand(&self), operand(&self))
    case 2:
      let left = operand(&self)
      return .binary(
        random.oneIn(5) ? .xor : comparison(),
        random.oneIn(4) ? .collate(left, random.pick(Collation.allCases)) : left, operand(&self))
    case 3: return .unary(random.pick([.negate, .not, .isNotTrue]), operand(&self))
    case 4:
      let terms = (0..<2).map { _ in operand(&self) }
      return random.oneIn(2) ? .and(terms) : .or(terms)
    case 5:
      return .between(
        operand(&self), low: operand(&self), high: operand(&self), negated: random.oneIn(3))
    case 6:
      let list = random.oneIn(2) ? operand(&self) : .literal(.array(self.list()))
      return .in(operand(&self), list, negated: random.oneIn(3))
    case 7:
      return .case(
        (0...random.int(below: 2)).map { _ in
          WhenClause(condition: operand(&self), result: operand(&self))
        }, otherwise: random.oneIn(2) ? operand(&self) : nil)
    case 8, 9: return call(depth: depth, variables: variables)
    case 10: return random.oneIn(2) ? predicate(depth: depth - 1) : .array([operand(&self), operand(&self)])
    default:
      let iteration = Iteration(
        position: random.oneIn(3) ? Variable("p", slot: variables + 1) : nil,
        element: Variable("v\(variables)", slot: variables), source: operand(&self),
        isDeep: random.oneIn(6))
      let condition = expression(
        depth: depth - 1, variables: variables + (iteration.position == nil ? 1 : 2))
      if random.oneIn(6) { return .arrayFor(condition, iteration, when: nil) }
      return .quantified(random.pick([.any, .every, .anyAndEvery]), iteration, satisfies: condition)
    }
  }

  private mutating func call(depth: Int, variables: Int) -> Expression {
    let function: Function = random.pick([
      .lower, .upper, .byteLength, .charLength, .substr, .concat, .contains, .startsWith, .endsWith,
      .coalesce,
      .nvl, .ifMissing, .ifNull, .isMissing, .isNull, .isMissingOrNull, .nullIf, .missingIf, .decode, .abs,
      .ceil, .round, .arrayContains, .arrayContainsNull, .arrayLength, .type, .jsonType, .isNumber, .trim,
      .split, .position, .objectKeys, .arraySort,
    ])
    let count =
      switch function {
      case .substr, .nvl: 2 + random.int(below: 2)
      case .concat, .contains, .startsWith, .endsWith, .ifMissing, .ifNull, .nullIf, .missingIf,
        .arrayContains,
        .split, .position, .coalesce:
        2
      case .decode: 3 + random.int(below: 3)
      default: 1
      }
    return .call(
      function,
      (0..<count).map { place in
        function == .substr && place > 0
          ? .literal(.int(Int64(random.int(below: 5)) - 2))
          : expression(depth: depth - 1, variables: variables)
      })
  }

  /// A predicate that says something about ids.
  mutating func idPredicate(depth: Int) -> Expression {
    let subject = Expression.path([.key("_id")])
    switch random.int(below: depth > 0 ? 9 : 5) {
    case 0: return .in(subject, .literal(.array((0..<3).map { _ in someID() })), negated: random.oneIn(5))
    case 1:
      return .between(subject, low: .literal(someID()), high: .literal(someID()), negated: random.oneIn(5))
    case 2: return .binary(comparison(), .literal(someID()), subject)
    case 3: return .binary(comparison(), subject, .literal(someID()))
    case 4: return leaf()
    case 5, 6: return .and((0..<2).map { _ in idPredicate(depth: depth - 1) })
    case 7: return .or((0..<2).map { _ in idPredicate(depth: depth - 1) })
    default: return .unary(random.oneIn(2) ? .not : .isNotTrue, idPredicate(depth: depth - 1))
    }
  }

  private mutating func someID() -> Value {
    switch random.int(below: 6) {
    case 0: .double(Double(random.int(below: 40)) / 2 - 10)
    case 1: value(depth: 1)
    default: id()
    }
  }

  private mutating func leaf() -> Expression {
    let subject = path()
    let negated = random.oneIn(3)
    switch random.int(below: 20) {
    case 17: return ofElements(subject)
    case 18: return .call(.arrayContains, [subject, .literal(value(depth: 0))])
    case 19:
      return .binary(
        comparison(), .call(.lower, [subject]), .literal(random.oneIn(3) ? .string("ab") : value(depth: 0)))
    case 14:
      let pattern = Expression.literal(.string(random.pick(["a", "^a", "b$", "^(ab?)+$", ".h", "[^a]", ""])))
      return .call(.regexpLike, [subject, pattern] + (random.oneIn(2) ? [.literal(.string("i"))] : []))
    case 15:
      let pattern = random.pick(["a%", "(a|b)+", "_[a-c]%", "", "a\\%b", "%h%"])
      return .similar(subject, pattern: .literal(.string(pattern)), escape: nil, negated: negated)
    case 16: return .call(.contains, [subject, literal()])
    case 0, 1, 2, 3:
      let constant = Expression.literal(value(depth: 1))
      return random.oneIn(3)
        ? .binary(comparison(), constant, subject) : .binary(comparison(), subject, constant)
    case 4: return .between(subject, low: literal(), high: literal(), negated: negated)
    case 5, 6: return .in(subject, .literal(.array(list())), negated: negated)
    case 7, 8:
      let pattern = random.pick(["%", "a%", "%b", "%a%", "a_", "ab", "", "a\\%b", "%h_", "_%", "a%b"])
      return .like(
        subject, pattern: .literal(.string(pattern)), escape: nil, caseInsensitive: random.oneIn(4),
        negated: negated)
    case 9: return .isNull(subject, negated: negated)
    case 10: return .isMissing(subject, negated: negated)
    case 11:
      return .call(random.oneIn(2) ? .startsWith : .endsWith, [subject, literal()])
    case 12: return subject
    default: return .binary(comparison(), subject, path())
    }
  }

  /// A condition on the elements of what is hardly ever an array.
  private mutating func ofElements(_ subject: Expression) -> Expression {
    if random.oneIn(3) { return .in(.literal(value(depth: 0)), subject, negated: random.oneIn(3)) }
    let element = Variable("e", slot: 0)
    var conditions: [Expression] = []
    for _ in 0...random.int(below: 2) {
      conditions.append(
        random.oneIn(3)
          ? .isNull(.variable(element, []), negated: random.oneIn(2))
          : .binary(comparison(), .variable(element, []), .literal(value(depth: 0))))
    }
    return .quantified(
      random.pick([.any, .any, .any, .every, .anyAndEvery]),
      Iteration(element: element, source: subject, isDeep: random.oneIn(6)),
      satisfies: conditions.count == 1 ? conditions[0] : random.oneIn(2) ? .and(conditions) : .or(conditions))
  }

  private mutating func literal() -> Expression { .literal(value(depth: 1)) }

  private mutating func list() -> [Value] {
    switch random.int(below: 3) {
    case 0: (0..<random.int(below: 4)).map { _ in .int(Int64(random.int(below: 4))) }
    case 1: (0..<random.int(below: 4)).map { _ in .string(random.pick(["a", "ab", "b", "id3", ""])) }
    default: (0..<random.int(below: 4)).map { _ in value(depth: 1) }
    }
  }

  private mutating func comparison() -> BinaryOperator {
    random.pick([.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .same, .notSame])
  }
}
