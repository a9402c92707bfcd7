import CRDTCore

/// Compares pages that count as verified with their earlier contents, to test the rule, not the pages.
package struct PageAudit {
  /// The hash of each page when it was last verified.
  private var hashes: [Int: UInt64] = [:]
  /// How many pages counted as verified, and how many of those had changed.
  package private(set) var trusted = 0
  package private(set) var wrong = 0
  /// For a control experiment: ignores which pages were freed.
  private let ignoresFreed: Bool

  package init(ignoresFreed: Bool = false) { self.ignoresFreed = ignoresFreed }

  /// Visits all trees of the last commit.
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
        // The cursor was here before, so it skipped the pages that counted as verified then.
        let hash = unsafe HashLanes(page.copied(snapshot.pageBytes).span.bytes).first
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

  /// The snapshot under which this audit last examined each page.
  private var verified: [Int: UInt64] = [:]

  /// Whether a page counts as verified, by the marks of freed pages and by the audit's own times.
  ///
  /// It does not use the store's own times, because these may be later.
  private func isTrusted(_ page: Int, _ snapshot: VerifiedSnapshot) -> Bool {
    guard let time = verified[page] else { return false }
    return ignoresFreed || time > snapshot.marks.freed(page) && time > snapshot.floor
  }
}
