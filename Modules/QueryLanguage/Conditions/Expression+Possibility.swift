import CRDTCore

extension Expression {
  /// Whether a predicate may be true of some document, as far as its constants tell.
  ///
  /// If it is false, the predicate is true of no document. If it is true, it may still be true of none.
  ///
  /// - Complexity: O(*n* + *t*²) in the predicate's nodes and in the terms of one AND.
  var mayBeTrue: Bool {
    switch self {
    case .literal(let value): return value == .bool(true)
    case .missing: return false
    case .and(let terms): return terms.allSatisfy(\.mayBeTrue) && !Self.contradict(terms)
    case .or(let terms): return terms.contains(where: \.mayBeTrue)
    case .binary(let symbol, let left, let right):
      return !symbol.isFalseOfNull || !left.isNullOrMissing && !right.isNullOrMissing
    case .in(_, .literal(.array(let values)), negated: false): return values.contains { $0 != .null }
    case .in(_, .literal, negated: false): return false
    default: return true
    }
  }

  private var isNullOrMissing: Bool { self == .literal(.null) || self == .missing }

  /// Whether two of the terms demand that one field equals two different texts, flags or integers.
  private static func contradict(_ terms: [Expression]) -> Bool {
    var demanded: [FieldPath: Value] = [:]
    for term in terms {
      guard case .binary(let symbol, .path(let path), .literal(let value)) = term,
        symbol == .equal || symbol == .same
      else { continue }
      switch (demanded[path], value) {
      case (.string(let other)?, .string(let text)): if !other.isSame(as: text) { return true }
      case (.bool(let other)?, .bool(let flag)): if other != flag { return true }
      case (.int(let other)?, .int(let number)): if other != number { return true }
      default: demanded[path] = value
      }
    }
    return false
  }
}

extension BinaryOperator {
  /// Whether it is a comparison that is never true if one of its operands is null or missing.
  fileprivate var isFalseOfNull: Bool {
    switch self {
    case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual: true
    case .same, .notSame, .add, .subtract, .multiply, .divide, .remainder, .concatenate, .xor, .shiftLeft,
      .shiftRight:
      false
    }
  }
}
