import CLMDB
import Platform

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
  let limit: Monitor<Int>
  /// The size that was asked for; the map is smaller where the process could not have so much.
  let askedBytes: Int
  let space: AddressSpace
  /// Pages of the file from which on the map is to grow again.
  let growth = Monitor(0)
  let lock: StoreLock
  let readers = Monitor(ReaderBoard())
  let numbers: NumberCache
  let options: StoreOptions
  let damagedIndexes: DamagedIndexes
  /// Tells the age of snapshots.
  let monotonic: @Sendable () -> Duration

  var pageLimit: Int { limit.withLock { $0 } }

  private static let reservePages = 32...4_096

  /// Opens the data file at `path`, which must exist.
  ///
  /// - Parameters:
  ///   - path: The data file.
  ///   - mapBytes: The size that documents may fill; by default that of the options.
  ///   - lock: Is released with the environment; it knows whether anything can be written.
  ///   - options: What else it goes by.
  ///   - damagedIndexes: Hears of damaged pages of rows.
  /// - Throws: `corrupt`, `unsupportedVersion`, or what the engine reports.
  init(
    _ path: String, mapBytes: Int? = nil, lock: StoreLock, options: StoreOptions,
    damagedIndexes: DamagedIndexes = DamagedIndexes()
  ) throws(StoreError) {
    try PageCheck.checkSize(path)
    let asked = mapBytes ?? options.mapBytes
    let space = AddressSpace(leastMapBytes: options.leastMapBytes, trial: options.reservesAddressSpace)
    // Where nobody can write, no reader has to say what it reads.
    let engine = try unsafe Self.openEngine(
      path, upTo: asked, contents: StoreFiles.byteCount(of: path), in: space,
      flags: lock.isOnReadOnlyMedium ? MDB_RDONLY | MDB_NOLOCK : 0)
    self.space = space
    askedBytes = min(asked, Self.greatestMapBytes)
    let verifier: PageVerifier
    let roots: TreeRoots
    do {
      try unsafe PageCheck.run(on: engine.handle, path)
      verifier = try unsafe Self.makeVerifier(engine.handle, options, damagedIndexes)
      roots = try verifier.open()
      tables = try unsafe Self.openTables(engine.handle, verifier, roots)
    } catch {
      // SAFETY: nothing else knows the handle yet.
      unsafe mdb_env_close(engine.handle)
      throw error
    }
    unsafe handle = engine.handle
    self.options = options
    self.damagedIndexes = damagedIndexes
    readers.withLock { ($0.verifier, $0.roots) = (verifier, roots) }
    limit = unsafe Monitor(engine.pageLimit)
    processID = getpid()
    self.lock = lock
    monotonic = options.monotonic
    numbers = NumberCache(capacity: options.numberCapacity, seed: options.random())
    if isSmallerThanAsked {
      options.write(
        .warning,
        "The process cannot have \(AddressSpace.text(asked)) of address space: the store begins with \(AddressSpace.text(self.mapBytes)) and grows as it can"
      )
    }
  }

  /// Opens the tables by a transaction that only reads.
  private static func openTables(
    _ engine: OpaquePointer, _ verifier: PageVerifier, _ roots: TreeRoots
  ) throws(StoreError) -> Tables {
    var handle: OpaquePointer?
    // SAFETY: the call only fills the local handle, which is given back below.
    try StoreError.check(unsafe mdb_txn_begin(engine, nil, UInt32(MDB_RDONLY), &handle), "mdb_txn_begin")
    guard let handle = unsafe handle else { throw StoreError(engine: EINVAL, "mdb_txn_begin") }
    let snapshot = VerifiedSnapshot(verifier, roots, isWriting: false)
    let access = unsafe PageAccess(handle, snapshot)
    do throws(StoreError) {
      // A newer format may have other tables, so its version is looked at first.
      let meta = try access.open("meta", create: false)
      try StoreIdentity.checkFormat(access, meta)
      let tables = try Tables(access, create: false)
      // Handles last only when their transaction is not rolled back.
      try StoreError.check(unsafe mdb_txn_commit(handle), "mdb_txn_commit")
      return withExtendedLifetime(snapshot) { tables }
    } catch {
      unsafe mdb_txn_abort(handle)
      throw error
    }
  }

  /// The size that documents may fill.
  var mapBytes: Int { pageLimit * Self.pageBytes }

  /// Pages of the file that commits have taken so far.
  func pageCount() throws(StoreError) -> Int { try unsafe Self.pageCount(of: handle) }

  /// Pages that the engine begins a file with.
  static let metaPages = 2

  /// Pages that the last commit may refer to.
  private static func pageCount(of handle: OpaquePointer) throws(StoreError) -> Int {
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
    for slot in readers.withLock({ $0.takeAllIdle() }) { unsafe mdb_txn_abort(slot.handle) }
    // SAFETY: every transaction retains the environment, so none is left.
    unsafe mdb_env_close(handle)
    numbers.free()
  }

  /// Opens or makes the file at `path` and hands over the bare engine.
  ///
  /// - Parameters:
  ///   - path: The data file; the table of readers is the file beside it that ends in `-lock`.
  ///   - mapBytes: The size that documents may fill.
  ///   - flags: More of the engine's flags: a draft that nobody relies on yet may be written unsynced, and a file that nobody can
  ///     write to be read without a table of readers.
  /// - Returns: The handle, and the pages that documents may fill.
  /// - Throws: What the engine reports.
  static func openEngine(_ path: String, mapBytes: Int, flags: Int32 = 0) throws(StoreError) -> (
    handle: OpaquePointer, pageLimit: Int
  ) {
    if flags & MDB_NOLOCK == 0 { try ReaderTable.reserve(beside: path) }
    var handle: OpaquePointer?
    // SAFETY: each call fills locals only; on failure the half-made environment is closed and forgotten.
    try StoreError.check(unsafe mdb_env_create(&handle), "mdb_env_create")
    guard let handle = unsafe handle else { throw StoreError(engine: EINVAL, "mdb_env_create") }
    let size = mapSize(for: mapBytes)
    do {
      try StoreError.check(unsafe mdb_env_set_maxdbs(handle, Tables.maximumCount), "mdb_env_set_maxdbs")
      try StoreError.check(
        unsafe mdb_env_set_maxreaders(handle, ReaderTable.maximumReaders), "mdb_env_set_maxreaders")
      try StoreError.check(unsafe mdb_env_set_mapsize(handle, size.bytes), "mdb_env_set_mapsize")
      try StoreError.check(
        unsafe mdb_env_open(handle, path, UInt32(MDB_NOSUBDIR | MDB_NOTLS | flags), 0o600), "mdb_env_open")
      var stale: Int32 = 0
      try StoreError.check(unsafe mdb_reader_check(handle, &stale), "mdb_reader_check")
      return unsafe (handle, size.limit)
    } catch {
      unsafe mdb_env_close(handle)
      throw error
    }
  }

  /// The pages that documents may fill, and the bytes of the map with those kept for making room.
  static func mapSize(for mapBytes: Int) -> (limit: Int, bytes: Int) {
    let limit = max(min(mapBytes, greatestMapBytes) / pageBytes, 32)
    let reserve = min(max(limit / 16, reservePages.lowerBound), reservePages.upperBound)
    return (limit, (limit + reserve) * pageBytes)
  }

  /// No system has more address space.
  static let greatestMapBytes = 1 << 56

  static let pageBytes = Int(sysconf(Int32(_SC_PAGESIZE)))
}
