public import CRDTCore

extension WriteTransaction {
  /// Increases with every transaction that evicts; evictions of this transaction do not count yet.
  package var evictionEpoch: UInt64 { withState { $0.log.evictionEpoch } }

  /// Removes a document from this store only; peers keep theirs.
  ///
  /// All knowledge of the document is removed, so it comes back if a subscription matches it. A removed
  /// document leaves a compacted tombstone, so that no peer brings it back. So does a document that was
  /// written anew after a deletion or an erasure: what was deleted stays hidden.
  /// - Returns: `false` when the document is unknown here, or only its compacted tombstone is left.
  @discardableResult
  public func evict(_ id: DocumentID, in collection: String) throws -> Bool {
    try evict(id, in: collection, keepingFloor: true)
  }

  /// Removes a document from this store only, as the application's eviction does.
  ///
  /// - Parameters:
  ///   - id: The document's id.
  ///   - collection: The collection's name.
  ///   - keepingFloor: Whether a living document with a floor leaves a compacted tombstone. It need not if a
  ///     peer is known to keep the document, with its floor.
  /// - Returns: `false` when the document is unknown here, or only its compacted tombstone is left.
  /// - Throws: What the engine reports.
  @discardableResult
  package func evict(
    _ id: DocumentID, in collection: String, keepingFloor: Bool
  ) throws -> Bool {
    let access = try pagesToWrite("evict")
    guard let index = index(of: collection) else { return false }
    let key = DocumentKey(collection: number(at: index), id: id)
    let path = DocumentPath.key(key.collection, id.bytes)
    guard let (stored, former) = try leaving(path.rawBytes) else {
      return try removeDamagedCertificate(path.rawBytes, access)
    }
    let isCounted = try stored.number != .none || hasLostRows(access)
    if !stored.isAlive || keepingFloor && stored.hasFloor {
      try certifyEvicted(path.rawBytes, at: index, access)
    }
    try removeRows(of: stored.number, path.rawBytes, at: index, access)
    try update { () throws(StoreError) in
      try access.remove(stored.number, path.rawBytes, tables)
      if oversizeCount > 0, try access.delete(tables.oversize, path.rawBytes) { oversizeCount -= 1 }
    }
    forgetSize(of: key)
    if isCounted { countRecord(-1, at: index) }
    noteGone(writers: stored.writerCount)
    count(false, since: stored.isAlive, at: index)
    didEvict = true
    log.noteEviction(of: key)
    changes.note(
      Change(
        key, number: stored.number, kind: .evict, sequence: drawSequence(), group: changes.currentGroup,
        before: former.record, beforeSummary: former.summary, names: names),
      .other, after: changes.touch(of: key))
    return true
  }

  /// Whether some ids have no row.
  private func hasLostRows(_ access: PageAccess) throws(StoreError) -> Bool {
    try IDPages(access: access, tables: tables).count > access.entryCount(tables.documents)
  }

  /// The document to evict; `nil` when it is unknown here.
  ///
  /// A damaged document can be evicted. That is how to get rid of it and receive it again.
  private func leaving(_ path: RawSpan) throws -> (StoredState, Former)? {
    var pages = try pages()
    // The entry in the table of ids is removed as well, so look the document up there and not in the cache.
    pages.numbers = .none
    var found: (StoredState, Former)?
    var vector: VersionVector?
    let sites = sites
    let visit = try pages.visitRow(path) { row in
      var stored = StoredState(of: row)
      stored.writerCount = RecordView(row.record).writerCount
      stored.hasFloor = RecordView(row.record).hasFloor
      found = (stored, isCapturing ? Former(of: row) : Former())
      vector = try? RecordView(row.record).vector(sites: sites)
    }
    switch visit {
    case .found:
      if let vector { noteLeaving(vector) }
      return found
    case .damaged:
      return try pages.stray(path, isCapturing) ?? (StoredState(isKnown: true, number: .none), Former())
    case .unknown:
      // Each id has its row and each row its id, unless an id is damaged.
      let isWhole = try pages.ids.count == pages.access.entryCount(tables.documents)
      return isWhole ? nil : try pages.stray(path, isCapturing)
    }
  }
}

extension DocumentPages {
  /// Searches the collection for the row of a document whose number does not lead to it.
  ///
  /// - Complexity: O(*n*) in the documents of the collection.
  fileprivate func stray(
    _ path: RawSpan, _ copies: Bool
  ) throws -> (WriteTransaction.StoredState, WriteTransaction.Former)? {
    guard let collection = DocumentPath.collection(of: path) else { return nil }
    let number = try number(at: path)
    var found: (WriteTransaction.StoredState, WriteTransaction.Former)?
    let start = DocumentPlace(collection, .none).withKey { key in key.copied }
    try access.scan(tables.documents, from: start.rawBytes) { key, stored in
      guard DocumentPlace.collection(of: key) == collection else { return false }
      guard let place = DocumentPlace(key) else { return true }
      guard let row = DocumentRow(stored, number: place.number) else {
        guard place.number == number else { return true }
        found = (WriteTransaction.StoredState(isKnown: true, number: place.number), WriteTransaction.Former())
        return true
      }
      // A row under its number that names another document belongs to that one, unless the row is damaged.
      let isIts =
        row.id.isEqual(to: DocumentPath.id(of: path))
        || row.number == number && !row.isIntact(in: collection)
      if isIts {
        found = (
          WriteTransaction.StoredState(of: row),
          copies ? WriteTransaction.Former(of: row) : WriteTransaction.Former()
        )
      }
      return found == nil
    }
    return found
  }
}
