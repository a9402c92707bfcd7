/// Walks the trees of a commit one after the other, and skips damaged pages.
struct TreeWalk {
  let file: PageFile
  /// The pages met so far, one bit each.
  private var met: [UInt64]
  /// The number of pages that were read and are intact.
  private(set) var pageCount = 0
  /// The number of leaf pages and long values still to check; upper pages do not count.
  private var budget: Int
  /// Whether long values are read whole, not only their headers.
  var readsLongValues: Bool
  /// Gets each page that is read and intact.
  var receiver: (any PageReceiver)?

  /// A subtree to walk.
  private struct Step {
    let page: Int
    let level: Int
    let bounds: TreePage.Bounds
  }

  /// The counts of one walk.
  private struct Totals {
    var branches = 0
    var leaves = 0
    var overflows = 0
    var entries = 0
    /// Whether the whole tree was walked.
    var isWhole = true
  }

  /// - Parameters:
  ///   - file: The commit's pages.
  ///   - budget: The number of leaf pages and long values to check.
  ///   - readsLongValues: Whether long values are read whole; otherwise only their headers are.
  init(_ file: PageFile, budget: Int = .max, readsLongValues: Bool = true) {
    self.file = file
    self.budget = budget
    self.readsLongValues = readsLongValues
    met = Array(repeating: 0, count: file.pageCount / 64 + 1)
    for page in 0..<Environment.metaPages { _ = meet(page) }
  }

  /// Walks the list of tables.
  mutating func tables(damaged: (PageDamage) throws -> Void) rethrows -> [(
    name: [UInt8], tree: PageFile.Tree
  )] {
    var found: [(name: [UInt8], tree: PageFile.Tree)] = []
    try walk(file.meta.tables, as: .tables, damaged: damaged) { key, value in
      found.append((key, PageFile.Tree(Array(value), at: 0)))
    }
    return found
  }

  /// Walks a tree in the order of its keys.
  ///
  /// - Parameters:
  ///   - tree: The tree.
  ///   - use: Its purpose.
  ///   - damaged: Gets each damaged page; the pages below it are skipped.
  ///   - entry: Gets each key and value; a long value that is not read is empty.
  mutating func walk(
    _ tree: PageFile.Tree, as use: TreePage.Use, damaged: (PageDamage) throws -> Void,
    entry: (_ key: [UInt8], _ value: ArraySlice<UInt8>) throws -> Void
  ) rethrows {
    guard tree.isPlausible, tree.flags & 0xFF == (use == .freeList ? TreePage.Flag.integerKeys : 0) else {
      return try damaged(PageDamage(page: file.meta.page, what: "a table is described wrongly"))
    }
    guard !tree.isEmpty else { return }
    var totals = Totals()
    var steps = [Step(page: tree.root, level: 1, bounds: TreePage.Bounds())]
    while let step = steps.popLast() {
      let page: TreePage
      do {
        guard let next = try load(step, isLeaf: step.level == tree.depth, use) else {
          totals.isWhole = false
          continue
        }
        page = next
      } catch {
        totals.isWhole = false
        try damaged(error)
        continue
      }
      if page.isLeaf {
        try visit(page, hasEntries: readsLongValues || use != .entries, &totals, damaged, entry)
      } else {
        totals.branches += 1
        descend(from: page, step, depth: tree.depth, &steps, &totals)
      }
    }
    if totals.isWhole, !isRight(totals, tree) {
      try damaged(PageDamage(page: tree.root, what: "the table beneath it has lost or gained pages"))
    }
  }

  /// Reads and checks a page; `nil` for a leaf beyond the budget.
  private mutating func load(
    _ step: Step, isLeaf: Bool, _ use: TreePage.Use
  ) throws(PageDamage) -> TreePage? {
    if isLeaf {
      guard budget > 0 else { return nil }
      budget -= 1
    }
    try take(step.page)
    guard let bytes = file.pages(step.page) else {
      throw PageDamage(page: step.page, what: "it cannot be read")
    }
    let page = try TreePage(bytes, number: step.page, isLeaf: isLeaf, step.bounds, use)
    pageCount += 1
    receiver?.receive(bytes, from: step.page)
    return page
  }

  /// Adds the pages below a branch to the steps, so that the first page is walked first.
  private func descend(
    from page: TreePage, _ step: Step, depth: Int, _ steps: inout [Step], _ totals: inout Totals
  ) {
    guard budget > 0 || step.level + 1 < depth else { return totals.isWhole = false }
    file.announce(page.nodes.map(\.child))
    var to = step.bounds.to
    for (index, node) in page.nodes.enumerated().reversed() {
      let from = index == 0 ? step.bounds.from : Array(page.bytes[node.key])
      steps.append(
        Step(page: node.child, level: step.level + 1, bounds: TreePage.Bounds(from: from, to: to)))
      to = from
    }
  }

  private mutating func visit(
    _ page: TreePage, hasEntries: Bool, _ totals: inout Totals, _ damaged: (PageDamage) throws -> Void,
    _ entry: (_ key: [UInt8], _ value: ArraySlice<UInt8>) throws -> Void
  ) rethrows {
    totals.leaves += 1
    totals.entries += page.nodes.count
    for node in page.nodes {
      let start = node.key.upperBound
      var value = page.bytes[start..<start]
      if node.isLong {
        do {
          let (long, pages) = try longValue(at: page.bytes.count(start), byteCount: node.valueBytes)
          value = long
          totals.overflows += pages
        } catch {
          totals.isWhole = false
          try damaged(error)
          continue
        }
      } else {
        value = page.bytes[start..<start + node.valueBytes]
      }
      if hasEntries { try entry(Array(page.bytes[node.key]), value) }
    }
  }

  /// Reads a value on overflow pages, of which only the first has a header, and counts the pages.
  ///
  /// There may be more pages than it needs: the engine leaves them to a shorter value that replaces a longer
  /// one in the same transaction.
  private mutating func longValue(
    at page: Int, byteCount: Int
  ) throws(PageDamage) -> (value: ArraySlice<UInt8>, pages: Int) {
    budget -= 1
    let needed = file.pageCount(forValue: byteCount)
    try take(page)
    guard let bytes = file.pages(page, readsLongValues ? needed : 1) else {
      throw PageDamage(page: page, what: "it cannot be read")
    }
    let count = Int(bytes.number32(12))
    guard bytes.count(0) == page, bytes.number16(10) == TreePage.Flag.overflow, count >= needed,
      count <= file.pageCount - page
    else { throw PageDamage(page: page, what: "the head of a long value is wrong") }
    for next in page + 1..<page + count { try take(next) }
    pageCount += count
    receiver?.receive(bytes, from: page)
    let end = readsLongValues ? PageFile.headerBytes + byteCount : PageFile.headerBytes
    return (bytes[PageFile.headerBytes..<end], count)
  }

  private func isRight(_ totals: Totals, _ tree: PageFile.Tree) -> Bool {
    totals.branches == tree.branchPages && totals.leaves == tree.leafPages
      && totals.overflows == tree.overflowPages && totals.entries == tree.entries
  }

  // MARK: - Pages in use

  /// Marks a page as used; throws if it is already.
  private mutating func take(_ page: Int) throws(PageDamage) {
    guard meet(page) else { throw PageDamage(page: page, what: "it is used twice, or does not exist") }
  }

  /// Marks a page as used, or as free.
  ///
  /// - Returns: `false` if it was marked before, or lies outside the file.
  mutating func meet(_ page: Int) -> Bool {
    guard page >= 0, page < file.pageCount else { return false }
    let bit = UInt64(1) << UInt64(page % 64)
    defer { met[page / 64] |= bit }
    return met[page / 64] & bit == 0
  }

  /// The number of pages that were never met.
  var unmetCount: Int { file.pageCount - met.reduce(0) { $0 + $1.nonzeroBitCount } }

  /// The pages that were never met, in order.
  var unmetPages: [Int] { (0..<file.pageCount).filter { met[$0 / 64] & UInt64(1) << UInt64($0 % 64) == 0 } }
}
