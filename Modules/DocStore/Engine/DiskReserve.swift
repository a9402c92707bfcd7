import CLMDB
import Platform

/// Keeps room on the disk for transactions that make room: evicting a document writes new pages first.
///
/// Either the file has enough free pages, or the disk gives it some beyond its end. A transaction that would leave
/// neither is let through only if it makes room. A file system that cannot reserve anything has no reserve.
struct DiskReserve {
  /// Whether the disk is full.
  private(set) var isMissing = false
  /// Pages of the file up to which there is room on the disk, so far as is known.
  private var securedPages = 0
  /// Stands in for the system's answer, for tests.
  private let fault: (@Sendable () -> Int32)?

  /// Enough for an eviction of some documents twice: what the last commit has freed is not to be had for the next.
  private static let pages = 40...1_024

  init(_ fault: (@Sendable () -> Int32)?) { self.fault = fault }

  /// Sees to the reserve before a commit.
  ///
  /// - Parameters:
  ///   - descriptor: The data file.
  ///   - pageCount: Pages that it has, or will have.
  ///   - usedPages: Those of them that are in use then.
  mutating func secure(_ descriptor: Int32, pageCount: Int, usedPages: Int) {
    let wanted = min(max(pageCount / 16, Self.pages.lowerBound), Self.pages.upperBound)
    guard pageCount - usedPages < wanted, securedPages < pageCount + wanted else {
      isMissing = false
      return
    }
    // Twice as much, so that a file that grows does not ask each time.
    for pages in [2 * wanted, wanted] {
      let rc = reserve(descriptor, from: pageCount, pages)
      isMissing = rc == ENOSPC || rc == EDQUOT
      if isMissing { continue }
      securedPages = pageCount + pages
      return
    }
  }

  private func reserve(_ descriptor: Int32, from page: Int, _ count: Int) -> Int32 {
    if let rc = fault?(), rc != 0 { return rc }
    let (offset, length) = (page * Environment.pageBytes, count * Environment.pageBytes)
    // The system gives room beyond such a limit too, and lets nobody write there.
    guard dunlin_may_reach(Int64(offset + length)) else { return ENOSPC }
    #if canImport(Darwin)
      var room = fstore_t(
        fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0,
        fst_length: off_t(length), fst_bytesalloc: 0)
      _ = offset
      // SAFETY: the call reads and fills the local structure.
      return unsafe fcntl(descriptor, F_PREALLOCATE, &room) == -1 ? errno : 0
    #else
      return dunlin_reserve(descriptor, Int64(offset), Int64(length))
    #endif
  }
}
