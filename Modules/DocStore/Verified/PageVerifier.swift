import CLMDB

/// Checks each page of the engine's map before the engine, or any other code, traverses it.
///
/// It belongs to one environment. Its marks say which pages need no further check.
// SAFETY: the mutable state is in the marks, which are used atomically, or is protected by a lock.
@safe final class PageVerifier: @unchecked Sendable {
  /// The start of the engine's map.
  let base: UnsafeRawPointer
  let marks: PageMarks
  /// The file's page size.
  let pageBytes: Int
  /// The number of pages of the map.
  let mapPages: Int
  /// The number of pages when the file was opened.
  private let openedPages: Int
  /// The number of pages of a file that is only read; it may be shorter than its last commit says.
  private let filePages: Int
  private let state = Monitor(State())
  /// Is called once with each damaged page, and with whether readers fail on the page itself.
  private let report: @Sendable (DamagedPage, _ isTold: Bool) -> Void
  /// For a control experiment: accepts every page without checks.
  private let trustsPages: Bool

  private struct State {
    var floor: UInt64 = 0
    var damaged: [DamagedPage] = []
  }

  /// How many damaged pages are remembered.
  private static let limit = 1_000

  /// - Parameters:
  ///   - base: The start of the engine's map.
  ///   - pageBytes: The file's page size.
  ///   - mapPages: The number of pages of the map.
  ///   - openedPages: The number of pages of the file that the last commit may refer to.
  ///   - filePages: The number of pages of the file, if it may be shorter than that.
  ///   - trustsPages: Whether to accept every page without checks, for a control experiment.
  ///   - report: Is called once with each damaged page, and with whether readers fail on the page itself.
  init(
    base: UnsafeRawPointer, pageBytes: Int, mapPages: Int, openedPages: Int, filePages: Int = .max,
    trustsPages: Bool = false,
    report: @escaping @Sendable (DamagedPage, _ isTold: Bool) -> Void
  ) {
    unsafe self.base = base
    self.pageBytes = pageBytes
    self.openedPages = openedPages
    self.filePages = filePages
    self.report = report
    self.trustsPages = trustsPages
    self.mapPages = mapPages
    marks = PageMarks(capacity: mapPages)
  }

  deinit { marks.free() }

  // MARK: - What is known

  /// Verifications under snapshots up to this one no longer count.
  var floor: UInt64 { state.withLock { $0.floor } }

  /// Forgets all verifications up to a snapshot, because another process has written since.
  func forget(through snapshot: UInt64) {
    state.withLock { $0.floor = max($0.floor, snapshot) }
  }

  /// The damaged pages found so far.
  var damagedPages: [DamagedPage] { state.withLock { $0.damaged } }

  /// Whether a page has not been written since the file was opened.
  func isOriginal(_ page: Int) -> Bool { page < openedPages && marks.freed(page) == 0 }

  @inline(__always)
  func page(_ number: Int) -> MappedPage {
    // SAFETY: callers have compared the number with their commit's page count, and all those pages are in the
    // map.
    unsafe MappedPage(base + number &* pageBytes)
  }

  // MARK: - Checking a page

  /// What a page must be, according to the place from which it is reached.
  struct Expectation {
    let table: StoreTable
    let isLeaf: Bool
    /// Whether the entries of a leaf must be checked as well.
    var readsEntries = true
    let place: PageMarks.Place
    /// The page above; ``PageMarks/Place/root`` for the place that names a root.
    let parent: Int
    let bounds: MappedPage.Bounds
  }

  /// Checks a page that is not known to match its place.
  ///
  /// - Throws: `corrupt` if it does not match.
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
    guard present(pageCount) ~= number else {
      throw PageDamage(page: number, what: "there is no such page")
    }
    if trustsPages { return marks.noteVerified(number, by: snapshot, at: expected.place) }
    let page = page(number)
    let (isLeaf, use, place) = (expected.isLeaf, expected.table.use, expected.place)
    let known = marks.place(number)
    let isKnown = marks.isVerified(number, for: snapshot, above: floor) && known.kind == place.kind
    var hasLongValues = isKnown
    if !isKnown, let what = page.damage(number, of: pageBytes, isLeaf: isLeaf, use, &hasLongValues) {
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
    // The page can still be traversed, because each entry is checked when it is read.
    if !isWhole {
      _ = note(
        PageDamage(page: number, what: "an entry is not whole"), expected.table, expected.bounds,
        isTold: false)
    }
  }

  /// The pages of trees that a commit may refer to and that the file has.
  private func present(_ pageCount: Int) -> Range<Int> {
    Environment.metaPages..<max(min(pageCount, filePages), Environment.metaPages)
  }

  private func isFree(_ page: Int, for snapshot: UInt64) -> Bool {
    let freed = marks.freed(page)
    return freed != 0 && freed <= snapshot
  }

  /// Checks the entries of a leaf.
  ///
  /// - Returns: Whether all are intact.
  /// - Throws: Damage that makes it impossible to traverse the page.
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
        // Checked when it is read, because a page may have hundreds.
        guard table == .freeList else { continue }
        unsafe start = self.page(long).start + MappedPage.headerBytes
      }
      guard all else { continue }
      let key = page.key(index)
      // SAFETY: the page's own data was checked before, so both are inside the page, or on the pages of the
      // value.
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

  /// Checks the head of a long value, the only head on its pages.
  private func checkLong(_ number: Int, _ byteCount: Int, _ pageCount: Int) throws(PageDamage) {
    let needed = PageFile.pageCount(forValue: byteCount, pageBytes: pageBytes)
    let pages = present(pageCount)
    guard pages ~= number else {
      throw PageDamage(page: number, what: "there is no such page")
    }
    let page = page(number)
    guard page.number == UInt64(number), page.flags == TreePage.Flag.overflow,
      page.longPages >= needed,
      page.longPages <= pages.upperBound - number
    else { throw PageDamage(page: number, what: "the head of a long value is wrong") }
  }

  /// Whether a long value is intact; it is checked once.
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
  ///   - table: The table of the page.
  ///   - bounds: The keys that the page may hold.
  ///   - isTold: Whether readers fail on the page itself, and not just on an entry.
  /// - Returns: The error for readers.
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

/// A page that differs from what it should be.
package struct DamagedPage: Hashable, Sendable {
  package let page: Int
  /// The table that it belongs to.
  package let table: String
  package let message: String
  /// The least key that the page may hold; `nil` for no lower bound.
  package let from: [UInt8]?
  /// A key above all that the page may hold; `nil` for no upper bound.
  package let to: [UInt8]?
}
