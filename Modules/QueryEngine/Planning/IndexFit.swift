import CRDTCore
import DocStore

/// What one index does for a condition: the rows that have to be looked at, and in which order they come.
struct IndexFit {
  let index: IndexInfo
  let spans: [IndexSpan]
  /// How many of the index's fields the spans settle.
  let settledFields: Int
  /// The part of all rows that the spans are likely to have.
  let share: Double
  /// Whether one document may stand in several of the rows.
  let repeatsDocuments: Bool

  /// More ranges than these are taken together to one.
  private static let maximumSpans = 1 << 13

  /// Fails when the condition says nothing of the index's first field, and where documents without elements
  /// would be left out.
  ///
  /// - Parameters:
  ///   - index: A ready index.
  ///   - sets: What the condition says of fields.
  ///   - estimates: What is known of the index's values.
  init?(_ index: IndexInfo, _ sets: [IndexTerm: ValueSet], _ estimates: Estimates) {
    var prefixes: [[Value?]] = [[]]
    var share = 1.0
    var settled = 0
    let fields = index.definition.fields
    repeatsDocuments = fields.contains { $0.part == .elements && sets[$0.term]?.isPoint != true }
    for field in fields {
      guard let set = sets[field.term] else { break }
      let isLeading = settled == 0
      guard isLeading || prefixes.count * set.ranges.count <= Self.maximumSpans else { break }
      share *= index.statistics == nil ? estimates.share(of: set, at: field.term) : 1
      settled += 1
      let ranges = Self.ranges(of: set, descending: field.isDescending)
      guard set.isPoints, ranges.count <= Self.maximumSpans else {
        guard fields[settled...].allSatisfy({ $0.part != .elements }) else { return nil }
        spans = prefixes.flatMap { prefix in
          ranges.map { IndexSpan($0, after: prefix, descending: field.isDescending) }
        }
        self.index = index
        self.share = estimates.share(of: spans, in: index) ?? share
        settledFields = settled
        return
      }
      prefixes = prefixes.flatMap { prefix in ranges.map { prefix + [$0.value] } }
    }
    guard settled > 0, fields[settled...].allSatisfy({ $0.part != .elements }) else { return nil }
    self.index = index
    settledFields = settled
    spans = prefixes.map { .equal($0) }
    self.share = estimates.share(of: spans, in: index) ?? share
  }

  /// All rows of an index; fails where some documents have none, or several.
  init?(whole index: IndexInfo) {
    if index.definition.hasElements { return nil }
    repeatsDocuments = false
    self.index = index
    spans = [IndexSpan()]
    settledFields = 0
    share = 1
  }

  private static func ranges(of set: ValueSet, descending: Bool) -> [ValueRange] {
    var ranges = set.ranges
    if ranges.count > maximumSpans, let first = ranges.first, let last = ranges.last {
      ranges = [ValueRange(first.lower, last.upper)]
    }
    return descending ? ranges.reversed() : ranges
  }

  /// The fields of which the spans say all that the condition does.
  var settledTerms: Set<IndexTerm> { Set(index.definition.fields.prefix(settledFields).map(\.term)) }

  /// Whether the rows, read forwards or backwards, come in an order.
  ///
  /// - Parameters:
  ///   - keys: The keys of ORDER BY.
  ///   - constants: The fields that are equal in all rows.
  /// - Returns: Whether they have to be read backwards; `nil` when they come in another order.
  func isReversed(for keys: [SortKey], constants: Set<IndexTerm>) -> Bool? {
    var reversed: Bool?
    var known = constants
    var fields = index.definition.fields[...]
    for key in keys {
      if case .literal = key.expression { continue }
      guard let wanted = IndexTerm(key.expression) else { return nil }
      if known.contains(wanted) { continue }
      while let field = fields.first, field.term != wanted, constants.contains(field.term) {
        fields.removeFirst()
      }
      guard let field = fields.popFirst(), field.term == wanted else { return nil }
      let turns = field.isDescending != key.descending
      guard turns == reversed ?? turns else { return nil }
      reversed = turns
      known.insert(wanted)
    }
    return reversed ?? false
  }
}

extension IndexSpan {
  /// The rows whose first value is in a set, in the order of the index.
  static func spans(of set: ValueSet, descending: Bool) -> [IndexSpan] {
    (descending ? set.ranges.reversed() : set.ranges).map {
      IndexSpan($0, after: [], descending: descending)
    }
  }

  /// The rows whose first values are `prefix` and whose next one is in `range`.
  init(_ range: ValueRange, after prefix: [Value?], descending: Bool) {
    let lower = range.lower.bound(after: prefix, descending: descending)
    let upper = range.upper.bound(after: prefix, descending: descending)
    self = descending ? IndexSpan(from: upper, to: lower) : IndexSpan(from: lower, to: upper)
  }
}

extension ValueEdge {
  /// This place in the rows whose first values are `prefix`; in descending order what is after comes before.
  fileprivate func bound(after prefix: [Value?], descending: Bool) -> IndexBound? {
    switch self {
    case .beginning, .end:
      if prefix.isEmpty { return nil }
      return (self == .end) != descending ? .after(prefix) : .before(prefix)
    case .before(let value): return descending ? .after(prefix + [value]) : .before(prefix + [value])
    case .after(let value): return descending ? .before(prefix + [value]) : .after(prefix + [value])
    case .afterPrefix(let text):
      return descending ? .beforePrefix(prefix, text: text.text) : .afterPrefix(prefix, text: text.text)
    }
  }
}
