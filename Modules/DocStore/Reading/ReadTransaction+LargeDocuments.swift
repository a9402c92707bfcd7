import CRDTCore

extension ReadTransaction {
  /// Visits the living documents above a size, collection by collection.
  ///
  /// It looks at the lengths of all records, and reads only those records that may exceed the size.
  /// - Parameters:
  ///   - limit: The size in bytes, of the canonical form.
  ///   - visiting: Is called for each stored document; what it throws ends the visit.
  ///   - body: Is called with each document above the size.
  /// - Throws: `corrupt` if a record that may exceed the size is damaged; what the closures throw.
  /// - Complexity: O(*n*) in the stored documents.
  package borrowing func forEachDocument(
    above limit: Int, visiting: () throws -> Void, _ body: (OversizeDocument) throws -> Void
  ) throws {
    let (slot, pages, sites) = (slot, try pages, sites)
    for info in try collections() {
      guard let collection = try collection(info.name) else { continue }
      let tables = RecordTables(keys: collection.keys, sites: sites)
      try pages.forEachRow(collection, verify: false, isTolerant: true) { row in
        try slot.check()
        try visiting()
        guard SizeClass.mayExceed(limit, recordBytes: row.record.byteCount) else { return true }
        guard row.verify(in: collection.id) else {
          throw DocumentPages.damaged(collection.name, DocumentID(trusted: row.id.copied))
        }
        guard RecordView(row.record).isAlive else { return true }
        let byteCount = try WriteTransaction.canonicalBytes(row.record, tables)
        guard byteCount > limit else { return true }
        let id = DocumentID(trusted: row.id.copied)
        try body(OversizeDocument(collection: collection.name, id: id, byteCount: byteCount))
        return true
      }
    }
  }
}
