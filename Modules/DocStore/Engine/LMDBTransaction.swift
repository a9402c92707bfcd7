import CLMDB

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// One transaction of the engine, aborted unless it is committed.
struct LMDBTransaction: ~Copyable {
  let access: PageAccess

  /// Begins a transaction; the write lock belongs to the thread that takes it.
  ///
  /// - Parameters:
  ///   - environment: The open environment.
  ///   - parent: The write transaction to nest in, whose fate this one shares once it is committed.
  ///   - readOnly: Whether it only reads.
  /// - Throws: What the engine reports.
  init(_ environment: OpaquePointer, parent: PageAccess? = nil, readOnly: Bool = false) throws(StoreError) {
    var handle: OpaquePointer?
    let flags = readOnly ? UInt32(MDB_RDONLY) : 0
    // SAFETY: the environment outlives its transactions, and the call only fills the local handle.
    try StoreError.check(unsafe mdb_txn_begin(environment, parent?.handle, flags, &handle), "mdb_txn_begin")
    guard let handle = unsafe handle else { throw StoreError(engine: EINVAL, "mdb_txn_begin") }
    access = unsafe PageAccess(handle)
  }

  /// Makes everything written durable, or part of the parent.
  ///
  /// - Throws: `full` when there is no room, and then nothing has happened; what else the engine reports.
  consuming func commit() throws(StoreError) {
    let handle = unsafe access.handle
    discard self
    errno = 0
    // SAFETY: the handle is freed by this call whatever it returns, and nobody uses it afterwards.
    let rc = unsafe mdb_txn_commit(handle)
    // A disk that is almost full takes part of a write, which is no error of the system's. The engine makes it
    // one, the same as for a disk that fails; then the system named it first.
    let isCutShort = rc == EIO && errno == 0
    try StoreError.check(isCutShort ? ENOSPC : rc, "mdb_txn_commit")
  }

  deinit {
    // SAFETY: `commit` discards the value, so the handle is still open here.
    unsafe mdb_txn_abort(access.handle)
  }
}
