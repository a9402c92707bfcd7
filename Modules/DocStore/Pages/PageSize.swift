import Platform

/// The number of bytes of a page.
///
/// A file keeps the page size of the system that made it, and the engine reads and writes it with that size.
/// So a store that was made on a system with other pages needs no conversion.
enum PageSize {
  /// The page size of this system.
  static let system = Int(sysconf(Int32(_SC_PAGESIZE)))

  /// The page size of files that this system makes: the engine makes no larger pages than 32 KiB.
  static let made = min(system, largest)

  /// The largest page that the engine can address.
  private static let largest = 1 << 15
  /// No system has smaller pages.
  static let smallest = 1 << 12

  /// The bytes of a meta page that describe it.
  private static let metaBytes = 160

  /// Whether a file can have pages of this size.
  static func isPossible(_ byteCount: Int) -> Bool {
    byteCount >= smallest && byteCount <= largest && byteCount.nonzeroBitCount == 1
  }

  /// The page size that a data file states; ``made`` if the file states none that is possible.
  ///
  /// The first meta page is at the start of the file. If it is damaged, the second one is searched where it
  /// would be with each possible page size.
  static func of(_ descriptor: Int32) -> Int {
    if let first = meta(descriptor, at: 0), isPossible(first.pageBytes) { return first.pageBytes }
    var size = smallest
    while size <= largest {
      if let second = meta(descriptor, at: size), second.pageBytes == size { return size }
      size *= 2
    }
    return made
  }

  private static func meta(_ descriptor: Int32, at offset: Int) -> PageFile.Meta? {
    PageFile.read(descriptor, at: offset, count: metaBytes).flatMap { PageFile.Meta($0, page: 0) }
  }
}
