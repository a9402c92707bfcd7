import CRDTCore
import DocStore
import Failpoints

/// Builds the spans of an index, one field after the other, and records their precision.
///
/// A field is settled when the spans have exactly its values. If there are too many ranges, neighbouring ones
/// are joined, and the filter must refuse the values between them.
struct SpanBuilder {
  /// The most spans of one scan.
  private static let maximumSpans = 1 << 13

  private(set) var narrowedFields = 0
  private(set) var settledFields = 0
  /// The values of the fields so far, if each field has single values.
  private var prefixes: [[Value?]] = [[]]
  /// The spans, once a field has ranges; further fields do not narrow them.
  private var ended: [IndexSpan]?

  var spans: [IndexSpan] { ended ?? prefixes.map { .equal($0) } }

  /// Keeps only rows whose value in the next field is in a set.
  ///
  /// - Returns: False where that is impossible, or would take too many spans.
  mutating func narrow(to set: ValueSet, descending: Bool) -> Bool {
    guard ended == nil else { return false }
    let cover = RangeCover(of: set, most: Self.maximumSpans)
    guard prefixes.count * cover.ranges.count <= Self.maximumSpans else { return false }
    let ranges = descending ? cover.ranges.reversed() : cover.ranges
    narrowedFields += 1
    if cover.isExact || QueryDefect.joinedRangesCountAsSettled.isPlanted { settledFields += 1 }
    if cover.isExact, cover.isPoints {
      prefixes = prefixes.flatMap { prefix in ranges.map { prefix + [$0.value] } }
    } else {
      ended = prefixes.flatMap { prefix in
        ranges.map { IndexSpan($0, after: prefix, descending: descending) }
      }
    }
    return true
  }
}

/// Ranges that contain all values of a set, and others if the set has too many ranges.
struct RangeCover {
  /// Ascending and disjoint.
  let ranges: [ValueRange]
  /// Whether the ranges contain the values of the set and no others.
  let isExact: Bool

  /// - Parameters:
  ///   - set: The set that the ranges contain.
  ///   - most: The most ranges.
  init(of set: ValueSet, most: Int) {
    isExact = set.ranges.count <= most
    let joined = (set.ranges.count + most - 1) / most
    ranges =
      isExact
      ? set.ranges
      : stride(from: 0, to: set.ranges.count, by: joined).map { first in
        let last = min(first + joined, set.ranges.count) - 1
        return ValueRange(set.ranges[first].lower, set.ranges[last].upper)
      }
  }

  /// Whether each range is a single value.
  var isPoints: Bool { ranges.allSatisfy(\.isPoint) }
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
  /// This edge among the rows whose first values are `prefix`.
  ///
  /// In descending order, after a value means before it.
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
