import CRDTCore
import DocStore

/// The part of a predicate that indexes can answer: every document that it accepts satisfies it.
struct Condition: Hashable, Sendable {
  indirect enum Kind: Hashable, Sendable {
    /// No condition.
    case always
    case never
    /// The field's value is in the set; for elements, the value of at least one of them.
    case field(IndexTerm, ValueSet)
    case all([Condition])
    case any([Condition])
  }

  let kind: Kind
  /// Whether, conversely, every document that satisfies it is accepted.
  let isExact: Bool

  private init(_ kind: Kind, isExact: Bool) {
    self.kind = kind
    self.isExact = isExact
  }

  /// The condition of a query without a filter.
  static let everything = Condition(.always, isExact: true)
  private static let unknown = Condition(.always, isExact: false)

  /// - Complexity: O(*n* log *n*) in the predicate's nodes and constants.
  init(_ predicate: Expression) { self = Self.of(predicate, .isTrue) }

  /// The wanted result of an expression.
  private enum Wanted {
    case isTrue, isFalse, isNotTrue, isNotFalse

    /// The wanted result of the operand of NOT.
    var negated: Wanted {
      switch self {
      case .isTrue: .isFalse
      case .isFalse: .isTrue
      case .isNotTrue: .isNotFalse
      case .isNotFalse: .isNotTrue
      }
    }
  }

  private static func of(_ expression: Expression, _ wanted: Wanted) -> Condition {
    switch expression {
    case .and(let terms):
      let parts = terms.map { of($0, wanted) }
      return wanted == .isTrue || wanted == .isNotFalse ? all(parts) : any(parts)
    case .or(let terms):
      let parts = terms.map { of($0, wanted) }
      return wanted == .isTrue || wanted == .isNotFalse ? any(parts) : all(parts)
    case .unary(.not, let operand): return of(operand, wanted.negated)
    case .unary(.isNotTrue, let operand):
      // Its value is a boolean, so that anything other than true is false.
      return of(operand, wanted == .isTrue || wanted == .isNotFalse ? .isNotTrue : .isTrue)
    case .between(let subject, let low, let high, let negated)
    where Collation.ruling([subject, low, high]) == nil:
      let inside = Expression.and([
        .binary(.greaterOrEqual, subject, low), .binary(.lessOrEqual, subject, high),
      ])
      return of(inside, negated ? wanted.negated : wanted)
    case .literal(let value):
      let holds =
        switch wanted {
        case .isTrue: value == .bool(true)
        case .isFalse: value == .bool(false)
        case .isNotTrue: value != .bool(true)
        case .isNotFalse: value != .bool(false)
        }
      return Condition(holds ? .always : .never, isExact: true)
    default: return leaf(expression, wanted)
    }
  }

  private static func leaf(_ expression: Expression, _ wanted: Wanted) -> Condition {
    if let (term, set) = ofElements(expression) {
      return wanted == .isTrue ? field(term, set, isExact: false) : unknown
    }
    guard let leaf = Leaf(expression) else { return unknown }
    let set: ValueSet
    switch wanted {
    case .isTrue: set = leaf.whenTrue
    case .isFalse: set = leaf.whenFalse
    case .isNotTrue, .isNotFalse:
      // The complement of a set that is too wide is too narrow.
      guard leaf.isExact else { return unknown }
      set = (wanted == .isNotTrue ? leaf.whenTrue : leaf.whenFalse).complement
    }
    return field(leaf.term, set, isExact: leaf.isExact)
  }

  private static func field(_ term: IndexTerm, _ set: ValueSet, isExact: Bool) -> Condition {
    if set.isEmpty { return Condition(.never, isExact: true) }
    return Condition(set == .everything ? .always : .field(term, set), isExact: isExact)
  }

  private static func all(_ parts: [Condition]) -> Condition {
    let isExact = parts.allSatisfy(\.isExact)
    var sets: [(term: IndexTerm, set: ValueSet)] = []
    var others: [Condition] = []
    var rest = parts[...]
    while let part = rest.popFirst() {
      switch part.kind {
      case .always: continue
      case .never: return Condition(.never, isExact: true)
      case .field(let term, let set):
        if let place = sets.firstIndex(where: { $0.term == term }) {
          // Two conditions that each hold for some element need not hold for the same one.
          if term.part == .elements { continue }
          sets[place].set = sets[place].set.intersection(set)
          if sets[place].set.isEmpty { return Condition(.never, isExact: true) }
        } else {
          sets.append((term, set))
        }
      case .all(let inner): rest = inner + rest
      case .any: others.append(part)
      }
    }
    let terms = sets.map { Condition(.field($0.term, $0.set), isExact: isExact) } + others
    if terms.isEmpty { return Condition(.always, isExact: isExact) }
    return terms.count == 1
      ? Condition(terms[0].kind, isExact: isExact) : Condition(.all(terms), isExact: isExact)
  }

  private static func any(_ parts: [Condition]) -> Condition {
    let isExact = parts.allSatisfy(\.isExact)
    var sets: [(term: IndexTerm, set: ValueSet)] = []
    var others: [Condition] = []
    var rest = parts[...]
    while let part = rest.popFirst() {
      switch part.kind {
      case .never: continue
      case .always: return Condition(.always, isExact: isExact)
      case .field(let term, let set):
        if let place = sets.firstIndex(where: { $0.term == term }) {
          sets[place].set = sets[place].set.union(set)
        } else {
          sets.append((term, set))
        }
      case .any(let inner): rest = inner + rest
      case .all: others.append(part)
      }
    }
    let terms = sets.map { field($0.term, $0.set, isExact: isExact) } + others
    if terms.isEmpty { return Condition(.never, isExact: true) }
    if terms.contains(where: { $0.kind == .always }) { return Condition(.always, isExact: isExact) }
    return terms.count == 1
      ? Condition(terms[0].kind, isExact: isExact) : Condition(.any(terms), isExact: isExact)
  }
}

// MARK: - One test of one field

extension Condition {
  /// The values of a field for which an expression is true, and those for which it is false.
  fileprivate struct Leaf {
    let term: IndexTerm
    let whenTrue: ValueSet
    let whenFalse: ValueSet
    var isExact = true
  }
}

extension Condition.Leaf {
  /// Fails for an expression that does not compare one field with constants.
  init?(_ expression: Expression) {
    switch expression {
    case .path, Condition.element: self.init(expression, .point(.bool(true)), .point(.bool(false)))
    case .binary(let symbol, let subject, .literal(let constant)) where IndexTerm(subject) != nil:
      self.init(subject, symbol, constant)
    case .binary(let symbol, .literal(let constant), let subject):
      self.init(subject, symbol.mirrored, constant)
    case .isNull(let subject, let negated): self.init(subject, exactly: .null, negated)
    case .isMissing(let subject, let negated): self.init(subject, exactly: nil, negated)
    case .in(let subject, .literal(let list), let negated): self.init(subject, in: list, negated)
    case .like(let subject, .literal(.string(let pattern)), let escape, false, let negated):
      guard let text = LikePrefix(pattern, escape: escape) else { return nil }
      self.init(subject, text, negated)
    case .call(.startsWith, let terms):
      guard terms.count == 2, case .literal(.string(let text)) = terms[1] else { return nil }
      self.init(terms[0], LikePrefix(text: text, isWhole: false, isExact: true), false)
    default: return nil
    }
  }

  private init?(_ subject: Expression, _ whenTrue: ValueSet, _ whenFalse: ValueSet, isExact: Bool = true) {
    guard let term = IndexTerm(subject) else { return nil }
    self.init(term: term, whenTrue: whenTrue, whenFalse: whenFalse, isExact: isExact)
  }

  private init?(_ subject: Expression, _ symbol: BinaryOperator, _ constant: Value) {
    guard let whenTrue = ValueSet.comparison(symbol, constant) else { return nil }
    let whenFalse: ValueSet
    switch symbol {
    case .same, .notSame: whenFalse = whenTrue.complement
    default:
      whenFalse =
        constant == .null ? .nothing : .comparable(with: constant).intersection(whenTrue.complement)
    }
    self.init(subject, whenTrue, whenFalse)
  }

  private init?(_ subject: Expression, exactly value: Value?, _ negated: Bool) {
    let set = ValueSet.point(value)
    self.init(subject, negated ? set.complement : set, negated ? set : set.complement)
  }

  private init?(_ subject: Expression, in list: Value, _ negated: Bool) {
    guard case .array(let elements) = list else {
      // IN with anything other than an array is NULL or MISSING, whatever the field's value is.
      self.init(subject, .nothing, .nothing)
      return
    }
    let values = elements.filter { $0 != .null }
    let inside = ValueSet(of: values.map { .point($0) })
    // With a null in the list, no value is known to be outside of it.
    let outside =
      values.count < elements.count
      ? .nothing : inside.complement.intersection(.range(.beginning, .before(.null)))
    self.init(subject, negated ? outside : inside, negated ? inside : outside)
  }

  private init?(_ subject: Expression, _ prefix: LikePrefix, _ negated: Bool) {
    let strings = ValueSet.comparable(with: .string(""))
    let inside = prefix.isWhole ? ValueSet.point(.string(prefix.text)) : .prefixed(by: prefix.text)
    let outside = prefix.isExact ? strings.intersection(inside.complement) : strings
    self.init(
      subject, negated ? outside : inside, negated ? inside : outside, isExact: prefix.isExact)
  }
}

/// The prefix that a LIKE pattern demands of its texts.
struct LikePrefix {
  let text: String
  /// Whether nothing follows the prefix.
  let isWhole: Bool
  /// Whether the prefix is equivalent to the pattern.
  let isExact: Bool

  init(text: String, isWhole: Bool, isExact: Bool) {
    self.text = text
    self.isWhole = isWhole
    self.isExact = isExact
  }

  /// Fails for patterns that may begin with anything, and for invalid escapes.
  init?(_ pattern: String, escape: Expression?) {
    var escapeText = "\\"
    if let escape {
      guard case .literal(.string(let given)) = escape else { return nil }
      escapeText = given
    }
    // A pattern that does not compile never matches; the filter handles it.
    guard LikePattern(pattern, escape: escapeText) != nil, let escape = escapeText.unicodeScalars.first else {
      return nil
    }
    var text = String.UnicodeScalarView()
    var scalars = Array(pattern.unicodeScalars)[...]
    while let scalar = scalars.popFirst() {
      if scalar == escape {
        text.append(scalars.popFirst() ?? scalar)
      } else if scalar == "%" || scalar == "_" {
        let isOpen = scalar == "%" && scalars.allSatisfy { $0 == "%" && $0 != escape }
        guard !text.isEmpty else { return nil }
        self.init(text: String(text), isWhole: false, isExact: isOpen)
        return
      } else {
        text.append(scalar)
      }
    }
    self.init(text: String(text), isWhole: true, isExact: true)
  }
}

extension FieldPath {
  /// The path as in an index; `nil` for the id and for elements of arrays.
  var keys: [TextKey]? {
    guard first != .key("_id") else { return nil }
    var keys: [TextKey] = []
    for component in self {
      guard case .key(let key) = component else { return nil }
      keys.append(key)
    }
    return keys
  }
}
