import CRDTCore
package import DocStore
package import QueryEngine

/// The figures that a walk over a collection collects.
package struct CollectionFigures {
  package private(set) var documents = 0
  package private(set) var tombstones = 0
  package private(set) var damaged = 0
  package private(set) var recordBytes = 0
  private var sum = Summary.zero

  /// The number of records between two calls of `check`.
  private static let pace = 512

  /// Walks a collection, or those of its documents that match.
  ///
  /// A collection that was never written has no documents.
  ///
  /// - Parameters:
  ///   - name: The collection.
  ///   - transaction: The transaction to read from.
  ///   - matcher: Selects the documents; `nil` selects all.
  ///   - check: Called every 512 records; what it throws ends the walk.
  /// - Throws: What the store reports; what `check` throws.
  package init(
    _ name: String, in transaction: borrowing ReadTransaction, matching matcher: RecordMatcher? = nil,
    check: () throws -> Void = {}
  ) throws {
    guard let collection = try transaction.collection(name) else { return }
    var matcher = matcher
    matcher?.resolve(collection.keys)
    var (documents, tombstones, damaged, bytes, sum) = (0, 0, 0, 0, Summary.zero)
    var visited = 0
    try transaction.forEachStoredRecord(in: collection) { _, id, summary, record in
      visited += 1
      if visited % Self.pace == 0 { try check() }
      if let matcher, !matcher.matches(id, record) { return true }
      if record.isAlive {
        documents += 1
        sum = sum &+ summary
      } else {
        tombstones += 1
      }
      if !record.verify() { damaged += 1 }
      bytes += record.byteCount
      return true
    }
    (self.documents, self.tombstones, self.damaged, recordBytes, self.sum) = (
      documents, tombstones, damaged, bytes, sum
    )
  }

  /// The sum of the documents' summaries: equal at two peers that have the same documents.
  package var digest: String {
    let digits = String(sum.high ^ sum.low, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
