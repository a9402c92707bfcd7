package import CRDTCore
import Failpoints

/// The rows of an index between two places; without one, to the index's beginning or end.
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

/// Turns spans into ranges of keys, one after the other in the order of a scan, that have no key in common.
///
/// Spans that are apart by their values can meet in a key, since a key has only the beginning of a long value.
struct SpanKeys {
  private let index: IndexInfo
  private let isReversed: Bool
  /// Where the scan has come to: no later range reaches behind it.
  private var reached: [UInt8]?

  init(_ index: IndexInfo, reversed: Bool) {
    self.index = index
    isReversed = reversed
  }

  /// The keys of the next span that no span before it had, from `start` (inclusive) to `end` (exclusive).
  ///
  /// - Returns: `nil` when there are none.
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
