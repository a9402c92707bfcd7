import CLMDB
import Platform

/// A write transaction of the engine, aborted unless it is committed.
// SAFETY: the retained objects live until the transaction ends.
@safe struct LMDBTransaction: ~Copyable {
  let access: PageAccess
  /// The store and the base commit of a top-level transaction of an open store; else `nil`.
  private let environment: Unmanaged<Environment>?
  private let base: Unmanaged<VerifiedSnapshot>?

  /// Begins a transaction on a draft, whose pages no other code has used.
  ///
  /// The write lock belongs to the thread that calls this.
  ///
  /// - Parameter engine: The open environment.
  /// - Throws: What the engine reports.
  init(draft engine: OpaquePointer) throws(StoreError) {
    access = try unsafe PageAccess(Self.begin(engine), nil)
    unsafe environment = nil
    unsafe base = nil
  }

  /// Begins a transaction on an open store, whose pages are verified before the engine reads them.
  ///
  /// - Throws: `corrupt` if the list of tables or of free pages is damaged; what the engine reports.
  init(_ environment: Environment) throws(StoreError) {
    let handle = try unsafe Self.begin(environment.handle)
    let snapshot: VerifiedSnapshot
    do {
      snapshot = try environment.prepareWrite(unsafe PageAccess(handle, nil).transactionNumber)
    } catch {
      // SAFETY: no other code has the handle yet.
      unsafe mdb_txn_abort(handle)
      throw error
    }
    access = unsafe PageAccess(handle, snapshot)
    unsafe self.environment = Unmanaged.passRetained(environment)
    unsafe base = Unmanaged.passRetained(snapshot)
  }

  /// Begins a nested transaction; once committed, it takes effect only if its parent commits.
  init(_ environment: Environment, parent: PageAccess) throws(StoreError) {
    access = try unsafe parent.nested(Self.begin(environment.handle, parent.handle))
    unsafe self.environment = nil
    unsafe base = nil
  }

  private static func begin(
    _ engine: OpaquePointer, _ parent: OpaquePointer? = nil
  ) throws(StoreError) -> OpaquePointer {
    var handle: OpaquePointer?
    // SAFETY: the environment outlives its transactions, and the call only fills the local handle.
    try StoreError.check(unsafe mdb_txn_begin(engine, parent, 0, &handle), "mdb_txn_begin")
    guard let handle = unsafe handle else { throw StoreError(engine: EINVAL, "mdb_txn_begin") }
    return unsafe handle
  }

  /// Makes everything written durable, or part of the parent.
  ///
  /// - Throws: `full` if there is no room, and then nothing has changed; other errors that the engine
  ///   reports.
  consuming func commit() throws(StoreError) {
    let (handle, number) = unsafe (access.handle, access.transactionNumber)
    let (environment, base) = unsafe (environment, base)
    discard self
    unsafe environment?.takeUnretainedValue().willCommit()
    errno = 0
    // SAFETY: this call frees the handle whatever it returns, and nothing uses the handle afterwards.
    let rc = unsafe mdb_txn_commit(handle)
    // An almost full disk writes only a part, which is not a system error. The engine reports it as EIO, like
    // a disk failure. But for a disk failure, the system sets `errno` first.
    let isCutShort = rc == EIO && errno == 0
    if let environment = unsafe environment?.takeRetainedValue(), let base = unsafe base?.takeRetainedValue()
    {
      environment.didCommit(number, rc == MDB_SUCCESS, on: base)
    }
    try StoreError.check(isCutShort ? ENOSPC : rc, "mdb_txn_commit")
  }

  deinit {
    // SAFETY: `commit` discards the value, so the handle is still open here.
    unsafe mdb_txn_abort(access.handle)
    unsafe base?.release()
    unsafe environment?.release()
  }
}
