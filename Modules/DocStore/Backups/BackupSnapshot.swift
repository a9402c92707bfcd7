import CRDTCore

/// The pages of one commit, and the beginning of the meta page that names its trees.
struct BackupSnapshot {
  let file: PageFile
  /// The beginning of the meta page, with an empty list of free pages.
  let meta: [UInt8]

  /// The bytes of a page header, and of the engine's record of a commit.
  static let metaBytes = 152
  private static let freeListOffset = 40

  /// Reads which pages belong to a commit that a reader keeps.
  ///
  /// It is `nil` if later commits have overwritten the commit's meta page; a newer snapshot has another.
  /// - Parameters:
  ///   - descriptor: The open data file.
  ///   - transaction: The engine's number of the commit.
  init?(_ descriptor: Int32, transaction: UInt64) {
    guard let file = PageFile(descriptor, transaction: transaction, damaged: { _ in }) else { return nil }
    let offset = file.meta.page * file.pageBytes
    // A commit may write the page between two reads. What is read twice alike was not being written.
    guard let bytes = PageFile.read(descriptor, at: offset, count: Self.metaBytes),
      let again = PageFile.read(descriptor, at: offset, count: Self.metaBytes), bytes == again,
      let meta = PageFile.Meta(bytes, page: file.meta.page), meta.transaction == transaction,
      meta.tables.root == file.meta.tables.root, meta.lastPage == file.meta.lastPage
    else { return nil }
    self.file = file
    self.meta = Self.withoutFreePages(bytes)
  }

  /// Empties the list of free pages: they are in no backup, and the copy that a restore writes has none.
  private static func withoutFreePages(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    // The page size and the flags are at the start of the record and stay; an empty tree has no root.
    for offset in freeListOffset + 6..<freeListOffset + 40 { bytes[offset] = 0 }
    for offset in freeListOffset + 40..<freeListOffset + PageFile.Tree.byteCount { bytes[offset] = 0xFF }
    return bytes
  }

  /// A whole meta page from its beginning.
  static func page(_ number: Int, _ meta: [UInt8], pageBytes: Int) -> [UInt8] {
    var page = meta + [UInt8](repeating: 0, count: pageBytes - meta.count)
    for index in 0..<8 { page[index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
    return page
  }
}
