public import CRDTCore

extension WriteTransaction {
  /// Erases a document: deletes it, and ends all that was written to it before, here and at every peer.
  ///
  /// The content and the version vector go at once; a row with the time of the erasure replaces them. The row
  /// is forgotten like a tombstone. What a peer writes later, without having heard of it, starts an empty
  /// document.
  ///
  /// - Parameters:
  ///   - id: The document's id; the document need not be known here.
  ///   - collection: The collection's name; the collection is created if there is none.
  /// - Returns: Whether the store held anything of the document: a living document, or a deleted one.
  /// - Throws: `removedInTransaction` if the transaction has upserted the document; `corrupt` for a damaged
  ///   one, which must be evicted first; `invalidCollectionName`; what the engine reports.
  @discardableResult
  public func erase(_ id: DocumentID, in collection: String) throws -> Bool {
    var wasHere = false
    var vector = VersionVector()
    try change(id, in: collection, as: .remove, "erase") { existing, tables in
      let erased = try DocumentCodec.erase(existing: existing, stamping: stamping(), tables: &tables)
      if let existing {
        let record = RecordView(existing.record)
        wasHere = try !record.isErased(sites: tables.sites)
        vector = try record.vector(sites: tables.sites)
      }
      return erased
    }
    noteLeaving(vector)
    return wasHere
  }

  /// Reports that a peer has written to a document that was erased here, without having heard of it.
  func reportRevival(of id: DocumentID, in collection: String) {
    settings.options.write(
      .warning,
      "The document \(DocumentID.digest(of: id.bytes.rawBytes)) of the collection \(collection), which was erased, or "
        + "removed and evicted, was written again by a peer that had not heard of it: it holds what that peer wrote "
        + "later")
    settings.options.write(.debug, id.digestLine(in: collection))
  }
}
