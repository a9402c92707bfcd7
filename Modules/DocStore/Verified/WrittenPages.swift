extension PageVerifier {
  /// Records pages that a commit of this process has just written; nothing else has to verify them.
  ///
  /// The engine makes each page that it writes from verified pages and from what it was told to put there. So
  /// in each changed tree, the pages from the root to one leaf count as verified: to the leaf that was
  /// prepared last, because the next transaction probably reads that one. Whatever is known of the leaf of
  /// the former commit from which that leaf was made, damaged or unchecked entries for example, holds for it,
  /// too. All other pages are checked when they are reached.
  ///
  /// - Parameters:
  ///   - roots: The commit's trees.
  ///   - base: The commit on which its transaction was built.
  ///   - tables: The trees.
  func noteWritten(_ roots: TreeRoots, on base: VerifiedSnapshot, _ tables: some Sequence<StoreTable>) {
    for table in tables where !roots[table].isEmpty && roots[table].page != base.roots[table].page {
      let way = base.preparation?.way(in: table) ?? .root
      noteWritten(table, roots, on: base, way)
    }
  }

  private func noteWritten(
    _ table: StoreTable, _ roots: TreeRoots, on base: VerifiedSnapshot, _ way: WrittenWay
  ) {
    let (root, former) = (roots[table], base.roots[table])
    // Where entries were removed, a page that the engine did not write may have become the root, or be on the
    // way, and a leaf may have been made from several.
    let isRootOnly = way.isRootOnly
    if isRootOnly, root.depth != former.depth { return }
    var known = PageMarks.Place(parent: PageMarks.Place.root, index: 0, table: table.rawValue, level: 0)
    if !former.isEmpty, !isRootOnly || root.depth == 1 {
      guard let leaf = base.leaf(of: table, way), marks.isVerified(leaf, for: base.number, above: base.floor)
      else { return }
      known = marks.place(leaf)
    }
    var (number, parent, index) = (root.page, PageMarks.Place.root, 0)
    for level in 0..<root.depth {
      let isLeaf = level == root.depth - 1
      guard (Environment.metaPages..<roots.pageCount) ~= number else { return }
      let page = page(number)
      guard page.number == UInt64(number), page.isLeaf == isLeaf else { return }
      let place = PageMarks.Place(parent: parent, index: index, table: table.rawValue, level: level)
      marks.noteVerified(number, by: roots.number, at: isLeaf ? place.keeping(known) : place)
      if isLeaf || isRootOnly { return }
      (parent, index) = (number, way.index(in: page))
      number = page.child(index)
    }
  }
}

/// The way from the root of a changed tree to the leaf that was prepared last.
enum WrittenWay {
  /// The root alone, because entries were removed.
  case root
  case first
  case last
  /// To the leaf with the keys from this one on.
  case key(KeyBytes)

  fileprivate var isRootOnly: Bool {
    guard case .root = self else { return false }
    return true
  }

  /// The entry of a branch at which it goes on.
  fileprivate func index(in branch: MappedPage) -> Int {
    switch self {
    case .root, .first: 0
    case .last: branch.count - 1
    case .key(let key): branch.branch(to: key)
    }
  }
}

extension VerifiedSnapshot {
  /// The leaf at the end of a way; `nil` if it cannot be reached.
  fileprivate func leaf(of table: StoreTable, _ way: WrittenWay) -> Int? {
    var cursor = TreeCursor(self, table, readsEntries: false)
    do throws(StoreError) {
      switch way {
      case .root, .first: try cursor.go()
      case .last: try cursor.go(toLast: true)
      case .key(let key): try cursor.goToLeaf(of: key)
      }
    } catch {
      return nil
    }
    return cursor.page
  }
}

extension Store {
  /// Has every page checked again before it is used, as after a write by another process.
  ///
  /// For tests that damage the file of an open store: pages that were checked, or written, are not checked
  /// again otherwise.
  ///
  /// - Throws: `closed`.
  package func forgetVerifiedPages() throws(StoreError) {
    let environment = try openEnvironment("forget")
    let (verifier, roots) = environment.readers.withLock { ($0.verifier, $0.roots) }
    if let roots { verifier?.forget(through: roots.number) }
  }
}
