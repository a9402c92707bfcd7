package import CRDTCore

/// How a SELECT, UPDATE, DELETE or EVICT finds its documents; parameters are bound.
package struct Plan: Hashable, Sendable {
  /// Where the documents come from, always in ascending order of their ids.
  package enum Access: Hashable, Sendable {
    /// These documents, ascending.
    case ids([DocumentID])
    /// Every document of the collection with id bytes from `from` (inclusive) to `to` (exclusive).
    case scan(from: [UInt8]?, to: [UInt8]?)
    /// The rows of a virtual collection.
    case virtual(SystemCollection)
  }

  package var collection: String
  package var access: Access
  /// Always applied, also to what `access` finds; `nil` keeps everything.
  package var filter: Expression?
  package var projection: Select.Projection = .all
  package var distinct = false
  /// Empty: in the order of `access`.
  package var order: [SortKey] = []
  package var offset = 0
  package var limit: Int?

  /// The rows that a sort has to keep; `nil`: all.
  package var window: Int? {
    guard let limit, !distinct else { return nil }
    let (sum, overflow) = limit.addingReportingOverflow(offset)
    return overflow ? nil : sum
  }

  /// Whether the access path may end before it has seen every document.
  package var stopsEarly: Bool { order.isEmpty && limit != nil }
}
