import Platform

extension PageCheck {
  /// Checks the page size and the page count in the file, before the engine opens it.
  ///
  /// The two meta pages must agree on a page size that a system can have, and the file must be about as long
  /// as it says. The engine trusts both: it divides by the size and maps as many pages.
  /// - Returns: The page size, which need not be this system's.
  /// - Throws: `unsupportedVersion` for a file whose pages are smaller or larger than the engine can use;
  ///   `corrupt`; what the system reports.
  static func checkSize(_ path: String) throws(StoreError) -> Int {
    // SAFETY: the path is read during the call only.
    let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: path) }
    defer { close(descriptor) }
    let pageBytes = PageSize.of(descriptor)
    var metas: [PageFile.Meta] = []
    for page in 0..<Environment.metaPages {
      // The engine itself refuses anything other than a meta page.
      if let bytes = PageFile.read(descriptor, at: page * pageBytes, count: pageBytes),
        let meta = PageFile.Meta(bytes, page: page)
      {
        metas.append(meta)
      }
    }
    let limit = PageFile.pageCount(of: descriptor, pageBytes: pageBytes) + PageFile.unwrittenPages
    for meta in metas where meta.pageBytes == pageBytes && !(1..<limit).contains(meta.lastPage) {
      throw corrupt(meta.page, "it counts pages that the file does not have")
    }
    guard let wrong = metas.first(where: { $0.pageBytes != pageBytes }) else { return pageBytes }
    // With a page size that the engine cannot use, the second meta page is at another offset.
    if metas.count == 1, wrong.pageBytes >= 512, wrong.pageBytes.nonzeroBitCount == 1 {
      throw StoreError(
        .unsupportedVersion,
        "The store has pages of \(wrong.pageBytes) bytes, which the storage engine cannot use",
        operation: "open")
    }
    throw corrupt(wrong.page, "it says that pages have \(wrong.pageBytes) bytes")
  }

  private static func corrupt(_ page: Int, _ what: String) -> StoreError {
    StoreError(.corrupt, PageDamage(page: page, what: what).message, operation: "open")
  }
}
