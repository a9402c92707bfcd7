package import CRDTCore
package import DocStore

extension StoreReport {
  /// Reads the ids of documents to erase, as users write them; the collection must exist.
  ///
  /// - Parameters:
  ///   - texts: The ids.
  ///   - name: The collection.
  ///   - transaction: The transaction to look the collection up in.
  /// - Returns: The ids.
  /// - Throws: `notFound` for a collection that was never written; what an id that is none throws.
  package static func erasable(
    _ texts: [String], in name: String, _ transaction: borrowing ReadTransaction
  ) throws -> [DocumentID] {
    _ = try existing(name, in: transaction)
    return try texts.map { try DocumentID(written: $0) }
  }

  /// Erases documents.
  ///
  /// - Parameters:
  ///   - ids: The documents.
  ///   - name: The collection.
  ///   - transaction: The transaction to write with.
  /// - Returns: How many were `found`, and of how many nothing was known.
  /// - Throws: What the store throws.
  package static func erase(
    _ ids: [DocumentID], in name: String, _ transaction: WriteTransaction
  ) throws -> [TextKey: Value] {
    var found = 0
    let ids = Set(ids).sorted()
    for id in ids where try transaction.erase(id, in: name) { found += 1 }
    return ["found": .count(found), "unknown": .count(ids.count - found)]
  }
}
