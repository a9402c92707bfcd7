import CRDTCore

/// How much of a collection a condition is likely to leave, where nothing is known of its values.
///
/// Source of the proportions: Selinger et al., "Access Path Selection in a Relational Database Management
/// System", SIGMOD 1979, table 1; narrower, since fields that are asked for by value are mostly keys of a kind.
struct Estimates {
  /// One value of a field.
  static let point = 0.01
  private static let bounded = 0.05
  private static let prefix = 0.02
  private static let halfBounded = 0.3
  private static let wholeClass = 0.5
  private static let most = 0.9
  /// Of what no index says anything about.
  static let unknown = 0.3

  /// The part of all documents whose value is in the set.
  func share(of set: ValueSet) -> Double {
    min(set.ranges.reduce(0) { $0 + share(of: $1) }, Self.most)
  }

  private func share(of range: ValueRange) -> Double {
    if range.isPoint { return Self.point }
    if case .afterPrefix = range.upper { return Self.prefix }
    guard let first = range.lower.valueClass, let last = range.upper.valueClass else { return Self.most }
    let endsWithClass = last.isAfterClass
    guard first.valueClass == last.valueClass || (endsWithClass && first.valueClass < last.valueClass) else {
      return Self.most
    }
    switch (first.isBeforeClass, endsWithClass) {
    case (false, false): return Self.bounded
    case (true, true): return Self.wholeClass
    default: return Self.halfBounded
    }
  }

  /// The part of all documents that fulfil a condition.
  func share(of condition: Condition) -> Double {
    switch condition.kind {
    case .always: condition.isExact ? 1 : Self.unknown
    case .never: 0
    case .field(_, let set): share(of: set)
    case .all(let terms): terms.reduce(1) { $0 * share(of: $1) }
    case .any(let terms): min(terms.reduce(0) { $0 + share(of: $1) }, Self.most)
    }
  }
}

extension ValueEdge {
  /// The class of the value at this place, and whether all of the class lies on one side of it.
  fileprivate var valueClass: (valueClass: SortOrder.Class, isBeforeClass: Bool, isAfterClass: Bool)? {
    switch self {
    case .beginning, .end: return nil
    case .afterPrefix: return (.string, false, false)
    case .after(let value): return (SortOrder.Class(value), false, false)
    case .before(let value):
      let valueClass = SortOrder.Class(value)
      let isFirst = value.map { ValueSet.comparable(with: $0).ranges.first?.lower == self } ?? true
      return (valueClass, isFirst, isFirst)
    }
  }
}
