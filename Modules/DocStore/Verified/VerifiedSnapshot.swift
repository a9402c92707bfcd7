import CLMDB

/// One commit as one transaction sees it: its trees, and which of their pages are verified.
///
/// A write transaction has one of the commit on which it builds.
// SAFETY: used by one thread at a time, the thread that has the transaction.
@safe final class VerifiedSnapshot: @unchecked Sendable {
  private(set) var verifier: PageVerifier
  private(set) var roots: TreeRoots
  private(set) var base: UnsafeRawPointer
  /// The file's page size.
  private(set) var pageBytes: Int
  private(set) var floor: UInt64
  private(set) var marks: PageMarks
  /// What a write transaction has verified in advance.
  let preparation: WritePreparation?

  init(_ verifier: PageVerifier, _ roots: TreeRoots, isWriting: Bool) {
    self.verifier = verifier
    self.roots = roots
    unsafe base = verifier.base
    pageBytes = verifier.pageBytes
    floor = verifier.floor
    marks = verifier.marks
    preparation = isWriting ? WritePreparation() : nil
  }

  /// Continues with another commit.
  func begin(_ verifier: PageVerifier, _ roots: TreeRoots) {
    if self.verifier !== verifier {
      self.verifier = verifier
      unsafe base = verifier.base
      pageBytes = verifier.pageBytes
      marks = verifier.marks
    }
    self.roots = roots
    floor = verifier.floor
  }

  var number: UInt64 { roots.number }

  @inline(__always)
  func page(_ number: Int) -> MappedPage {
    // SAFETY: callers have a verified page, which is in the map.
    unsafe MappedPage(base + number &* pageBytes)
  }

  /// Asks the processor to fetch the page below an entry, which is probably read in full soon.
  ///
  /// The page before it is checked meanwhile: fetching a page from memory takes as long as checking one.
  func prefetch(below parent: Int, _ index: Int) {
    let page = page(parent)
    guard index < page.count else { return }
    let number = page.child(index)
    guard number >= 0, number < roots.pageCount else { return }
    unsafe dunlin_prefetch(UInt(bitPattern: self.page(number).start), pageBytes)
  }

  /// Whether a page is known to match its place.
  @inline(__always)
  func isVerified(
    _ number: Int, at place: PageMarks.Place, parent: Int, _ needsEntries: Bool
  ) -> Bool {
    let since = parent == PageMarks.Place.root ? 0 : marks.verified(parent)
    return number >= 0 && number < roots.pageCount
      && marks.isVerified(number, for: roots.number, above: floor)
      && marks.isExpected(number, at: place, since: since, needsEntries)
  }

  @inline(never)
  func meet(_ number: Int, as expected: PageVerifier.Expectation) throws(StoreError) {
    try verifier.meet(
      number, as: expected, for: roots.number, pageCount: roots.pageCount, above: floor)
  }
}
