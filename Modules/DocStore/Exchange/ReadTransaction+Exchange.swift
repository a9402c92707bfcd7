public import CRDTCore

/// For those who bring documents to other stores by means of their own.
///
/// Send ``delta(of:in:since:)`` for the other store's ``vector(of:in:)``, and give what comes to
/// ``WriteTransaction/merge(_:id:into:)``. What was written since is in ``forEachWritten(after:_:)``.
extension ReadTransaction {
  /// What a document includes of whose writes: the other store sends what this one lacks.
  ///
  /// - Returns: `nil` for a document that is unknown here; a deleted one has a vector.
  /// - Throws: `corrupt` where the record is damaged.
  public borrowing func vector(of id: DocumentID, in collection: Collection) throws -> VersionVector? {
    let sites = sites
    return try withRecord(collection, id) { record, _ in try record.vector(sites: sites) }
  }

  /// The part of a document's state that a vector lacks, for the store whose vector it is.
  ///
  /// - Parameters:
  ///   - id: Which document.
  ///   - collection: Where it is.
  ///   - vector: What the other store has; nothing by default, for which all of the document is handed out.
  /// - Returns: Bytes to send, canonical, so that equal states have equal bytes; `nil` for a document that is
  ///   unknown here. A deleted document has bytes too, which delete it at the other store.
  /// - Throws: `corrupt` where the record is damaged.
  /// - Complexity: O(*n*) in the document's bytes.
  public borrowing func delta(
    of id: DocumentID, in collection: Collection, since vector: VersionVector = VersionVector()
  ) throws -> [UInt8]? {
    let tables = RecordTables(keys: collection.keys, sites: sites)
    return try withRecord(collection, id) { record, _ in
      var out = ByteWriter(capacity: vector.isEmpty ? record.byteCount : 96)
      try WireDocument.append(record, lacking: vector, tables: tables, to: &out)
      return out.bytes
    }
  }

  /// Visits the documents that were written after a commit, the oldest commit first, until `body` returns `false`.
  ///
  /// A document that was written several times comes once, with its last commit. Deleted documents come too, evicted
  /// ones do not. The last sequence of the snapshot, ``sequence``, is where to go on next time.
  /// - Parameters:
  ///   - sequence: The commit after which to begin; 0 for all.
  ///   - body: Gets the commit's sequence, and the document.
  /// - Returns: `false`, with nothing visited, where the log no longer goes back to that commit: then compare all documents.
  /// - Throws: `corrupt` where the log or a record is damaged; what `body` throws.
  /// - Complexity: O(*n*) in the documents written since.
  public borrowing func forEachWritten(
    after sequence: UInt64, _ body: (_ sequence: UInt64, _ document: DocumentKey) throws -> Bool
  ) throws -> Bool {
    guard sequence >= logStart else { return false }
    var goesOn = true
    try changes(after: sequence) { entry in
      let written = entry.sequence
      var damage: DamagedRecord?
      try entry.forEachMember(damaged: { damage = damage ?? $0 }) { collection, _, id, _, _ in
        goesOn = try body(written, DocumentKey(collection: collection, id: DocumentID(trusted: id.copied)))
        return goesOn
      }
      // Who goes on behind a document that cannot be read would never send it.
      if let damage {
        throw StoreError(.corrupt, "A document of \(damage.collection) is damaged", operation: "read")
      }
      return goesOn
    }
    return true
  }
}
