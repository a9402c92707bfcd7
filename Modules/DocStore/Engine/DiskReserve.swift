import CLMDB
import Platform

/// Reserves disk space for transactions that make room: evicting a document first writes new pages.
///
/// Either the file has enough free pages, or the file system reserves space beyond its end. A transaction
/// that would leave neither is allowed only if it makes room. If the file system cannot reserve space, there
/// is no reserve.
struct DiskReserve {
  /// Whether the disk is full.
  private(set) var isMissing = false
  /// The file's page count up to which disk space is known to be reserved.
  private var securedPages = 0
  /// Replaces the system's answer in tests.
  private let fault: (@Sendable () -> Int32)?

  /// Enough to evict some documents twice: the next commit cannot use the pages that the last one freed.
  private static let pages = 40...1_024

  /// The pages to reserve for a file with this many pages.
  static func wantedPages(of pageCount: Int) -> Int {
    min(max(pageCount / 16, pages.lowerBound), pages.upperBound)
  }

  init(_ fault: (@Sendable () -> Int32)?) { self.fault = fault }

  /// Makes sure that the reserve exists before a commit.
  ///
  /// - Parameters:
  ///   - descriptor: The data file's descriptor.
  ///   - pageCount: The pages that the file has, or will have.
  ///   - usedPages: How many of these are in use then.
  ///   - pageBytes: The file's page size.
  mutating func secure(_ descriptor: Int32, pageCount: Int, usedPages: Int, pageBytes: Int) {
    let wanted = Self.wantedPages(of: pageCount)
    guard pageCount - usedPages < wanted, securedPages < pageCount + wanted else {
      isMissing = false
      return
    }
    // Reserves twice as much, so that a growing file does not request space at each commit.
    for pages in [2 * wanted, wanted] {
      let rc = reserve(descriptor, from: pageCount, pages, of: pageBytes)
      isMissing = rc == ENOSPC || rc == EDQUOT
      if isMissing { continue }
      securedPages = pageCount + pages
      return
    }
  }

  private func reserve(_ descriptor: Int32, from page: Int, _ count: Int, of pageBytes: Int) -> Int32 {
    if let rc = fault?(), rc != 0 { return rc }
    let (offset, length) = (page * pageBytes, count * pageBytes)
    // The system also reserves space beyond the file size limit, but refuses writes there.
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
