import CRDTCore
import DocStore

/// Estimates the share of a collection that satisfies a condition.
///
/// The statistics of indexes are used first. Where nothing is known of a field's values, fixed proportions
/// are used. They are narrower than those of the source, since fields in conditions on values are mostly keys
/// of some kind.
///
/// Source: Selinger et al., "Access Path Selection in a Relational Database Management System", SIGMOD 1979,
/// table 1.
struct Estimates {
  /// The share of one value of a field.
  static let point = 0.01
  private static let bounded = 0.05
  private static let prefix = 0.02
  private static let halfBounded = 0.3
  private static let wholeClass = 0.5
  private static let most = 0.9
  /// The share of a condition that no index covers.
  static let unknown = 0.3
  /// The most spans that are looked up; of more spans only a sample is.
  private static let maximumLookups = 64

  /// Indexes with statistics, by their first field.
  private let indexes: [IndexTerm: IndexInfo]

  init(_ indexes: [IndexInfo] = []) {
    let informed = indexes.filter { $0.statistics != nil }
    self.indexes = Dictionary(informed.map { ($0.definition.fields[0].term, $0) }) { first, _ in first }
  }

  /// Whether there are statistics of the values.
  var areInformed: Bool { !indexes.isEmpty }

  /// The share of an index's rows that are in spans; `nil` where nothing is known.
  func share(of spans: [IndexSpan], in index: IndexInfo) -> Double? {
    guard index.statistics != nil, !spans.isEmpty else { return nil }
    let step = max(spans.count / Self.maximumLookups, 1)
    var share = 0.0
    var lookups = 0
    for place in stride(from: 0, to: spans.count, by: step) {
      share += index.share(from: spans[place].from, to: spans[place].to) ?? 0
      lookups += 1
    }
    return min(share * Double(spans.count) / Double(lookups), 1)
  }

  /// The share of all documents with a value in the set.
  func share(of set: ValueSet, at term: IndexTerm) -> Double {
    guard let index = indexes[term] else { return share(of: set) }
    let spans = IndexSpan.spans(of: set, descending: index.definition.fields[0].isDescending)
    return share(of: spans, in: index) ?? share(of: set)
  }

  /// The share of all documents whose value is in the set, where nothing is known of the values.
  private func share(of set: ValueSet) -> Double {
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

  /// The share of all documents that satisfy a condition.
  func share(of condition: Condition) -> Double {
    switch condition.kind {
    case .always: condition.isExact ? 1 : Self.unknown
    case .never: 0
    case .field(let term, let set): share(of: set, at: term)
    case .all(let terms): terms.reduce(1) { $0 * share(of: $1) }
    case .any(let terms): min(terms.reduce(0) { $0 + share(of: $1) }, Self.most)
    }
  }
}

extension ValueEdge {
  /// The class of the value at this edge, and whether the whole class is on one side of it.
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
