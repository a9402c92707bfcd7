public import CRDTCore

extension WriteTransaction {
  /// Merges another store's document, as full state or delta, with the one in this store.
  ///
  /// The result does not depend on the order of merges, nor on how often one is repeated. The store's clock
  /// follows the other's, but not to a time more than five minutes ahead. A document from further ahead is
  /// ignored.
  /// - Parameters:
  ///   - bytes: What ``ReadTransaction/delta(of:in:since:)`` returned in the other store. They may be any
  ///     bytes: all are checked.
  ///   - id: The document's id.
  ///   - collection: The collection's name; the collection is created if it does not exist.
  /// - Returns: The result. After `missingBase` nothing was merged: send this store's vector, or an empty
  ///   one.
  /// - Throws: `corrupt` if the bytes are not a canonical document, or if the record in this store is
  ///   damaged; `invalidCollectionName`; what the engine reports. Then nothing of the document was merged.
  @discardableResult
  public func merge(_ bytes: [UInt8], id: DocumentID, into collection: String) throws -> MergeResult {
    try unsafe merge(wire: bytes.span.bytes, id: id, in: collection)
  }
}
