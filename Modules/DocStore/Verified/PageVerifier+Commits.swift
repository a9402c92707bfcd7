import CLMDB

extension PageVerifier {
  /// Checks the trees and the free pages of a file that was just opened.
  ///
  /// - Returns: The trees of the last commit.
  /// - Throws: `corrupt`.
  func open() throws(StoreError) -> TreeRoots {
    guard let roots = try roots(of: nil) else {
      throw note(PageDamage(page: 0, what: "it does not say where everything is"), .list)
    }
    try readFreePages(roots, all: true)
    return roots
  }

  /// The trees of a commit, or of the last one if `number` is `nil`.
  ///
  /// - Parameters:
  ///   - number: The commit's number.
  ///   - base: The commit on which this process has just made it, if it has.
  /// - Returns: `nil` if later commits have overwritten the meta page of that commit.
  /// - Throws: `corrupt`.
  func roots(of number: UInt64?, on base: VerifiedSnapshot? = nil) throws(StoreError) -> TreeRoots? {
    // SAFETY: the first two pages are in the map while the map exists.
    var newest: PageFile.Meta?
    for page in 0..<Environment.metaPages {
      guard let meta = PageFile.Meta(self.page(page).copied(160), page: page) else { continue }
      if newest.map({ $0.transaction <= meta.transaction }) ?? true { newest = meta }
    }
    guard let last = newest, number == nil || last.transaction == number else { return nil }
    guard last.lastPage >= 1, last.lastPage < mapPages, let bare = TreeRoots(last)
    else {
      throw note(PageDamage(page: last.page, what: "a table is described wrongly"), .list)
    }
    if let base { noteWritten(bare, on: base, [.list, .freeList]) }
    let snapshot = VerifiedSnapshot(self, bare, isWriting: false)
    defer { withExtendedLifetime(snapshot) {} }
    // Only these can differ from the former commit's.
    func mayDiffer(_ table: StoreTable) -> Bool {
      guard let base, let preparation = base.preparation else { return true }
      return preparation.isChanged(table) || base.roots[table].isMissing
    }
    return try bare.adding(to: base?.roots) { (trees) throws(StoreError) in
      var cursor = TreeCursor(snapshot, .list)
      var next = 0
      try cursor.go()
      while !cursor.isAtEnd {
        if let table = StoreTable(spelled: cursor.key, &next), mayDiffer(table) {
          guard let root = TreeRoot(PageFile.Tree(cursor.value)) else {
            throw note(PageDamage(page: cursor.page, what: "a table is described wrongly"), .list)
          }
          trees[table.rawValue] = root
        }
        try cursor.advance()
      }
    }
  }

  /// Checks the list of free pages, and records what a commit freed.
  ///
  /// When the engine writes next, it takes pages from this list without checking them.
  /// - Parameters:
  ///   - roots: The commit's trees.
  ///   - all: Whether all listed pages count as freed by it, because they are in no tree.
  /// - Throws: `corrupt`.
  func readFreePages(_ roots: TreeRoots, all: Bool = false) throws(StoreError) {
    let root = roots[.freeList]
    guard !root.isEmpty else { return }
    let snapshot = VerifiedSnapshot(self, roots, isWriting: false)
    defer { withExtendedLifetime(snapshot) {} }
    var cursor = TreeCursor(snapshot, .freeList)
    try cursor.go()
    while !cursor.isAtEnd {
      if all {
        FreePages.forEach(cursor.value) { marks.noteFreed($0, by: roots.number) }
        try cursor.advance()
      } else {
        // Each page is checked when it is reached.
        try cursor.advanceLeaf()
      }
    }
    if all { return }
    try cursor.go(toLast: true)
    // The newest entry is the last one; a commit that freed nothing has none.
    guard !cursor.isAtEnd, FreePages.transaction(cursor.key) == roots.number else { return }
    FreePages.forEach(cursor.value) { marks.noteFreed($0, by: roots.number) }
  }
}
