/// A place among the entries of a tree, as a commit has it, reached over verified pages alone.
// SAFETY: whoever makes one lets it go before its transaction ends, which keeps the pages in place.
@safe struct TreeCursor: ~Copyable {
  /// Not counted, for a look-up costs as much as counting.
  private let owned: Unmanaged<VerifiedSnapshot>
  let table: StoreTable
  private let readsEntries: Bool
  private let root: TreeRoot
  /// From the root to the leaf: pages, and the entries in them.
  private var numbers = TreeLevels()
  private var indices = TreeLevels()
  /// Levels of which the page is there.
  private var levels = 0
  private var leaf: MappedPage
  private(set) var index = 0
  private(set) var count = 0
  /// Whether some entries of the page may not be whole.
  private(set) var hasDamagedEntries = false

  /// - Parameters:
  ///   - snapshot: The commit.
  ///   - table: The tree.
  ///   - readsEntries: Whether entries are read, so that they are looked at; a transaction that only sees to the
  ///     engine's ways need not, but for entries that lead it to other pages.
  init(_ snapshot: VerifiedSnapshot, _ table: StoreTable, readsEntries: Bool = true) {
    self.readsEntries = readsEntries || table.hasPageNumbers
    unsafe owned = Unmanaged.passUnretained(snapshot)
    self.table = table
    root = snapshot.roots[table]
    unsafe leaf = MappedPage(snapshot.base)
  }

  @inline(__always)
  private var snapshot: VerifiedSnapshot { unsafe owned._withUnsafeGuaranteedRef { $0 } }

  // MARK: - Where it stands

  /// Whether it stands at no entry.
  @inline(__always)
  var isAtEnd: Bool { index < 0 || index >= count }

  /// The leaf page.
  var page: Int { mutating get { levels == 0 ? -1 : numbers[levels - 1] } }

  var keyBytes: KeyBytes { @inline(__always) get { leaf.key(index) } }

  /// Of no meaning at the end, like ``value``.
  var key: RawSpan {
    @inline(__always)
    @_lifetime(borrow self)
    borrowing get {
      let bytes = leaf.key(index)
      let span = unsafe RawSpan(_unsafeStart: bytes.start, byteCount: bytes.count)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  var value: RawSpan {
    @inline(__always)
    @_lifetime(borrow self)
    borrowing get {
      let bytes = valueBytes
      let span = unsafe RawSpan(_unsafeStart: bytes.start, byteCount: bytes.count)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  /// Where the value stands.
  var valueBytes: KeyBytes { @inline(__always) get { value(index) } }

  @inline(__always)
  private borrowing func value(_ index: Int) -> KeyBytes {
    let (byteCount, offset, flags) = leaf.value(index)
    guard flags & TreePage.Flag.longValue != 0 else {
      return unsafe KeyBytes(start: leaf.start + offset, count: byteCount)
    }
    let page = Int(truncatingIfNeeded: leaf.load64(offset))
    return unsafe KeyBytes(
      start: snapshot.page(page).start + MappedPage.headerBytes, count: byteCount)
  }

  /// Key and value where it stands.
  var entryBytes: (key: KeyBytes, value: KeyBytes) { entryBytes(index) }

  /// Key and value of an entry of the page.
  borrowing func entryBytes(_ index: Int) -> (key: KeyBytes, value: KeyBytes) {
    (leaf.key(index), value(index))
  }

  /// Whether the entry has to be looked at before it is relied on.
  var isSuspect: Bool {
    @inline(__always)
    get {
      if hasDamagedEntries { return true }
      let (_, offset, flags) = leaf.value(index)
      return flags & TreePage.Flag.longValue != 0 && isLongSuspect(offset)
    }
  }

  @inline(never)
  private borrowing func isLongSuspect(_ offset: Int) -> Bool {
    !snapshot.verifier.isWhole(
      key, value, in: table, on: Int(truncatingIfNeeded: leaf.load64(offset)), for: snapshot.number,
      above: snapshot.floor)
  }

  /// To be called where nothing was found: on a page with damaged entries one of them may be what was looked for.
  func checkAbsence() throws(StoreError) {
    if hasDamagedEntries { throw StoreError.damagedEntry(table) }
  }

  // MARK: - Moving

  /// Stands at the first entry whose key is not below `key`.
  ///
  /// - Returns: Whether it is the same.
  @inline(__always)
  mutating func seek(_ key: RawSpan) throws(StoreError) -> Bool {
    let isSame = try find(key)
    if !isSame, levels > 0, index == count { try advanceLeaf() }
    return isSame
  }

  /// Stands where an entry with the key `key` is or would be, be it at the end of a page.
  ///
  /// - Returns: Whether there is one.
  @inline(__always)
  mutating func find(_ key: RawSpan) throws(StoreError) -> Bool {
    guard !root.isEmpty else { return false }
    return try unsafe key.withUnsafeBytes { (bytes) throws(StoreError) in
      // SAFETY: an empty key has no address, and none of its bytes are looked at.
      let start = unsafe bytes.baseAddress ?? UnsafeRawPointer(snapshot.base)
      return try unsafe find(KeyBytes(start: start, count: bytes.count))
    }
  }

  mutating func find(_ key: KeyBytes) throws(StoreError) -> Bool {
    guard !root.isEmpty else { return false }
    if !isOnPage(key) { try goToLeaf(of: key) }
    let isSame: Bool
    (index, isSame) = leaf.search(key, isLeaf: true)
    return isSame
  }

  /// Whether `key` is between the first and the last one of the page.
  @inline(__always)
  private func isOnPage(_ key: KeyBytes) -> Bool {
    guard count > 0, levels == root.depth else { return false }
    return KeyBytes.order(leaf.key(0), key) <= 0 && KeyBytes.order(key, leaf.key(count - 1)) <= 0
  }

  /// Stands at the beginning of the page on which an entry with the key `key` is or would be.
  mutating func goToLeaf(of key: KeyBytes) throws(StoreError) {
    guard !root.isEmpty else { return }
    count = 0
    try enterRoot()
    for level in 0..<(root.depth - 1) {
      try enter(level, snapshot.page(numbers[level]).branch(to: key))
    }
    settle()
  }

  /// Stands at the first entry, or at the last one.
  mutating func go(toLast: Bool = false) throws(StoreError) {
    guard !root.isEmpty else { return }
    count = 0
    try enterRoot()
    try descend(from: 0, toLast: toLast)
  }

  mutating func advance() throws(StoreError) {
    index &+= 1
    if index >= count { try advanceLeaf() }
  }

  mutating func retreat() throws(StoreError) {
    index &-= 1
    if index < 0 { try retreatLeaf() }
  }

  /// Goes on at the first entry of the next leaf, if there is one.
  mutating func advanceLeaf() throws(StoreError) {
    guard !root.isEmpty, try moveSideways(at: root.depth - 1, by: 1) else {
      index = count
      return
    }
    settle()
  }

  /// Goes on at the last entry of the leaf before, if there is one.
  mutating func retreatLeaf() throws(StoreError) {
    guard !root.isEmpty, try moveSideways(at: root.depth - 1, by: -1) else {
      index = -1
      return
    }
    settle()
    index = count - 1
  }

  /// Goes over to the next page of a level, or the one before it.
  ///
  /// - Returns: `false`, with nothing moved, when there is none.
  mutating func moveSideways(at level: Int, by step: Int) throws(StoreError) -> Bool {
    var upper = level - 1
    while upper >= 0 {
      let next = indices[upper] + step
      if next >= 0, snapshot.page(numbers[upper]).count > next { break }
      upper -= 1
    }
    guard upper >= 0 else { return false }
    count = 0
    try enter(upper, indices[upper] + step)
    for middle in (upper + 1)..<level {
      try enter(middle, step > 0 ? 0 : snapshot.page(numbers[middle]).count - 1)
    }
    return true
  }

  /// Goes down from a level to the first leaf below, or the last one.
  private mutating func descend(from level: Int, toLast: Bool) throws(StoreError) {
    for level in level..<(root.depth - 1) {
      try enter(level, toLast ? snapshot.page(numbers[level]).count - 1 : 0)
    }
    settle()
    if toLast { index = count - 1 }
  }

  /// Takes the leaf that was entered.
  @inline(__always)
  private mutating func settle() {
    let number = numbers[root.depth - 1]
    leaf = snapshot.page(number)
    count = leaf.count
    index = 0
    hasDamagedEntries = snapshot.marks.place(number).hasDamagedEntries
  }

  private mutating func enterRoot() throws(StoreError) {
    guard levels == 0 else { return }
    let place = PageMarks.Place(
      parent: PageMarks.Place.root, index: 0, table: table.rawValue, level: 0)
    if !snapshot.isVerified(root.page, at: place, parent: PageMarks.Place.root, readsEntries) {
      try snapshot.meet(
        root.page,
        as: PageVerifier.Expectation(
          table: table, isLeaf: root.depth == 1, readsEntries: readsEntries, place: place,
          parent: PageMarks.Place.root,
          bounds: MappedPage.Bounds()))
    }
    numbers[0] = root.page
    levels = 1
  }

  /// Goes from a page of `level` to the one below an entry, which is looked at unless it is verified.
  @inline(__always)
  private mutating func enter(_ level: Int, _ index: Int) throws(StoreError) {
    if levels > level + 1, indices[level] == index { return }
    let parent = numbers[level]
    let number = snapshot.page(parent).child(index)
    let place = PageMarks.Place(
      parent: parent, index: index, table: table.rawValue, level: level + 1)
    indices[level] = index
    levels = level + 1
    if !snapshot.isVerified(number, at: place, parent: parent, readsEntries) {
      try meet(number, at: place, level, index)
    }
    numbers[level + 1] = number
    levels = level + 2
  }

  @inline(never)
  private mutating func meet(
    _ number: Int, at place: PageMarks.Place, _ level: Int, _ index: Int
  ) throws(StoreError) {
    // Should it throw, it stands nowhere.
    (count, self.index) = (0, 0)
    if level + 2 == root.depth { snapshot.prefetch(below: numbers[level], index + 1) }
    try snapshot.meet(
      number,
      as: PageVerifier.Expectation(
        table: table, isLeaf: level + 2 == root.depth, readsEntries: readsEntries, place: place,
        parent: numbers[level],
        bounds: bounds(level, index)))
  }

  /// Goes down from a level to the first leaf below it; where it stands is of no meaning then.
  mutating func goDown(from level: Int) throws(StoreError) {
    for level in level..<(root.depth - 1) { try enter(level, 0) }
    count = 0
  }

  /// Looks at the long values of the page.
  ///
  /// - Returns: Whether all entries are whole.
  mutating func lookAtPage() -> Bool {
    var isWhole = !hasDamagedEntries
    for place in 0..<count {
      index = place
      if isSuspect { isWhole = false }
    }
    index = 0
    return isWhole
  }

  // MARK: - Passing over damage

  /// After a move that failed on a damaged page: the keys that stand below it.
  var missedKeys: (from: [UInt8]?, to: [UInt8]?) {
    mutating get {
      guard levels > 0 else { return (nil, nil) }
      let bounds = bounds(levels - 1, indices[levels - 1])
      return (bounds.from.map(\.copied), bounds.to.map(\.copied))
    }
  }

  /// After a move forward that failed on a damaged page: goes on behind it.
  ///
  /// - Returns: `false` when nothing more can be reached.
  mutating func passOver() throws(StoreError) -> Bool {
    guard levels > 0, try moveSideways(at: levels, by: 1) else {
      (index, count) = (0, 0)
      return false
    }
    try descend(from: levels - 1, toLast: false)
    return true
  }

  /// After a move forward that failed: goes on behind the damaged pages, as far as `missed` says.
  ///
  /// - Parameters:
  ///   - failure: Why it failed.
  ///   - missed: Gets that, and why a further move failed; `false` ends the walk.
  /// - Throws: What `missed` throws: what is not to be passed over.
  mutating func passOver(
    after failure: StoreError, _ missed: (StoreError) throws(StoreError) -> Bool
  ) throws(StoreError) {
    var failure = failure
    while try missed(failure) {
      do throws(StoreError) {
        _ = try passOver()
        return
      } catch {
        failure = error
      }
    }
    (index, count) = (0, 0)
  }

  /// The page that it has come to on a level.
  mutating func page(at level: Int) -> Int { numbers[level] }

  /// The keys that the leaf may hold.
  var leafBounds: MappedPage.Bounds {
    mutating get {
      root.depth < 2 ? MappedPage.Bounds() : bounds(root.depth - 2, indices[root.depth - 2])
    }
  }

  /// The keys that stand below an entry, as the pages above say.
  mutating func bounds(_ level: Int, _ index: Int) -> MappedPage.Bounds {
    var bounds = MappedPage.Bounds()
    for upper in (0...max(level, 0)).reversed() where upper <= level {
      let page = snapshot.page(numbers[upper])
      let place = upper == level ? index : indices[upper]
      if bounds.from == nil, place > 0 { bounds.from = page.key(place) }
      if bounds.to == nil, place + 1 < page.count { bounds.to = page.key(place + 1) }
    }
    return bounds
  }
}
