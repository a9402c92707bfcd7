package import CRDTCore
import Failpoints

/// The rows of an index between two bounds; a missing bound is the index's beginning or end.
package struct IndexSpan: Hashable, Sendable {
  package var from: IndexBound?
  package var to: IndexBound?

  package init(from: IndexBound? = nil, to: IndexBound? = nil) {
    self.from = from
    self.to = to
  }

  /// The rows whose first values are these.
  package static func equal(_ values: [Value?]) -> IndexSpan {
    IndexSpan(from: .before(values), to: .after(values))
  }
}

/// Converts spans to ranges of keys without common keys, in the order of a scan.
///
/// Spans whose values do not overlap can have a key in common, since a key has only the beginning of a long
/// value.
struct SpanKeys {
  private let index: IndexInfo
  private let isReversed: Bool
  /// The key that the scan has reached; no later range includes keys that it has passed.
  private var reached: [UInt8]?

  init(_ index: IndexInfo, reversed: Bool) {
    self.index = index
    isReversed = reversed
  }

  /// The keys of the next span that no earlier span had, from `start` (inclusive) to `end` (exclusive).
  ///
  /// - Returns: `nil` if there are none.
  mutating func next(_ span: IndexSpan) -> (start: [UInt8], end: [UInt8])? {
    var start = index.key(span.from, isEnd: false)
    var end = index.key(span.to, isEnd: true)
    if let reached, !StoreDefect.longKeysVisitedTwice.isPlanted {
      if isReversed {
        if reached.rawBytes.compare(end.rawBytes) < 0 { end = reached }
      } else if reached.rawBytes.compare(start.rawBytes) > 0 {
        start = reached
      }
    }
    guard start.rawBytes.compare(end.rawBytes) < 0 else { return nil }
    reached = isReversed ? start : end
    return (start, end)
  }
}
