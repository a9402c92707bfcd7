import CLMDB

/// Checks the engine's pages at open, before the engine reads them.
///
/// It stops at the first page that is damaged. It checks what lies around keys and values, which have
/// checksums of their own.
enum PageCheck {
  /// The number of leaf pages and long values to check, about 16 MiB; verification checks the rest.
  static let budget = 4_096

  /// Makes sure that the engine can trust its pages; nothing may use the engine yet.
  ///
  /// - Parameters:
  ///   - handle: The engine's environment.
  ///   - path: Its data file; a lost end is replaced by zeros, unless the file is only read.
  ///   - pageBytes: The file's page size.
  ///   - isReadOnly: Whether the file must stay as it is.
  /// - Throws: `corrupt`, or what the system reports.
  static func run(
    on handle: OpaquePointer, _ path: String, pageBytes: Int, isReadOnly: Bool
  ) throws(StoreError) {
    var info = unsafe MDB_envinfo()
    var descriptor: Int32 = -1
    // SAFETY: the calls fill the local values.
    try StoreError.check(unsafe mdb_env_info(handle, &info), "mdb_env_info")
    try StoreError.check(unsafe mdb_env_get_fd(handle, &descriptor), "mdb_env_get_fd")
    guard unsafe info.me_last_pgno < info.me_mapsize / pageBytes else {
      throw StoreError(.corrupt, "The store's file has more pages than there is room for", operation: "open")
    }
    if !isReadOnly { try StoreFiles.pad(path, toPages: unsafe info.me_last_pgno + 1, of: pageBytes) }
    do {
      guard let file = try PageFile(descriptor, damaged: { throw $0 }) else {
        throw PageDamage(page: 0, what: "it does not say where everything is")
      }
      var walk = TreeWalk(file, budget: budget, readsLongValues: false)
      let free = try walk.freePages(damaged: { throw $0 })
      for (_, tree) in try walk.tables(damaged: { throw $0 }) {
        try walk.walk(tree, as: .entries, damaged: { throw $0 }) { _, _ in }
      }
      for page in free where !walk.meet(page) {
        throw PageDamage(page: page, what: "it is listed as free and is not, or twice")
      }
    } catch let error as PageDamage {
      throw StoreError(.corrupt, error.message, operation: "open")
    } catch {
      throw StoreError(.io, "The store's pages cannot be read", operation: "open")
    }
  }
}
