import CRDTCore

extension ReadTransaction {
  /// Compares the log with the documents; `report` is called with a sentence for each fault.
  ///
  /// Each document that changed since the log begins is named by the entry of that change.
  /// - Complexity: O(*n*) in the documents and entries, and constant memory.
  borrowing func checkLog(_ report: (String) -> Void) throws {
    let pages = try pages
    let start = logStart
    let now = try LogState(pages.access, pages.tables).lived.now
    var listed = 0
    var previous = start
    do {
      try pages.changes(after: 0) { entry in
        if entry.record.head.time > now { report("The time of an entry of the log lies ahead") }
        if entry.lastNumber < entry.record.lastMember {
          report("An entry of the log names a document that was not there")
        }
        let (sequence, kind) = (entry.sequence, entry.kind)
        try pages.forEachRow(of: entry.runs) { collection, row in
          guard row.sequence <= sequence, row.isIntact(in: collection) else { return true }
          let isIts = kind == .bound ? row.sequence == sequence : row.sequence > previous
          if isIts { listed += 1 } else { report("An entry of the log names a document of an earlier one") }
          return true
        }
        if kind != .evicted { previous = sequence }
        return true
      }
    } catch let error as StoreError where error.code == .corrupt {
      // This damage is reported elsewhere.
      return
    }
    var changed = 0
    var isWhole = true
    try pages.access.scan(pages.tables.documents, from: [UInt8]().rawBytes) { key, stored in
      guard let place = DocumentPlace(key), let row = DocumentRow(stored, number: place.number),
        row.isIntact(in: place.collection)
      else {
        // This damage is reported elsewhere, too.
        isWhole = false
        return true
      }
      if row.sequence > start { changed += 1 }
      return true
    }
    if isWhole, changed != listed {
      report("\(changed) documents changed since the log begins, it names \(listed)")
    }
  }
}
