package import CRDTCore
package import DocStore

/// How the documents of one source are found.
///
/// A path may find too many, since the filter is applied to all of them, and must never find too few.
package enum AccessPath: Hashable, Sendable {
  /// Every document, in the order in which the store has them.
  case collectionScan
  /// These documents, by ascending id.
  case ids([DocumentID])
  /// By ascending id, every document with id bytes from `from` (inclusive) to `to` (exclusive).
  case idRange(from: [UInt8]?, to: [UInt8]?)
  /// In the order of an index.
  case index(IndexScan)
  /// In the order of the store, what any of some scans of indexes finds.
  case union([IndexScan])
  /// In the order of the store, what all of some scans of indexes find.
  case intersection([IndexScan])
  /// The rows of a virtual collection.
  case virtual(SystemCollection)

  /// Whether it visits every document of the collection.
  package var isWhole: Bool {
    switch self {
    case .collectionScan, .idRange(from: nil, to: nil): true
    case .ids, .idRange, .index, .union, .intersection, .virtual: false
    }
  }
}

/// Some of an index's rows, and the documents they stand for.
package struct IndexScan: Hashable, Sendable {
  package var index: IndexInfo
  /// Apart from each other by their values, and in the order of the index.
  package var spans: [IndexSpan]
  /// From the last row to the first.
  package var isReversed: Bool

  package init(_ index: IndexInfo, _ spans: [IndexSpan], reversed: Bool = false) {
    self.index = index
    self.spans = spans
    isReversed = reversed
  }
}
