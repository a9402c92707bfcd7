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
  /// - Returns: `nil` if later commits have overwritten the meta page of that commit.
  /// - Throws: `corrupt`.
  func roots(of number: UInt64?) throws(StoreError) -> TreeRoots? {
    // SAFETY: the first two pages are in the map while the map exists.
    let metas = (0..<Environment.metaPages).compactMap { page in
      PageFile.Meta(self.page(page).copied(160), page: page)
    }
    guard let last = metas.max(by: { $0.transaction < $1.transaction }),
      number == nil || last.transaction == number
    else { return nil }
    guard last.lastPage >= 1, last.lastPage < mapPages, let bare = TreeRoots(last)
    else {
      throw note(PageDamage(page: last.page, what: "a table is described wrongly"), .list)
    }
    let snapshot = VerifiedSnapshot(self, bare, isWriting: false)
    defer { withExtendedLifetime(snapshot) {} }
    return try bare.adding { (trees) throws(StoreError) in
      var cursor = TreeCursor(snapshot, .list)
      var next = 0
      try cursor.go()
      while !cursor.isAtEnd {
        if let table = StoreTable(spelled: cursor.key, &next) {
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
