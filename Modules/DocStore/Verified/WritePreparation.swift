/// What the engine is about to do with a key.
enum WriteUse {
  /// To look up what is looked at whole.
  case path
  /// To put it where nothing stands.
  case adding
  /// To look it up.
  case looking
  /// To put another value in place of what stands there.
  case replacing
  /// To remove it.
  case neighbours
  /// To read on from it, in either direction.
  case reading
  /// To read on from it, to greater keys alone.
  case readingForward

  var changes: Bool {
    switch self {
    case .path, .looking, .reading, .readingForward: false
    case .adding, .replacing, .neighbours: true
    }
  }

  /// Whether entries are relied on as they stand.
  var readsEntries: Bool { self == .looking || self == .reading || self == .readingForward }
}

/// What a transaction that writes has made sure of: the pages that the engine may walk over.
///
/// Before a key is looked up or put, the way to it is verified in the commit that the transaction builds on. When one
/// is removed the engine reads more: a page that becomes too empty is filled from the page beside it, or merged with
/// it, and for the page above the least key below is looked up. So then the pages beside it are verified too, on each
/// level, and the first pages below all these.
///
/// Pages that are nearly empty do not count as neighbours, nor do those on which the transaction replaced values, by
/// smaller ones maybe. For a page that the engine made of several can reach beyond them, but not beyond one that is a
/// third full, unless the transaction removes from that one as well, and then its own neighbours are verified.
// SAFETY: it owns the memory that it points to, and looks at no place of it that there is not.
@safe final class WritePreparation {
  private var tables: [PreparedTable?] = Array(repeating: nil, count: StoreTable.count)
  /// The tables that the transaction has written to, or was about to.
  private var changed: UInt32 = 0
  /// By table, the page of the commit on which the key that was asked for last stands, or would.
  ///
  /// In memory of its own and not in an array, for which each change would ask whether somebody else has it, too.
  private let pages: UnsafeMutablePointer<Int>

  init() {
    unsafe pages = .allocate(capacity: StoreTable.count)
    unsafe pages.initialize(repeating: -1, count: StoreTable.count)
  }

  deinit { unsafe pages.deallocate() }

  /// Whether what the commit says of a table may no longer be all that the transaction should see.
  @inline(__always)
  func isChanged(_ table: StoreTable) -> Bool { changed >> UInt32(table.rawValue) & 1 != 0 }

  /// Makes sure of what a use of `key` may walk over.
  ///
  /// - Returns: Whether what stands there has to be looked at before it is relied on.
  @inline(__always)
  func prepare(
    _ snapshot: VerifiedSnapshot, _ table: StoreTable, _ key: RawSpan, for use: WriteUse
  ) throws(StoreError) -> Bool {
    let prepared = prepared(snapshot, table)
    if use.changes { changed |= 1 << UInt32(table.rawValue) }
    let isSuspect = try prepared.prepare(key, for: use)
    note(prepared.page, of: table)
    return isSuspect
  }

  /// Makes sure of what going to the last entry may walk over.
  func prepareEnd(_ snapshot: VerifiedSnapshot, _ table: StoreTable) throws(StoreError) {
    changed |= 1 << UInt32(table.rawValue)
    try prepared(snapshot, table).prepareEnd()
  }

  @inline(__always)
  private func prepared(_ snapshot: VerifiedSnapshot, _ table: StoreTable) -> PreparedTable {
    if let known = tables[table.rawValue] { return known }
    let made = PreparedTable(snapshot, table)
    tables[table.rawValue] = made
    return made
  }

  /// Notes where a key was looked up in the commit itself.
  @inline(__always)
  func note(_ page: Int, of table: StoreTable) { unsafe pages[Self.checked(table)] = page }

  /// The page of the commit on which the key that was asked for last stands, or would; -1 where none of the table's
  /// pages needs another look.
  func page(_ table: StoreTable) -> Int { unsafe pages[Self.checked(table)] }

  @inline(__always)
  private static func checked(_ table: StoreTable) -> Int {
    precondition(
      UInt(bitPattern: table.rawValue) < UInt(bitPattern: StoreTable.count), "there is no such table")
    return table.rawValue
  }
}

/// The same for one table.
// SAFETY: the snapshot owns what owns this.
@safe final class PreparedTable {
  private unowned(unsafe) let snapshot: VerifiedSnapshot
  private let table: StoreTable
  private let isEmpty: Bool
  @exclusivity(unchecked) private var cursor: TreeCursor
  /// The keys of the page that was made sure of last.
  private var bounds = MappedPage.Bounds()
  private var ready: Ready = []
  private var hasDamagedEntries = false
  /// Pages of which the neighbours are verified.
  private var readyPages: Set<Int> = []
  /// Pages on which values were replaced.
  private var replacedPages: Set<Int> = []
  private var isEndReady = false
  /// How often another page was looked for.
  private var moves = 0
  /// Whether all pages of the table are verified, and none needs another look.
  private var isWhole = false

  /// The page that was made sure of last.
  var page: Int { unsafe ready.contains(.path) ? cursor.page : -1 }

  /// What was made sure of for that page.
  private struct Ready: OptionSet {
    let rawValue: UInt8

    /// The way to it.
    static let path = Ready(rawValue: 1)
    /// The pages on both sides of it, on each level.
    static let neighbours = Ready(rawValue: 2)
    /// Those behind it.
    static let next = Ready(rawValue: 16)
    /// That values may be replaced there.
    static let replacing = Ready(rawValue: 4)
    /// Whether its entries are whole.
    static let entries = Ready(rawValue: 8)
  }

  private enum Enough {
    /// A leaf with so much, in percent, and more than so many entries is not merged away.
    static let fill = 34
    static let entries = 2
    /// The same for a page above.
    static let children = 4
    /// Neighbours of a leaf, and of a page above, that have as much.
    static let leaves = 1
    static let branches = 2
  }

  init(_ snapshot: VerifiedSnapshot, _ table: StoreTable) {
    unsafe self.snapshot = snapshot
    self.table = table
    isEmpty = snapshot.roots[table].isEmpty
    unsafe cursor = TreeCursor(snapshot, table, readsEntries: false)
  }

  @inline(__always)
  func prepare(_ key: RawSpan, for use: WriteUse) throws(StoreError) -> Bool {
    if isEmpty || isWhole && !use.readsEntries { return false }
    return try unsafe key.withUnsafeBytes { (bytes) throws(StoreError) in
      // SAFETY: an empty key has no address, and none of its bytes are looked at.
      let start = unsafe bytes.baseAddress ?? UnsafeRawPointer(snapshot.base)
      let key = unsafe KeyBytes(start: start, count: bytes.count)
      if !ready.contains(.path) || !isWithin(key) { try go(to: key) }
      switch use {
      case .path, .adding: break
      case .looking: if !ready.contains(.entries) { try makeEntriesReady(key) }
      case .replacing: if !ready.contains(.replacing) { noteReplaced() }
      case .neighbours: if !ready.contains(.neighbours) { try makeNeighboursReady(key) }
      case .reading:
        if !ready.contains(.neighbours) { try makeNeighboursReady(key) }
        if !ready.contains(.entries) { try makeEntriesReady(key) }
      case .readingForward:
        if ready.isDisjoint(with: [.neighbours, .next]) { try makeNextReady(key) }
        if !ready.contains(.entries) { try makeEntriesReady(key) }
      }
      return hasDamagedEntries
    }
  }

  func prepareEnd() throws(StoreError) {
    if isEmpty || isEndReady || isWhole { return }
    ready = []
    try unsafe cursor.go(toLast: true)
    isEndReady = true
  }

  @inline(__always)
  private func isWithin(_ key: KeyBytes) -> Bool {
    if let from = bounds.from, KeyBytes.order(from, key) > 0 { return false }
    if let to = bounds.to, KeyBytes.order(key, to) >= 0 { return false }
    return true
  }

  private func go(to key: KeyBytes) throws(StoreError) {
    ready = []
    moves += 1
    // Another way would cost as much as all pages.
    if unsafe moves == snapshot.roots[table].pages {
      lookAtAll()
      if isWhole { return }
    }
    try unsafe cursor.goToLeaf(of: key)
    bounds = unsafe cursor.leafBounds
    hasDamagedEntries = unsafe cursor.hasDamagedEntries
    ready = .path
  }

  /// Verifies the whole table, unless some of it is damaged: then each way is looked at by itself.
  private func lookAtAll() {
    var all = unsafe TreeCursor(snapshot, table, readsEntries: false)
    do throws(StoreError) {
      try all.go()
      while !all.isAtEnd {
        if all.hasDamagedEntries { return }
        if table == .ids || table == .recent, unsafe snapshot.needsLinks(all.page) { return }
        try all.advanceLeaf()
      }
      isWhole = true
    } catch {
      // The verifier has noted it.
    }
  }

  private func makeEntriesReady(_ key: KeyBytes) throws(StoreError) {
    var reading = unsafe TreeCursor(snapshot, table)
    _ = try reading.find(key)
    hasDamagedEntries = reading.hasDamagedEntries
    ready.insert(.entries)
  }

  private func noteReplaced() {
    // What was no reason to look beyond the page may be one now.
    if unsafe replacedPages.insert(cursor.page).inserted {
      readyPages.removeAll(keepingCapacity: true)
    }
    ready.remove(.neighbours)
    ready.insert(.replacing)
  }

  private func makeNeighboursReady(_ key: KeyBytes) throws(StoreError) {
    if unsafe !readyPages.contains(cursor.page) {
      try verifyNeighbours(of: key)
      unsafe readyPages.insert(cursor.page)
    }
    ready.insert(.neighbours)
  }

  private func makeNextReady(_ key: KeyBytes) throws(StoreError) {
    if unsafe !readyPages.contains(cursor.page) { try verifyNeighbours(of: key, [1]) }
    ready.insert(.next)
  }

  /// Verifies what stands on the sides of the page of `key`: before it for -1, behind it for 1.
  private func verifyNeighbours(of key: KeyBytes, _ sides: [Int] = [-1, 1]) throws(StoreError) {
    let depth = unsafe snapshot.roots[table].depth
    var other = unsafe TreeCursor(snapshot, table, readsEntries: false)
    // The root is merged with nothing.
    for level in 1..<max(depth, 1) {
      // The least key below.
      _ = try other.find(key)
      if level < depth - 1 { try other.goDown(from: level) }
      for step in sides {
        _ = try other.find(key)
        var missing = level == depth - 1 ? Enough.leaves : Enough.branches
        while missing > 0, try other.moveSideways(at: level, by: step) {
          if isEnough(other.page(at: level), isLeaf: level == depth - 1) { missing -= 1 }
          if level < depth - 1 { try other.goDown(from: level) }
        }
      }
    }
  }

  /// Whether nothing beyond a page is reached from the other side of it.
  private func isEnough(_ number: Int, isLeaf: Bool) -> Bool {
    let page = unsafe snapshot.page(number)
    guard isLeaf else { return page.count >= Enough.children }
    return page.fill >= Enough.fill && page.count > Enough.entries
      && !replacedPages.contains(number)
  }
}
