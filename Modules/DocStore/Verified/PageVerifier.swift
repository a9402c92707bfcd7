import CLMDB

/// Looks at each page of the engine's map before the engine, or anybody else, walks over it.
///
/// It is one environment's. Its marks say which pages need not be looked at again.
// SAFETY: what changes is in the marks, which are used atomically, or under a lock.
@safe final class PageVerifier: @unchecked Sendable {
  /// Where the engine's map begins.
  let base: UnsafeRawPointer
  let marks: PageMarks
  /// Pages of the map.
  let mapPages: Int
  /// Pages that were there when the file was opened.
  private let openedPages: Int
  private let state = Monitor(State())
  /// Hears of each damaged page once, and whether readers are told by themselves.
  private let report: @Sendable (DamagedPage, _ isTold: Bool) -> Void
  /// For a control: takes every page for what it is reached as.
  private let trustsPages: Bool

  private struct State {
    var floor: UInt64 = 0
    var damaged: [DamagedPage] = []
  }

  /// So many damaged pages are remembered.
  private static let limit = 1_000

  /// - Parameters:
  ///   - base: Where the engine's map begins.
  ///   - mapPages: The pages of the map.
  ///   - openedPages: Pages of the file that the last commit may refer to.
  ///   - trustsPages: Whether every page is taken for what it is reached as, for a control.
  ///   - report: Hears of each damaged page once, and whether readers are told by themselves.
  init(
    base: UnsafeRawPointer, mapPages: Int, openedPages: Int, trustsPages: Bool = false,
    report: @escaping @Sendable (DamagedPage, _ isTold: Bool) -> Void
  ) {
    unsafe self.base = base
    self.openedPages = openedPages
    self.report = report
    self.trustsPages = trustsPages
    self.mapPages = mapPages
    marks = PageMarks(capacity: mapPages)
  }

  deinit { marks.free() }

  // MARK: - What is known

  /// Snapshots up to this one tell nothing any more of what was verified.
  var floor: UInt64 { state.withLock { $0.floor } }

  /// Forgets all that was verified up to a snapshot: somebody else has written since.
  func forget(through snapshot: UInt64) {
    state.withLock { $0.floor = max($0.floor, snapshot) }
  }

  /// Damaged pages that were met.
  var damagedPages: [DamagedPage] { state.withLock { $0.damaged } }

  /// Whether a page is the one that it was when the file was opened.
  func isOriginal(_ page: Int) -> Bool { page < openedPages && marks.freed(page) == 0 }

  @inline(__always)
  func page(_ number: Int) -> MappedPage {
    // SAFETY: callers have compared the number with the pages of their commit, all of which lie in the map.
    unsafe MappedPage(base + number &* Environment.pageBytes)
  }

  // MARK: - Looking at a page

  /// What a page is reached as.
  struct Expectation {
    let table: StoreTable
    let isLeaf: Bool
    /// Whether the entries of a leaf have to be looked at as well.
    var readsEntries = true
    let place: PageMarks.Place
    /// The page above; ``PageMarks/Place/root`` for what names a root.
    let parent: Int
    let bounds: MappedPage.Bounds
  }

  /// Looks at a page that is not known to be what it is reached as.
  ///
  /// - Throws: `corrupt` when it is not.
  @inline(never)
  func meet(
    _ number: Int, as expected: Expectation, for snapshot: UInt64, pageCount: Int,
    above floor: UInt64
  ) throws(StoreError) {
    do throws(PageDamage) {
      try check(number, as: expected, for: snapshot, pageCount: pageCount, above: floor)
    } catch {
      throw note(error, expected.table, expected.bounds)
    }
  }

  private func check(
    _ number: Int, as expected: Expectation, for snapshot: UInt64, pageCount: Int,
    above floor: UInt64
  ) throws(PageDamage) {
    guard Environment.metaPages..<pageCount ~= number else {
      throw PageDamage(page: number, what: "there is no such page")
    }
    if trustsPages { return marks.noteVerified(number, by: snapshot, at: expected.place) }
    let page = page(number)
    let (isLeaf, use, place) = (expected.isLeaf, expected.table.use, expected.place)
    let known = marks.place(number)
    let isKnown = marks.isVerified(number, for: snapshot, above: floor) && known.kind == place.kind
    var hasLongValues = isKnown
    if !isKnown, let what = page.damage(number, isLeaf: isLeaf, use, &hasLongValues) {
      throw PageDamage(page: number, what: what)
    }
    guard page.isWithin(expected.bounds, isLeaf: isLeaf, use) else {
      throw PageDamage(page: number, what: "its keys are not those that the page above says")
    }
    if isOriginal(expected.parent), isFree(number, for: snapshot) {
      throw PageDamage(page: number, what: "it is used, and listed as free")
    }
    let isComplete = !(expected.readsEntries && known.hasUncheckedEntries)
    if isKnown, isComplete { return marks.notePlace(number, place.keeping(known), by: snapshot) }
    var isWhole = true
    if isLeaf, hasLongValues || expected.readsEntries {
      isWhole = try checkEntries(
        page, number, expected.table, snapshot, pageCount, all: expected.readsEntries)
    }
    let found = place.adding(
      hasDamagedEntries: !isWhole, isLinked: isKnown && known.isLinked,
      hasUncheckedEntries: isLeaf && !expected.readsEntries)
    marks.noteVerified(number, by: snapshot, at: found)
    // No reason not to walk over it: each entry is looked at when it is read.
    if !isWhole {
      _ = note(
        PageDamage(page: number, what: "an entry is not whole"), expected.table, expected.bounds,
        isTold: false)
    }
  }

  private func isFree(_ page: Int, for snapshot: UInt64) -> Bool {
    let freed = marks.freed(page)
    return freed != 0 && freed <= snapshot
  }

  /// Looks at the entries of a leaf.
  ///
  /// - Returns: Whether all are whole.
  /// - Throws: What makes the page one that cannot be walked over.
  private func checkEntries(
    _ page: MappedPage, _ number: Int, _ table: StoreTable, _ snapshot: UInt64, _ pageCount: Int,
    all: Bool
  ) throws(PageDamage) -> Bool {
    var isWhole = true
    for index in 0..<page.count {
      let (byteCount, offset, flags) = page.value(index)
      var start = unsafe page.start + offset
      if flags & TreePage.Flag.longValue != 0 {
        let long = Int(truncatingIfNeeded: page.load64(offset))
        try checkLong(long, byteCount, pageCount)
        if isOriginal(number), isFree(long, for: snapshot) {
          throw PageDamage(page: long, what: "it is used, and listed as free")
        }
        // Looked at when it is read: a page may have hundreds.
        guard table == .freeList else { continue }
        unsafe start = self.page(long).start + MappedPage.headerBytes
      }
      guard all else { continue }
      let key = page.key(index)
      // SAFETY: the page's own words were checked before, so that both lie inside it, or on the pages of the value.
      let name = unsafe RawSpan(_unsafeStart: key.start, byteCount: key.count)
      let value = unsafe RawSpan(_unsafeStart: start, byteCount: byteCount)
      if table == .freeList {
        guard FreePages.isWhole(name, value, pageCount: pageCount) else {
          throw PageDamage(page: number, what: "an entry of the list of free pages is wrong")
        }
      } else if !LeafEntries.isWhole(name, value, in: table) {
        isWhole = false
      }
    }
    return isWhole
  }

  /// Looks at the head of a long value, the only one on its pages.
  private func checkLong(_ number: Int, _ byteCount: Int, _ pageCount: Int) throws(PageDamage) {
    let needed = PageFile.pageCount(forValue: byteCount)
    guard Environment.metaPages..<pageCount ~= number else {
      throw PageDamage(page: number, what: "there is no such page")
    }
    let page = page(number)
    guard page.number == UInt64(number), page.flags == TreePage.Flag.overflow,
      page.longPages >= needed,
      page.longPages <= pageCount - number
    else { throw PageDamage(page: number, what: "the head of a long value is wrong") }
  }

  /// Whether a long value is whole; looked at once.
  func isWhole(
    _ key: RawSpan, _ value: RawSpan, in table: StoreTable, on page: Int, for snapshot: UInt64,
    above floor: UInt64
  ) -> Bool {
    if marks.isVerified(page, for: snapshot, above: floor) { return true }
    guard LeafEntries.isWhole(key, value, in: table) else { return false }
    marks.noteVerified(
      page, by: snapshot,
      at: PageMarks.Place(parent: PageMarks.Place.root, index: 0, table: 63, level: 0))
    return true
  }

  /// Remembers a damaged page, and reports it the first time.
  ///
  /// - Parameters:
  ///   - damage: What is wrong.
  ///   - table: Whose page it is.
  ///   - bounds: The keys that may stand there.
  ///   - isTold: Whether readers fail on the page itself, and not just on an entry.
  /// - Returns: What readers fail with.
  func note(
    _ damage: PageDamage, _ table: StoreTable, _ bounds: MappedPage.Bounds = .init(), isTold: Bool = true
  ) -> StoreError {
    let found = DamagedPage(
      page: damage.page, table: table.name, message: damage.message, from: bounds.from?.copied,
      to: bounds.to?.copied)
    let isNew = state.withLock { state in
      guard state.damaged.count < Self.limit,
        !state.damaged.contains(where: { $0.page == found.page })
      else {
        return false
      }
      state.damaged.append(found)
      return true
    }
    if isNew { report(found, isTold) }
    return StoreError(found, operation: "read")
  }
}

/// A page that is not what it should be.
package struct DamagedPage: Hashable, Sendable {
  package let page: Int
  /// The table that it belongs to.
  package let table: String
  package let message: String
  /// The least key that may stand there; `nil` for the least of all.
  package let from: [UInt8]?
  /// A key that stands behind it; `nil` for none.
  package let to: [UInt8]?
}
