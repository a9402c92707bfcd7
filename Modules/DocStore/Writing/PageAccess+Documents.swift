import CLMDB
import CRDTCore

extension PageAccess {
  /// Checks whether a document may be added, before anything is written.
  ///
  /// If it finds damage on the way, only this write fails.
  ///
  /// - Returns: `false` when the document is known.
  func mayAdd(_ row: DocumentRow.Draft, _ path: RawSpan, _ tables: Tables) throws(StoreError) -> Bool {
    let place = DocumentPlace(DocumentPath.collection(of: path) ?? 0, row.number)
    try place.withKey { (key) throws(StoreError) in _ = try prepare(tables.documents, key) }
    return try IDPages(access: self, tables: tables).mayAdd(at: path)
  }

  /// Adds a document that is new here, under a new number, after ``mayAdd(_:_:_:)`` has allowed it.
  ///
  /// - Parameters:
  ///   - row: The row to write; its number is above all numbers of the collection.
  ///   - path: The document's key.
  ///   - tables: The store's tables.
  ///   - behindAll: Whether probably no collection with a greater number has documents.
  /// - Returns: `false`, with nothing changed, when the document is known.
  /// - Throws: `corrupt` when the number is in use, `limit` when there is no number left, or what the engine
  ///   reports.
  func add(
    _ row: DocumentRow.Draft, _ path: RawSpan, _ tables: Tables, behindAll: Bool
  ) throws(StoreError) -> Bool {
    guard row.number <= .maximum else {
      throw StoreError(.limit, "The store has given all numbers for documents", operation: "put")
    }
    guard try IDPages(access: self, tables: tables).add(row.number, at: path) else { return false }
    if behindAll, try put(row, path, tables, .behindAll) { return true }
    guard try put(row, path, tables, .ifAbsent) else {
      throw StoreError(.corrupt, "The number of a new document is taken", operation: "put")
    }
    return true
  }

  /// Replaces the row with this document's number; `cursor` may already be at it.
  func replace(_ row: DocumentRow.Draft, _ path: RawSpan, at cursor: WritingCursor) throws(StoreError) {
    let place = DocumentPlace(DocumentPath.collection(of: path) ?? 0, row.number)
    try place.withKey { (key) throws(StoreError) in
      try unsafe cursor.put(key, byteCount: row.byteCount(path)) { room in unsafe row.write(path, to: room) }
    }
  }

  @discardableResult
  private func put(
    _ row: DocumentRow.Draft, _ path: RawSpan, _ tables: Tables, _ putting: Putting
  ) throws(StoreError) -> Bool {
    let place = DocumentPlace(DocumentPath.collection(of: path) ?? 0, row.number)
    return try place.withKey { (key) throws(StoreError) in
      try unsafe put(tables.documents, key, byteCount: row.byteCount(path), putting) { room in
        unsafe row.write(path, to: room)
      }
    }
  }

  /// Removes the document with the key `path`, and its row.
  func remove(_ number: DocumentNumber, _ path: RawSpan, _ tables: Tables) throws(StoreError) {
    try IDPages(access: self, tables: tables).remove(at: path)
    let place = DocumentPlace(DocumentPath.collection(of: path) ?? 0, number)
    try place.withKey { (key) throws(StoreError) in _ = try delete(tables.documents, key) }
  }
}
