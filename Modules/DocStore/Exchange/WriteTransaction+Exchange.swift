public import CRDTCore

extension WriteTransaction {
  /// Merges another store's document, whole or a delta, with the one here; in any order and any number of times it comes
  /// to the same.
  ///
  /// The store's clock follows the other's, but not to a time more than five minutes ahead: a document from further ahead
  /// is left out, as if it had not come.
  /// - Parameters:
  ///   - bytes: What ``ReadTransaction/delta(of:in:since:)`` gave there. They may be anything: nothing is taken for granted.
  ///   - id: The document's id.
  ///   - collection: The collection's name; it is made if need be.
  /// - Returns: What it came to. After `missingBase` nothing was merged: send the vector that this store has, or an empty one.
  /// - Throws: `corrupt` for bytes that are no canonical document, and where the record here is damaged;
  ///   `invalidCollectionName`; what the engine reports. Nothing of the document was merged then.
  @discardableResult
  public func merge(_ bytes: [UInt8], id: DocumentID, into collection: String) throws -> MergeResult {
    try unsafe merge(wire: bytes.span.bytes, id: id, in: collection)
  }
}
