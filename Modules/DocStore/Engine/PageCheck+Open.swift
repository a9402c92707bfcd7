import CLMDB

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension PageCheck {
  /// Sees to it that the engine, which nobody uses yet, can trust what its pages say about themselves.
  ///
  /// - Parameters:
  ///   - handle: The engine's environment.
  ///   - path: Its data file, which gets zeros where it lost its end.
  /// - Throws: `corrupt`, or what the system reports.
  static func run(on handle: OpaquePointer, _ path: String) throws(StoreError) {
    var info = unsafe MDB_envinfo()
    var descriptor: Int32 = -1
    // SAFETY: the calls fill the local values.
    try StoreError.check(unsafe mdb_env_info(handle, &info), "mdb_env_info")
    try StoreError.check(unsafe mdb_env_get_fd(handle, &descriptor), "mdb_env_get_fd")
    guard unsafe info.me_last_pgno < info.me_mapsize / Environment.pageBytes else {
      throw StoreError(.corrupt, "The store's file has more pages than there is room for", operation: "open")
    }
    let pageCount = unsafe info.me_last_pgno + 1
    try StoreFiles.pad(path, toPages: pageCount)
    let byteCount = pageCount * Environment.pageBytes
    let start = unsafe mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, 0)
    guard let start = unsafe start, unsafe start != MAP_FAILED else {
      throw StoreError(engine: errno, "mmap")
    }
    defer { unsafe munmap(start, byteCount) }
    // SAFETY: the file now has all these pages, and nobody writes to it before the store is open.
    var check = unsafe PageCheck(
      start, pageCount: pageCount, pageBytes: Environment.pageBytes, budget: budgetAtOpen)
    try check.run()
  }
}
