import CLMDB

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An open LMDB environment: closed, and its lock released, when the last transaction lets go of it.
///
/// Mode: synchronous commits, no write map, read-ahead left to the system, readers not tied to threads.
// SAFETY: LMDB environments may be used from any thread; the pool is guarded, the rest never changes.
@safe final class Environment: @unchecked Sendable {
  let handle: OpaquePointer
  let tables: Tables
  /// The process that may use the environment: a fork must not.
  let processID: pid_t
  /// Pages that documents may fill; some more are kept for evicting when these are used up.
  let pageLimit: Int
  private let lock: StoreLock
  private let idle: Monitor<[IdleReader]>

  @safe private struct IdleReader: @unchecked Sendable {
    // SAFETY: a reset transaction without MDB_NOTLS's opposite is tied to no thread.
    let handle: OpaquePointer
  }

  private static let maximumReaders: UInt32 = 1_022
  private static let idleReaders = 16
  private static let reservePages = 16...4_096

  /// Opens the data file, which must exist.
  init(files: StoreFiles, mapBytes: Int, lock: StoreLock) throws(StoreError) {
    let engine = try unsafe Self.openEngine(files.data, mapBytes: mapBytes)
    do {
      try unsafe files.pad(toPages: Self.pageCount(engine.handle))
      let transaction = try unsafe LMDBTransaction(engine.handle)
      // A newer format may have other tables, so its version is looked at first.
      let meta = try transaction.access.open("meta", create: false)
      try StoreIdentity.checkFormat(transaction.access, meta)
      tables = try Tables(transaction.access, create: false)
      try transaction.commit()
    } catch {
      // SAFETY: nothing else knows the handle yet.
      unsafe mdb_env_close(engine.handle)
      throw error
    }
    unsafe handle = engine.handle
    pageLimit = unsafe engine.pageLimit
    processID = getpid()
    self.lock = lock
    idle = Monitor([])
  }

  /// Pages that the last commit may refer to.
  private static func pageCount(_ handle: OpaquePointer) throws(StoreError) -> Int {
    var info = unsafe MDB_envinfo()
    // SAFETY: the call fills the local structure.
    try StoreError.check(unsafe mdb_env_info(handle, &info), "mdb_env_info")
    return unsafe info.me_last_pgno + 1
  }

  /// The data file's descriptor, which stays the engine's.
  func dataDescriptor() throws(StoreError) -> Int32 {
    var descriptor: Int32 = -1
    // SAFETY: the call fills the local value.
    try StoreError.check(unsafe mdb_env_get_fd(handle, &descriptor), "mdb_env_get_fd")
    return descriptor
  }

  deinit {
    // A fork has neither the locks nor the writer of its parent; it must leave the parent's files alone.
    guard processID == getpid() else { return }
    for reader in idle.withLock({ $0 }) { unsafe mdb_txn_abort(reader.handle) }
    // SAFETY: every transaction retains the environment, so none is left.
    unsafe mdb_env_close(handle)
  }

  /// Opens or makes the file at `path` and hands over the bare engine.
  static func openEngine(_ path: String, mapBytes: Int) throws(StoreError) -> (
    handle: OpaquePointer, pageLimit: Int
  ) {
    var handle: OpaquePointer?
    // SAFETY: each call fills locals only; on failure the half-made environment is closed and forgotten.
    try StoreError.check(unsafe mdb_env_create(&handle), "mdb_env_create")
    guard let handle = unsafe handle else { throw StoreError(engine: EINVAL, "mdb_env_create") }
    let pageBytes = Int(sysconf(Int32(_SC_PAGESIZE)))
    let pageLimit = max(mapBytes / pageBytes, 32)
    let reserve = min(max(pageLimit / 16, reservePages.lowerBound), reservePages.upperBound)
    do {
      try StoreError.check(unsafe mdb_env_set_maxdbs(handle, Tables.maximumCount), "mdb_env_set_maxdbs")
      try StoreError.check(unsafe mdb_env_set_maxreaders(handle, maximumReaders), "mdb_env_set_maxreaders")
      try StoreError.check(
        unsafe mdb_env_set_mapsize(handle, (pageLimit + reserve) * pageBytes), "mdb_env_set_mapsize")
      try StoreError.check(
        unsafe mdb_env_open(handle, path, UInt32(MDB_NOSUBDIR | MDB_NOTLS), 0o600), "mdb_env_open")
      var stale: Int32 = 0
      try StoreError.check(unsafe mdb_reader_check(handle, &stale), "mdb_reader_check")
      return unsafe (handle, pageLimit)
    } catch {
      unsafe mdb_env_close(handle)
      throw error
    }
  }

  /// A read transaction on the newest snapshot; give it back with `recycle`.
  func beginRead() throws(StoreError) -> PageAccess {
    if let reader = idle.withLock({ $0.popLast() }) {
      let rc = unsafe mdb_txn_renew(reader.handle)
      if rc == MDB_SUCCESS { return unsafe PageAccess(reader.handle) }
      unsafe mdb_txn_abort(reader.handle)
      throw StoreError(engine: rc, "mdb_txn_renew")
    }
    var transaction: OpaquePointer?
    let rc = unsafe mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
    try StoreError.check(rc, "mdb_txn_begin")
    guard let transaction = unsafe transaction else { throw StoreError(engine: EINVAL, "mdb_txn_begin") }
    return unsafe PageAccess(transaction)
  }

  /// Ends a read transaction, keeping its slot for the next one.
  func recycle(_ access: PageAccess) {
    unsafe mdb_txn_reset(access.handle)
    let kept = idle.withLock { idle in
      guard idle.count < Self.idleReaders else { return false }
      unsafe idle.append(IdleReader(handle: access.handle))
      return true
    }
    if !kept { unsafe mdb_txn_abort(access.handle) }
  }
}
