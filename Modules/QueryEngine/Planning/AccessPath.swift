package import CRDTCore
package import DocStore

/// How the documents of one source are found.
///
/// A path may find too many documents, since the filter is applied to all of them. It must never find too
/// few.
package enum AccessPath: Hashable, Sendable {
  /// Every document, in the order of the store.
  case collectionScan
  /// These documents, by ascending id.
  case ids([DocumentID])
  /// By ascending id, every document with id bytes from `from` (inclusive) to `to` (exclusive).
  case idRange(from: [UInt8]?, to: [UInt8]?)
  /// The documents of an index scan, in the order of the index.
  case index(IndexScan)
  /// The documents that at least one of several index scans finds, in the order of the store.
  case union([IndexScan])
  /// The documents that all of several index scans find, in the order of the store.
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

/// Some of an index's rows, for their documents.
package struct IndexScan: Hashable, Sendable {
  package var index: IndexInfo
  /// Disjoint by their values, and in the order of the index.
  package var spans: [IndexSpan]
  /// Whether it reads from the last row to the first.
  package var isReversed: Bool

  package init(_ index: IndexInfo, _ spans: [IndexSpan], reversed: Bool = false) {
    self.index = index
    self.spans = spans
    isReversed = reversed
  }
}
