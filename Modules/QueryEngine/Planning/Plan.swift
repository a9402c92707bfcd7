package import CRDTCore

/// How a SELECT, UPDATE, DELETE or EVICT finds its documents; parameters are bound.
///
/// It is the spine of a plan on one source, in the form in which it is run; ``root`` is the same as a tree of
/// operators.
package struct Plan: Hashable, Sendable {
  @TextKey package var collection: String
  package var access: AccessPath
  /// Always applied, also to what `access` finds; `nil` keeps everything.
  package var filter: Expression?
  package var projection: Select.Projection = .all
  package var distinct = false
  /// Empty: in the order of `access`, which also orders rows with equal keys.
  package var order: [SortKey] = []
  /// Whether `access` gives the documents in `order`, but for cut rows of its index.
  package var isOrdered = false
  /// Whether `filter` accepts all that `access` finds, but for documents of cut rows.
  package var coversFilter = false
  /// Whether the rows of `access` have all that is read of documents, so that these are only read where rows
  /// have not.
  package var isCovering = false
  package var offset = 0
  package var limit: Int?

  /// The rows that a sort has to keep; `nil`: all.
  package var window: Int? {
    guard let limit, !distinct else { return nil }
    let (sum, overflow) = limit.addingReportingOverflow(offset)
    return overflow ? nil : sum
  }

  /// Whether the access path may end before it has seen every document.
  package var stopsEarly: Bool { (order.isEmpty || isOrdered) && limit != nil }

  /// Whether the answer is the number of the collection's documents, which need not be visited.
  package var countsAll: Bool {
    if case .countAll = projection { filter == nil && access.isWhole } else { false }
  }

  /// The scan whose rows are the answer's count, so that no document needs to be fetched but those of cut rows.
  package var countedScan: IndexScan? {
    guard case .countAll = projection, coversFilter, case .index(let scan) = access else { return nil }
    return scan
  }
}
