public import CRDTCore

/// For callers that bring documents to other stores by their own means.
///
/// Send ``delta(of:in:since:)`` for the other store's ``vector(of:in:)``, and pass what arrives to
/// ``WriteTransaction/merge(_:id:into:)``. ``forEachWritten(after:_:)`` visits the documents written since.
extension ReadTransaction {
  /// The version vector of a document: which writes of which sites it includes.
  ///
  /// The other store needs it to send what this one lacks.
  /// - Returns: `nil` if this store does not know the document; a deleted document has a vector.
  /// - Throws: `corrupt` if the record is damaged.
  public borrowing func vector(of id: DocumentID, in collection: Collection) throws -> VersionVector? {
    let sites = sites
    return try withRecord(collection, id) { record, _ in try record.vector(sites: sites) }
  }

  /// The part of a document's state that a vector lacks, for the store that has this vector.
  ///
  /// - Parameters:
  ///   - id: The document's id.
  ///   - collection: The document's collection.
  ///   - vector: What the other store has. The default is empty, which yields the whole document.
  /// - Returns: The bytes to send, in canonical form, so that equal states have equal bytes. `nil` if this
  ///   store does not know the document. A deleted document has bytes too; they delete it in the other store.
  /// - Throws: `corrupt` if the record is damaged.
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

  /// Visits the documents written after a commit, the oldest commit first, until `body` returns `false`.
  ///
  /// A document that was written several times is visited once, with its last commit. Deleted documents are
  /// visited, evicted ones are not. The last sequence of the snapshot, ``sequence``, is where to continue
  /// next time.
  /// - Parameters:
  ///   - sequence: The commit after which to begin; 0 for all.
  ///   - body: Gets the commit's sequence, and the document.
  /// - Returns: `false`, with nothing visited, if the log no longer goes back to that commit. Then compare
  ///   all documents.
  /// - Throws: `corrupt` if the log or a record is damaged; what `body` throws.
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
      // A caller that continues behind an unreadable document would never send that document.
      if let damage {
        throw StoreError(.corrupt, "A document of \(damage.collection) is damaged", operation: "read")
      }
      return goesOn
    }
    return true
  }
}
