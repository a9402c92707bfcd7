import CLMDB
import Platform

/// One transaction of the engine that writes, aborted unless it is committed.
// SAFETY: what is retained lasts until the transaction ends.
@safe struct LMDBTransaction: ~Copyable {
  let access: PageAccess
  /// Where the transaction is one of an open store, and not nested: that store, and the commit that it builds on.
  private let environment: Unmanaged<Environment>?
  private let base: Unmanaged<VerifiedSnapshot>?

  /// Begins a transaction on a draft, whose pages nobody else has had; the write lock belongs to the thread that
  /// takes it.
  ///
  /// - Parameter engine: The open environment.
  /// - Throws: What the engine reports.
  init(draft engine: OpaquePointer) throws(StoreError) {
    access = try unsafe PageAccess(Self.begin(engine), nil)
    unsafe environment = nil
    unsafe base = nil
  }

  /// Begins a transaction on an open store, whose pages are looked at before they are walked over.
  ///
  /// - Throws: `corrupt` where the list of tables or of free pages is damaged; what the engine reports.
  init(_ environment: Environment) throws(StoreError) {
    let handle = try unsafe Self.begin(environment.handle)
    let snapshot: VerifiedSnapshot
    do {
      snapshot = try environment.prepareWrite(unsafe PageAccess(handle, nil).transactionNumber)
    } catch {
      // SAFETY: nothing else knows the handle yet.
      unsafe mdb_txn_abort(handle)
      throw error
    }
    access = unsafe PageAccess(handle, snapshot)
    unsafe self.environment = Unmanaged.passRetained(environment)
    unsafe base = Unmanaged.passRetained(snapshot)
  }

  /// Begins a transaction nested in another one, whose fate this one shares once it is committed.
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
  /// - Throws: `full` when there is no room, and then nothing has happened; what else the engine reports.
  consuming func commit() throws(StoreError) {
    let (handle, number) = unsafe (access.handle, access.transactionNumber)
    let (environment, base) = unsafe (environment, base)
    discard self
    unsafe environment?.takeUnretainedValue().willCommit()
    errno = 0
    // SAFETY: the handle is freed by this call whatever it returns, and nobody uses it afterwards.
    let rc = unsafe mdb_txn_commit(handle)
    // A disk that is almost full takes part of a write, which is no error of the system's. The engine makes it
    // one, the same as for a disk that fails; then the system named it first.
    let isCutShort = rc == EIO && errno == 0
    unsafe base?.release()
    unsafe environment?.takeRetainedValue().didCommit(number, rc == MDB_SUCCESS)
    try StoreError.check(isCutShort ? ENOSPC : rc, "mdb_txn_commit")
  }

  deinit {
    // SAFETY: `commit` discards the value, so the handle is still open here.
    unsafe mdb_txn_abort(access.handle)
    unsafe base?.release()
    unsafe environment?.release()
  }
}
