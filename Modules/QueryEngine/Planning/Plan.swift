package import CRDTCore

/// How a SELECT, UPDATE, DELETE or EVICT finds its documents; parameters are bound.
///
/// It is the executable form of a plan on one source; ``root`` shows the same plan as a tree of operators.
package struct Plan: Hashable, Sendable {
  @TextKey package var collection: String
  package var access: AccessPath
  /// The filter, which is also applied to the documents of `access` unless ``coversFilter`` is set; `nil`
  /// accepts all.
  package var filter: Expression?
  package var projection: Select.Projection = .all
  package var distinct = false
  /// The order; if empty, that of `access`, which also orders rows with equal keys.
  package var order: [SortKey] = []
  /// Whether `access` finds the documents in `order`, apart from cut rows of its index.
  package var isOrdered = false
  /// Whether `filter` accepts all that `access` finds, apart from documents of cut rows.
  package var coversFilter = false
  /// Whether the rows of `access` contain all fields that are read.
  ///
  /// Then documents are read only for rows that lack a value.
  package var isCovering = false
  package var offset = 0
  package var limit: Int?

  /// The number of rows that a sort has to keep; `nil` for all.
  package var window: Int? {
    guard let limit, !distinct else { return nil }
    let (sum, overflow) = limit.addingReportingOverflow(offset)
    return overflow ? nil : sum
  }

  /// Whether the access path may end before it has visited every document.
  package var stopsEarly: Bool { (order.isEmpty || isOrdered) && limit != nil }

  /// Whether the result is the number of the collection's documents, which need not be visited.
  package var countsAll: Bool {
    if case .countAll = projection { filter == nil && access.isWhole } else { false }
  }

  /// The scan whose number of rows is the result.
  ///
  /// Only the documents of its cut rows have to be fetched.
  package var countedScan: IndexScan? {
    guard case .countAll = projection, coversFilter, case .index(let scan) = access else { return nil }
    return scan
  }
}
