import CRDTCore
import QueryEngine
import TestKit

extension QueryDraws {
  private static let comparisons: [BinaryOperator] = [
    .equal, .equal, .notEqual, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .same, .notSame,
  ]

  /// A field that an index may have.
  mutating func path() -> FieldPath {
    switch random.int(below: 11) {
    case 10: [.key(Self.flagField)]
    case 0: [.key(Self.mapField), .key("a")]
    case 1: [.key(Self.mapField), .key("k")]
    case 2: [.key(Self.numberField)]
    case 3, 4, 5: [.key(Self.textField)]
    default: [.key(random.pick(Self.anyFields))]
    }
  }

  mutating func predicate(depth: Int) -> Expression {
    if random.oneIn(60) { return nested(levels: random.pick([10, 60])) }
    guard depth > 0, !random.oneIn(3) else { return test() }
    switch random.int(below: 7) {
    case 0, 1, 2: return .and((0...(1 + random.int(below: 2))).map { _ in predicate(depth: depth - 1) })
    case 3, 4: return .or((0...(1 + random.int(below: 2))).map { _ in predicate(depth: depth - 1) })
    case 5: return .unary(.not, predicate(depth: depth - 1))
    default: return .unary(.isNotTrue, predicate(depth: depth - 1))
    }
  }

  private mutating func nested(levels: Int) -> Expression {
    var predicate = test()
    for level in 0..<levels { predicate = .unary(level % 3 == 2 ? .isNotTrue : .not, predicate) }
    return predicate
  }

  private mutating func test() -> Expression {
    let subject = Expression.path(path())
    let negated = random.oneIn(3)
    switch random.int(below: 24) {
    case 0, 1, 2, 3:
      let symbol = random.pick(Self.comparisons)
      return random.oneIn(3)
        ? .binary(symbol, .literal(value(depth: 1)), subject)
        : .binary(symbol, subject, .literal(value(depth: 1)))
    case 4: return .between(subject, low: .literal(scalar()), high: .literal(scalar()), negated: negated)
    case 5, 6, 7, 8: return .in(subject, .literal(.array(list())), negated: negated)
    case 9: return membership(of: subject)
    case 10, 11: return ofElements(negated: negated)
    case 12: return pattern(subject, negated: negated)
    case 13: return regular(subject, negated: negated)
    case 14: return .isNull(subject, negated: negated)
    case 15: return .isMissing(subject, negated: negated)
    case 16: return .call(.startsWith, [subject, .literal(.string(text()))])
    case 17, 18: return identifier(negated: negated)
    case 19: return lowered(negated: negated)
    case 20: return .binary(random.pick(Self.comparisons), subject, .path(path()))
    case 21: return ofFolded(subject, negated: negated)
    default: return computed()
    }
  }

  // MARK: Lists

  /// The forms of IN that have other words.
  private mutating func membership(of subject: Expression) -> Expression {
    let list = Expression.literal(.array(list()))
    if random.oneIn(2) { return .call(.arrayContains, [list, subject]) }
    let element = Variable("e", slot: 0)
    let (left, right) =
      random.oneIn(2) ? (Expression.variable(element, []), subject) : (subject, .variable(element, []))
    return .quantified(
      random.oneIn(5) ? .every : .any, Iteration(element: element, source: list),
      satisfies: .binary(random.oneIn(4) ? .same : .equal, left, right))
  }

  private mutating func ofElements(negated: Bool) -> Expression {
    let source = Expression.path([.key(Self.listField)])
    switch random.int(below: 4) {
    case 0: return .call(.arrayContains, [source, .literal(scalar())])
    case 1: return .in(.literal(scalar()), source, negated: negated)
    default: break
    }
    let element = Variable("e", slot: 0)
    let value = Expression.variable(element, [])
    let condition: Expression =
      switch random.int(below: 4) {
      case 0: .in(value, .literal(.array(list())), negated: negated)
      case 1:
        .and([
          .binary(.greaterOrEqual, value, .literal(scalar())), .binary(.less, value, .literal(scalar())),
        ])
      default: .binary(random.pick(Self.comparisons), value, .literal(scalar()))
      }
    return .quantified(
      random.pick([.any, .any, .every, .anyAndEvery]), Iteration(element: element, source: source),
      satisfies: condition)
  }

  private mutating func lowered(negated: Bool) -> Expression {
    let lower = Expression.call(.lower, [.path([.key(Self.textField)])])
    return random.oneIn(2)
      ? .in(lower, .literal(.array(list())), negated: negated)
      : .binary(random.pick(Self.comparisons), lower, .literal(.string(text())))
  }

  private mutating func ofFolded(_ subject: Expression, negated: Bool) -> Expression {
    let folded = Expression.collate(subject, .caseInsensitive)
    return random.oneIn(2)
      ? .in(folded, .literal(.array(list())), negated: negated)
      : .binary(random.pick(Self.comparisons), folded, .literal(scalar()))
  }

  // MARK: Others

  private mutating func pattern(_ subject: Expression, negated: Bool) -> Expression {
    let pattern =
      random.oneIn(3) ? long() + "%" : random.pick(["%", "a%", "%b", "%a%", "a_", "l%", "", "a\\%b"])
    return .like(
      subject, pattern: .literal(.string(pattern)), escape: nil, caseInsensitive: random.oneIn(4),
      negated: negated)
  }

  private mutating func regular(_ subject: Expression, negated: Bool) -> Expression {
    if random.oneIn(3) {
      let pattern = random.pick(["a%", "(a|b)+", "_[a-c]%", "", "%l{3}b", "%(\u{E9}|b)"])
      return .similar(subject, pattern: .literal(.string(pattern)), escape: nil, negated: negated)
    }
    let pattern = random.pick([
      "a", "^a", "b$", "^(ab?)+$", "l{3}b", "[^a-l]", "", "\\bb", "d\\b", "(?m)^b", "a|\u{E9}$", "(a|aa)+b?$",
      ".\u{301}", "\\Bl", "^.$", "(?i)\u{E9}",
    ])
    return .call(
      .regexpLike, [subject, .literal(.string(pattern))] + (random.oneIn(3) ? [.literal(.string("i"))] : []))
  }

  private mutating func identifier(negated: Bool) -> Expression {
    let subject = Expression.path([.key("_id")])
    let some = random.oneIn(4) ? scalar() : id()
    switch random.int(below: 5) {
    case 0, 1:
      let ids = (0..<random.pick([1, 3, 9])).map { _ in random.oneIn(6) ? scalar() : id() }
      return .in(subject, .literal(.array(ids)), negated: negated)
    case 2: return .between(subject, low: .literal(some), high: .literal(id()), negated: negated)
    default: return .binary(random.pick(Self.comparisons), subject, .literal(some))
    }
  }

  /// What no index answers.
  private mutating func computed() -> Expression {
    let subject = Expression.path(path())
    let constant = Expression.literal(scalar())
    switch random.int(below: 6) {
    case 0: return .binary(random.pick(Self.comparisons), .binary(.add, subject, .literal(.int(1))), constant)
    case 1:
      return .binary(random.pick(Self.comparisons), .call(.coalesce, [subject, .path(path())]), constant)
    case 2:
      return .case(
        [WhenClause(condition: .isNull(subject, negated: true), result: .binary(.less, subject, constant))],
        otherwise: .literal(.bool(random.oneIn(2))))
    case 3:
      return .binary(.equal, .call(.type, [subject]), .literal(.string(random.pick(["string", "number"]))))
    case 4:
      return .in(
        .binary(.concatenate, subject, .literal(.string(""))), .literal(.array(list())), negated: false)
    default:
      return .binary(
        .greater, .call(.charLength, [subject]), .literal(.int(Int64(random.pick([0, 1, 248, 250])))))
    }
  }
}
