import CRDTCore

extension DocumentPages {
  /// Whether a document that was not found by its id may be one whose entry is damaged.
  ///
  /// An id has no check of its own, so an altered id is detected only by the row to which its entry leads.
  ///
  /// The entries near the place of the missing id are compared with their rows, once for each page. Pages
  /// that were written since the file was opened are not checked.
  func isHidden(_ path: RawSpan) throws(StoreError) -> Bool {
    guard let snapshot = access.reading ?? access.writing else { return false }
    return try IDKey.with(path) { (key) throws(StoreError) in
      for table in [StoreTable.ids, .recent] {
        if try snapshot.isHidden(key, DocumentPath.id(of: path), in: table) { return true }
      }
      return false
    }
  }
}

extension VerifiedSnapshot {
  fileprivate func isHidden(
    _ key: RawSpan, _ id: RawSpan, in table: StoreTable
  ) throws(StoreError) -> Bool {
    if let page = preparation?.page(table) {
      // The path to the key was verified just before.
      guard needsLinks(page) else { return false }
    }
    var entries = TreeCursor(self, table)
    _ = try entries.find(key)
    let page = entries.page
    guard needsLinks(page) else { return false }
    var documents = TreeCursor(self, .documents)
    var isLinked = true
    for index in 0..<entries.count {
      let (name, value) = entries.entryBytes(index)
      // SAFETY: the page was verified, and stays in place while the snapshot is open.
      let entry = unsafe RawSpan(_unsafeStart: name.start, byteCount: name.count)
      let number = unsafe DocumentNumber(RawSpan(_unsafeStart: value.start, byteCount: value.count))
      guard let (collection, start) = IDKey.parse(entry), let number else {
        isLinked = false
        continue
      }
      let isThere = try DocumentPlace(collection, number).withKey { (key) throws(StoreError) in
        try documents.find(key)
      }
      guard isThere, let row = DocumentRow(documents.value, number: number) else {
        isLinked = false
        continue
      }
      if row.id.isEqual(to: entry.extracting(start..<entry.byteCount)) { continue }
      isLinked = false
      if row.id.isEqual(to: id), row.isIntact(in: collection) { return true }
    }
    if isLinked { marks.noteLinked(page) }
    return false
  }

  /// Whether the entries of a page of ids must still be compared with their rows.
  func needsLinks(_ page: Int) -> Bool {
    page >= 0 && verifier.isOriginal(page) && !marks.place(page).isLinked
  }
}
