extension TreeWalk {
  /// Walks the list of free pages, which the engine trusts when it next writes.
  ///
  /// - Parameter damaged: Gets each damaged page.
  /// - Returns: The listed pages, which are not yet marked as met.
  mutating func freePages(damaged: (PageDamage) throws -> Void) rethrows -> [Int] {
    let (file, readsOthers) = (file, readsLongValues)
    readsLongValues = true
    defer { readsLongValues = readsOthers }
    var free: [Int] = []
    var isWhole = true
    try walk(file.meta.freeList, as: .freeList, damaged: damaged) { key, value in
      isWhole = Self.append(Array(value), to: &free, file) && key.count == 8 && isWhole
    }
    if !isWhole {
      try damaged(PageDamage(page: file.meta.page, what: "the list of free pages beneath it is wrong"))
    }
    return free
  }

  /// Reads the pages that one transaction freed: a count, then page numbers, the last one first.
  private static func append(_ bytes: [UInt8], to free: inout [Int], _ file: PageFile) -> Bool {
    let count = bytes.count(0)
    guard bytes.count >= 8, bytes.count % 8 == 0, count >= 0, count < bytes.count / 8 else { return false }
    var next = file.pageCount
    for place in 0..<count {
      let page = bytes.count(8 * (place + 1))
      guard page >= Environment.metaPages, page < next else { return false }
      next = page
      free.append(page)
    }
    return true
  }
}
