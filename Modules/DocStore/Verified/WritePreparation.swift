/// What the engine is about to do with a key.
enum WriteUse {
  /// To look up the key; the caller checks the entry itself.
  case path
  /// To insert where there is no entry.
  case adding
  /// To look it up.
  case looking
  /// To replace the value of the entry.
  case replacing
  /// To remove it.
  case neighbours
  /// To read from it, in either direction.
  case reading
  /// To read from it, only to greater keys.
  case readingForward

  var changes: Bool {
    switch self {
    case .path, .looking, .reading, .readingForward: false
    case .adding, .replacing, .neighbours: true
    }
  }

  /// Whether entries are used without further checks.
  var readsEntries: Bool { self == .looking || self == .reading || self == .readingForward }
}

/// The pages that a write transaction has verified, and that the engine may therefore traverse.
///
/// Before a key is looked up or inserted, the path to it is verified in the commit on which the transaction
/// builds. When a key is removed, the engine reads more. It fills a page that becomes too empty from the page
/// beside it, or merges the two. For the page above, it looks up the least key below. So then the pages
/// beside it are verified too, on each level, and the first pages below all these.
///
/// Pages that are nearly empty do not count as neighbours, nor do pages on which the transaction replaced
/// values, possibly by smaller ones. A page that the engine merges from several pages can reach beyond such
/// pages. It cannot reach beyond a page that is a third full, unless the transaction removes from that page
/// as well. Then that page's own neighbours are verified.
// SAFETY: it owns the memory that it points to, and accesses it only in bounds.
@safe final class WritePreparation {
  private var tables: [PreparedTable?] = Array(repeating: nil, count: StoreTable.count)
  /// The tables to which the transaction has written, or was about to write.
  private var changed: UInt32 = 0
  /// The tables from which it has removed entries, or was about to.
  private var reduced: UInt32 = 0
  /// By table: the page of the commit that holds, or would hold, the key that was asked for last.
  ///
  /// They are in separate memory and not in an array, for which each change would check for other owners.
  private let pages: UnsafeMutablePointer<Int>

  init() {
    unsafe pages = .allocate(capacity: StoreTable.count)
    unsafe pages.initialize(repeating: -1, count: StoreTable.count)
  }

  deinit { unsafe pages.deallocate() }

  /// Whether the commit's table may lack changes that the transaction should see.
  @inline(__always)
  func isChanged(_ table: StoreTable) -> Bool { changed >> UInt32(table.rawValue) & 1 != 0 }

  /// The named tables to which the transaction may have written.
  var changedTables: some Sequence<StoreTable> { StoreTable.named.lazy.filter { self.isChanged($0) } }

  /// The way to the leaf that was prepared last in a table.
  func way(in table: StoreTable) -> WrittenWay {
    if reduced >> UInt32(table.rawValue) & 1 != 0 { return .root }
    return tables[table.rawValue]?.way ?? .root
  }

  /// Verifies the pages that the engine may traverse for a use of `key`.
  ///
  /// - Returns: Whether the entry must be checked before it is used.
  @inline(__always)
  func prepare(
    _ snapshot: VerifiedSnapshot, _ table: StoreTable, _ key: RawSpan, for use: WriteUse
  ) throws(StoreError) -> Bool {
    let prepared = prepared(snapshot, table)
    if use.changes { changed |= 1 << UInt32(table.rawValue) }
    if use == .neighbours { reduced |= 1 << UInt32(table.rawValue) }
    let isSuspect = try prepared.prepare(key, for: use)
    note(prepared.page, of: table)
    return isSuspect
  }

  /// Verifies the pages that the engine may traverse to reach the last entry.
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

  /// Records where a key was looked up in the commit itself.
  @inline(__always)
  func note(_ page: Int, of table: StoreTable) { unsafe pages[Self.checked(table)] = page }

  /// The page of the commit that holds, or would hold, the key that was asked for last.
  ///
  /// It is -1 if none of the table's pages needs another check.
  func page(_ table: StoreTable) -> Int { unsafe pages[Self.checked(table)] }

  @inline(__always)
  private static func checked(_ table: StoreTable) -> Int {
    precondition(
      UInt(bitPattern: table.rawValue) < UInt(bitPattern: StoreTable.count), "there is no such table")
    return table.rawValue
  }
}

/// The verified pages of one table.
// SAFETY: the snapshot owns this object's owner.
@safe final class PreparedTable {
  private unowned(unsafe) let snapshot: VerifiedSnapshot
  private let table: StoreTable
  private let isEmpty: Bool
  @exclusivity(unchecked) private var cursor: TreeCursor
  /// The bounds of the keys on the page that was verified last.
  private var bounds = MappedPage.Bounds()
  private var ready: Ready = []
  private var hasDamagedEntries = false
  /// Pages whose neighbours are verified.
  private var readyPages: Set<Int> = []
  /// Pages on which values were replaced.
  private var replacedPages: Set<Int> = []
  private var isEndReady = false
  /// How often the search moved to another page.
  private var moves = 0
  /// Whether all pages of the table are verified, and none needs another check.
  private var isWhole = false

  /// The page that was verified last.
  var page: Int { unsafe ready.contains(.path) ? cursor.page : -1 }

  /// The way to that page, or to the last one.
  var way: WrittenWay {
    guard ready.contains(.path) else { return .last }
    return bounds.from.map { .key($0) } ?? .first
  }

  /// What has been verified for that page.
  private struct Ready: OptionSet {
    let rawValue: UInt8

    /// The path to it.
    static let path = Ready(rawValue: 1)
    /// The pages on both sides of it, on each level.
    static let neighbours = Ready(rawValue: 2)
    /// The pages behind it.
    static let next = Ready(rawValue: 16)
    /// Values may be replaced on it.
    static let replacing = Ready(rawValue: 4)
    /// Its entries have been checked.
    static let entries = Ready(rawValue: 8)
  }

  private enum Enough {
    /// A leaf that is at least this full, in percent, and has more than `entries` entries is not merged.
    static let fill = 34
    static let entries = 2
    /// A branch page with this many children is not merged.
    static let children = 4
    /// How many such neighbours of a leaf, and of a branch page, are enough.
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
      // SAFETY: an empty key has no address, and none of its bytes are read.
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
    // From now on, single paths would cost more than verifying all pages.
    if unsafe moves == snapshot.roots[table].pages {
      lookAtAll()
      if isWhole { return }
    }
    try unsafe cursor.goToLeaf(of: key)
    bounds = unsafe cursor.leafBounds
    hasDamagedEntries = unsafe cursor.hasDamagedEntries
    ready = .path
  }

  /// Verifies the whole table, unless some of it is damaged: then each path is verified separately.
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
      // The verifier has recorded it.
    }
  }

  private func makeEntriesReady(_ key: KeyBytes) throws(StoreError) {
    var reading = unsafe TreeCursor(snapshot, table)
    _ = try reading.find(key)
    hasDamagedEntries = reading.hasDamagedEntries
    ready.insert(.entries)
  }

  private func noteReplaced() {
    // A page with replaced values no longer counts as a neighbour, so earlier results may be wrong now.
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

  /// Verifies the pages beside the page of `key`: before it for -1, behind it for 1.
  private func verifyNeighbours(of key: KeyBytes, _ sides: [Int] = [-1, 1]) throws(StoreError) {
    let depth = unsafe snapshot.roots[table].depth
    var other = unsafe TreeCursor(snapshot, table, readsEntries: false)
    // The root is never merged.
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

  /// Whether the engine cannot reach beyond a page when it comes from its other side.
  private func isEnough(_ number: Int, isLeaf: Bool) -> Bool {
    let page = unsafe snapshot.page(number)
    guard isLeaf else { return page.count >= Enough.children }
    return page.fill(of: unsafe snapshot.pageBytes) >= Enough.fill && page.count > Enough.entries
      && !replacedPages.contains(number)
  }
}
