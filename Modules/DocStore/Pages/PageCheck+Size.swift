import Platform

extension PageCheck {
  /// Sees to it that the file has pages of the size that this system has, and about as many as it says, before
  /// the engine opens it.
  ///
  /// The engine believes what the file says of both: it divides by the one and maps as much as the other.
  /// - Throws: `unsupportedVersion` for a file of a system with other pages; `corrupt`; what the system reports.
  static func checkSize(_ path: String) throws(StoreError) {
    // SAFETY: the path is read during the call only.
    let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: path) }
    defer { close(descriptor) }
    var metas: [PageFile.Meta] = []
    for page in 0..<Environment.metaPages {
      // What is no such page the engine refuses itself.
      if let bytes = PageFile.read(descriptor, at: page * PageFile.pageBytes, count: PageFile.pageBytes),
        let meta = PageFile.Meta(bytes, page: page)
      {
        metas.append(meta)
      }
    }
    let limit = PageFile.pageCount(of: descriptor) + PageFile.unwrittenPages
    for meta in metas where meta.pageBytes == PageFile.pageBytes && !(1..<limit).contains(meta.lastPage) {
      throw corrupt(meta.page, "it counts pages that the file does not have")
    }
    guard let wrong = metas.first(where: { $0.pageBytes != PageFile.pageBytes }) else { return }
    // Then the second one stands elsewhere.
    if metas.count == 1, wrong.pageBytes >= 512, wrong.pageBytes.nonzeroBitCount == 1 {
      throw StoreError(
        .unsupportedVersion, "The store is of a system whose pages have \(wrong.pageBytes) bytes",
        operation: "open")
    }
    throw corrupt(wrong.page, "it says that pages have \(wrong.pageBytes) bytes")
  }

  private static func corrupt(_ page: Int, _ what: String) -> StoreError {
    StoreError(.corrupt, PageDamage(page: page, what: what).message, operation: "open")
  }
}
