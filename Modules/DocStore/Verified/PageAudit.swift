import CRDTCore

/// Compares the pages that count as verified with what they were when that was noted: the rule, not the damage.
package struct PageAudit {
  /// What each page was when it was last verified.
  private var hashes: [Int: UInt64] = [:]
  /// Pages that counted as verified, and those of them that had become others.
  package private(set) var trusted = 0
  package private(set) var wrong = 0
  /// For a control: passes over which pages were freed.
  private let ignoresFreed: Bool

  package init(ignoresFreed: Bool = false) { self.ignoresFreed = ignoresFreed }

  /// Walks over all trees of the last commit.
  package mutating func run(_ store: Store) throws {
    let environment = try store.openEnvironment("audit")
    let reader = try environment.beginRead()
    defer { environment.recycle(reader) }
    for table in [StoreTable.freeList, .list] + StoreTable.named {
      let root = reader.snapshot.roots[table]
      if !root.isEmpty { try visit(reader.snapshot, table, root.depth) }
    }
  }

  private mutating func visit(
    _ snapshot: VerifiedSnapshot, _ table: StoreTable, _ depth: Int
  ) throws {
    var cursor = TreeCursor(snapshot, table)
    for level in 0..<depth {
      try cursor.go()
      repeat {
        let number = cursor.page(at: level)
        let page = snapshot.page(number)
        // The cursor has been here: what counted as verified then, it passed over.
        let hash = unsafe HashLanes(page.copied(Environment.pageBytes).span.bytes).first
        let known = hashes[number]
        if let known, isTrusted(number, snapshot) {
          trusted += 1
          if known != hash { wrong += 1 }
        }
        hashes[number] = hash
        verified[number] = snapshot.number
      } while try cursor.moveSideways(at: level, by: 1)
    }
  }

  /// When each page was last looked at here.
  private var verified: [Int: UInt64] = [:]

  /// Goes by the marks of freed pages, and by the audit's own notes of when a page was looked at: the store's own
  /// may be later.
  private func isTrusted(_ page: Int, _ snapshot: VerifiedSnapshot) -> Bool {
    guard let time = verified[page] else { return false }
    return ignoresFreed || time > snapshot.marks.freed(page) && time > snapshot.floor
  }
}
