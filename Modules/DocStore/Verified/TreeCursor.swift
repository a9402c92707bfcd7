/// A position among the entries of a commit's tree; it is reached only over verified pages.
// SAFETY: the creator releases the cursor before its transaction ends, and the transaction keeps the pages in
// place.
@safe struct TreeCursor: ~Copyable {
  /// Not reference counted, because a look-up costs as little as counting.
  private let owned: Unmanaged<VerifiedSnapshot>
  let table: StoreTable
  private let readsEntries: Bool
  private let root: TreeRoot
  /// The pages from the root to the leaf, and the positions of the entries in them.
  private var numbers = TreeLevels()
  private var indices = TreeLevels()
  /// The number of levels whose page has been entered.
  private var levels = 0
  private var leaf: MappedPage
  private(set) var index = 0
  private(set) var count = 0
  /// Whether some entries of the page may be damaged.
  private(set) var hasDamagedEntries = false

  /// - Parameters:
  ///   - snapshot: The commit.
  ///   - table: The tree.
  ///   - readsEntries: Whether entries are read, so that they must be checked. A transaction that only
  ///     prepares pages for the engine does not need that, except for entries that name other pages.
  init(_ snapshot: VerifiedSnapshot, _ table: StoreTable, readsEntries: Bool = true) {
    self.readsEntries = readsEntries || table.hasPageNumbers
    unsafe owned = Unmanaged.passUnretained(snapshot)
    self.table = table
    root = snapshot.roots[table]
    unsafe leaf = MappedPage(snapshot.base)
  }

  @inline(__always)
  private var snapshot: VerifiedSnapshot { unsafe owned._withUnsafeGuaranteedRef { $0 } }

  // MARK: - Position

  /// Whether it is at no entry.
  @inline(__always)
  var isAtEnd: Bool { index < 0 || index >= count }

  /// The number of the leaf page.
  var page: Int { mutating get { levels == 0 ? -1 : numbers[levels - 1] } }

  var keyBytes: KeyBytes { @inline(__always) get { leaf.key(index) } }

  /// The key of the entry; undefined at the end, like ``value``.
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

  /// The bytes of the value.
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

  /// The key and the value of the current entry.
  var entryBytes: (key: KeyBytes, value: KeyBytes) { entryBytes(index) }

  /// The key and the value of an entry of the page.
  borrowing func entryBytes(_ index: Int) -> (key: KeyBytes, value: KeyBytes) {
    (leaf.key(index), value(index))
  }

  /// Whether the entry must be checked before it is used.
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

  /// Call it when nothing was found: on a page with damaged entries, one of them may be the missing one.
  func checkAbsence() throws(StoreError) {
    if hasDamagedEntries { throw StoreError.damagedEntry(table) }
  }

  // MARK: - Moving

  /// Moves to the first entry whose key is not below `key`.
  ///
  /// - Returns: Whether that key is equal.
  @inline(__always)
  mutating func seek(_ key: RawSpan) throws(StoreError) -> Bool {
    let isSame = try find(key)
    if !isSame, levels > 0, index == count { try advanceLeaf() }
    return isSame
  }

  /// Moves to the entry with the key `key`, or to its place, which may be the end of a page.
  ///
  /// - Returns: Whether there is such an entry.
  @inline(__always)
  mutating func find(_ key: RawSpan) throws(StoreError) -> Bool {
    guard !root.isEmpty else { return false }
    return try unsafe key.withUnsafeBytes { (bytes) throws(StoreError) in
      // SAFETY: an empty key has no address, and none of its bytes are read.
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

  /// Whether `key` is between the first and the last key of the page.
  @inline(__always)
  private func isOnPage(_ key: KeyBytes) -> Bool {
    guard count > 0, levels == root.depth else { return false }
    let head = key.head
    return leaf.order(0, key, head) <= 0 && leaf.order(count &- 1, key, head) >= 0
  }

  /// Moves to the beginning of the page on which an entry with the key `key` is or would be.
  mutating func goToLeaf(of key: KeyBytes) throws(StoreError) {
    guard !root.isEmpty else { return }
    count = 0
    try enterRoot()
    for level in 0..<(root.depth - 1) {
      try enter(level, snapshot.page(numbers[level]).branch(to: key))
    }
    settle()
  }

  /// Moves to the first entry, or to the last one.
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

  /// Moves to the first entry of the next leaf, if there is one.
  mutating func advanceLeaf() throws(StoreError) {
    guard !root.isEmpty, try moveSideways(at: root.depth - 1, by: 1) else {
      index = count
      return
    }
    settle()
  }

  /// Moves to the last entry of the previous leaf, if there is one.
  mutating func retreatLeaf() throws(StoreError) {
    guard !root.isEmpty, try moveSideways(at: root.depth - 1, by: -1) else {
      index = -1
      return
    }
    settle()
    index = count - 1
  }

  /// Moves to the next page of a level, or to the previous one.
  ///
  /// - Returns: `false`, without a move, when there is none.
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

  /// Moves down from a level to the first leaf below, or to the last one.
  private mutating func descend(from level: Int, toLast: Bool) throws(StoreError) {
    for level in level..<(root.depth - 1) {
      try enter(level, toLast ? snapshot.page(numbers[level]).count - 1 : 0)
    }
    settle()
    if toLast { index = count - 1 }
  }

  /// Sets the leaf that was entered.
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

  /// Moves from a page of `level` to the page below an entry, and checks that page unless it is verified.
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
    // If this throws, the cursor is at no entry.
    (count, self.index) = (0, 0)
    if level + 2 == root.depth { snapshot.prefetch(below: numbers[level], index + 1) }
    try snapshot.meet(
      number,
      as: PageVerifier.Expectation(
        table: table, isLeaf: level + 2 == root.depth, readsEntries: readsEntries, place: place,
        parent: numbers[level],
        bounds: bounds(level, index)))
  }

  /// Moves down from a level to the first leaf below it; the entry position is undefined then.
  mutating func goDown(from level: Int) throws(StoreError) {
    for level in level..<(root.depth - 1) { try enter(level, 0) }
    count = 0
  }

  /// Checks the long values of the page.
  ///
  /// - Returns: Whether all entries are intact.
  mutating func lookAtPage() -> Bool {
    var isWhole = !hasDamagedEntries
    for place in 0..<count {
      index = place
      if isSuspect { isWhole = false }
    }
    index = 0
    return isWhole
  }

  // MARK: - Skipping damage

  /// After a move that failed on a damaged page: the bounds of the keys below that page.
  var missedKeys: (from: [UInt8]?, to: [UInt8]?) {
    mutating get {
      guard levels > 0 else { return (nil, nil) }
      let bounds = bounds(levels - 1, indices[levels - 1])
      return (bounds.from.map(\.copied), bounds.to.map(\.copied))
    }
  }

  /// After a forward move that failed on a damaged page: continues behind that page.
  ///
  /// - Returns: `false` when no further entry can be reached.
  mutating func passOver() throws(StoreError) -> Bool {
    guard levels > 0, try moveSideways(at: levels, by: 1) else {
      (index, count) = (0, 0)
      return false
    }
    try descend(from: levels - 1, toLast: false)
    return true
  }

  /// After a forward move that failed: continues behind the damaged pages while `missed` allows it.
  ///
  /// - Parameters:
  ///   - failure: The failure of the move.
  ///   - missed: Is called with that failure, and with the failures of further moves; `false` ends the walk.
  /// - Throws: What `missed` throws, for failures that must not be skipped.
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

  /// The page entered on a level.
  mutating func page(at level: Int) -> Int { numbers[level] }

  /// The keys that the leaf may hold.
  var leafBounds: MappedPage.Bounds {
    mutating get {
      root.depth < 2 ? MappedPage.Bounds() : bounds(root.depth - 2, indices[root.depth - 2])
    }
  }

  /// The bounds of the keys below an entry, according to the pages above.
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
