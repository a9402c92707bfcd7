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

  /// More ranges than these are taken together to one.
  private static let maximumSpans = 1 << 13

  /// Fails when the condition says nothing of the index's first field.
  ///
  /// - Parameters:
  ///   - index: A ready index.
  ///   - sets: By path, what the condition says of fields.
  ///   - estimates: What is known of the index's values.
  init?(_ index: IndexInfo, _ sets: [[String]: ValueSet], _ estimates: Estimates) {
    var prefixes: [[Value?]] = [[]]
    var share = 1.0
    var settled = 0
    for field in index.definition.fields {
      guard let set = sets[field.path] else { break }
      let isLeading = settled == 0
      guard isLeading || prefixes.count * set.ranges.count <= Self.maximumSpans else { break }
      share *= index.statistics == nil ? estimates.share(of: set, at: field.path) : 1
      settled += 1
      let ranges = Self.ranges(of: set, descending: field.isDescending)
      guard set.isPoints, ranges.count <= Self.maximumSpans else {
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
    guard settled > 0 else { return nil }
    self.index = index
    settledFields = settled
    spans = prefixes.map { .equal($0) }
    self.share = estimates.share(of: spans, in: index) ?? share
  }

  /// All rows of an index.
  init(whole index: IndexInfo) {
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
  var settledPaths: Set<[String]> { Set(index.definition.fields.prefix(settledFields).map(\.path)) }

  /// Whether the rows, read forwards or backwards, come in an order.
  ///
  /// - Parameters:
  ///   - keys: The keys of ORDER BY.
  ///   - constants: The fields that are equal in all rows.
  /// - Returns: Whether they have to be read backwards; `nil` when they come in another order.
  func isReversed(for keys: [SortKey], constants: Set<[String]>) -> Bool? {
    var reversed: Bool?
    var known = constants
    var fields = index.definition.fields[...]
    for key in keys {
      if case .literal = key.expression { continue }
      guard case .path(let path) = key.expression, let wanted = path.keys else { return nil }
      if known.contains(wanted) { continue }
      while let field = fields.first, field.path != wanted, constants.contains(field.path) {
        fields.removeFirst()
      }
      guard let field = fields.popFirst(), field.path == wanted else { return nil }
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
      return descending ? .beforePrefix(prefix, text: text) : .afterPrefix(prefix, text: text)
    }
  }
}
