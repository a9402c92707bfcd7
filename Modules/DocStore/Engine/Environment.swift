import CLMDB
import Platform

/// An open LMDB environment; the last transaction that releases it closes it and releases its lock.
///
/// Mode: synchronous commits, no write map, read-ahead left to the system, readers not tied to threads.
// SAFETY: LMDB environments may be used from any thread; the pool is guarded, and the rest never changes.
@safe final class Environment: @unchecked Sendable {
  let handle: OpaquePointer
  let tables: Tables
  /// The file's page size, which need not be the system's.
  let pageBytes: Int
  /// The process that may use the environment; a fork must not.
  let processID: pid_t
  /// The pages that documents may fill; a few more are reserved for evictions when these are used up.
  let limit: Monitor<Int>
  /// The requested size; the map is smaller if the process could not reserve that much.
  let askedBytes: Int
  let space: AddressSpace
  /// The file's page count from which the map should grow again.
  let growth = Monitor(0)
  let lock: StoreLock
  let readers = Monitor(ReaderBoard())
  let numbers: NumberCache
  let options: StoreOptions
  let damagedIndexes: DamagedIndexes
  /// The clock that measures the age of snapshots.
  let monotonic: @Sendable () -> Duration

  var pageLimit: Int { limit.withLock { $0 } }

  private static let reservePages = 32...4_096

  /// Opens the data file at `path`, which must exist.
  ///
  /// - Parameters:
  ///   - path: The data file.
  ///   - mapBytes: The size that documents may fill; by default that of the options.
  ///   - lock: The store's lock, released with the environment; it says whether the store is only read.
  ///   - options: The store's other options.
  ///   - damagedIndexes: Records damaged pages of rows.
  /// - Throws: `corrupt`, `unsupportedVersion`, or what the engine reports.
  init(
    _ path: String, mapBytes: Int? = nil, lock: StoreLock, options: StoreOptions,
    damagedIndexes: DamagedIndexes = DamagedIndexes()
  ) throws(StoreError) {
    pageBytes = try PageCheck.checkSize(path)
    let contents = StoreFiles.byteCount(of: path)
    let isReadOnly = lock.isReadOnly
    // A store that nobody writes to needs no room to grow.
    let asked = isReadOnly ? max(contents, 1) : mapBytes ?? options.mapBytes
    let space = AddressSpace(leastMapBytes: options.leastMapBytes, trial: options.reservesAddressSpace)
    // There are no writers, so readers need not register what they read.
    let engine = try unsafe Self.openEngine(
      path, upTo: asked, contents: contents, in: space,
      pageBytes: pageBytes, flags: isReadOnly ? MDB_RDONLY | MDB_NOLOCK : 0)
    self.space = space
    askedBytes = min(asked, Self.greatestMapBytes)
    let verifier: PageVerifier
    let roots: TreeRoots
    do {
      try unsafe PageCheck.run(
        on: engine.handle, path, pageBytes: pageBytes, isReadOnly: isReadOnly)
      verifier = try unsafe Self.makeVerifier(
        engine.handle, pageBytes: pageBytes, filePages: isReadOnly ? contents / pageBytes : .max, options,
        damagedIndexes)
      roots = try verifier.open()
      tables = try unsafe Self.openTables(engine.handle, verifier, roots)
    } catch {
      // SAFETY: no other code has the handle yet.
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

  /// Opens the tables in a read-only transaction.
  private static func openTables(
    _ engine: OpaquePointer, _ verifier: PageVerifier, _ roots: TreeRoots
  ) throws(StoreError) -> Tables {
    var handle: OpaquePointer?
    // SAFETY: the call only fills the local handle, which is committed or aborted below.
    try StoreError.check(unsafe mdb_txn_begin(engine, nil, UInt32(MDB_RDONLY), &handle), "mdb_txn_begin")
    guard let handle = unsafe handle else { throw StoreError(engine: EINVAL, "mdb_txn_begin") }
    let snapshot = VerifiedSnapshot(verifier, roots, isWriting: false)
    let access = unsafe PageAccess(handle, snapshot)
    do throws(StoreError) {
      // A newer format may have other tables, so the version is checked first.
      let meta = try access.open("meta", create: false)
      try StoreIdentity.checkFormat(access, meta)
      let tables = try Tables(access, create: false)
      // Table handles remain valid only if their transaction is committed.
      try StoreError.check(unsafe mdb_txn_commit(handle), "mdb_txn_commit")
      return withExtendedLifetime(snapshot) { tables }
    } catch {
      unsafe mdb_txn_abort(handle)
      throw error
    }
  }

  /// The size that documents may fill.
  var mapBytes: Int { pageLimit * pageBytes }

  /// The number of the file's pages that commits have used so far.
  func pageCount() throws(StoreError) -> Int { try unsafe Self.pageCount(of: handle) }

  /// The number of pages with which the engine begins a file.
  static let metaPages = 2

  /// The number of pages that the last commit may refer to.
  private static func pageCount(of handle: OpaquePointer) throws(StoreError) -> Int {
    var info = unsafe MDB_envinfo()
    // SAFETY: the call fills the local structure.
    try StoreError.check(unsafe mdb_env_info(handle, &info), "mdb_env_info")
    return unsafe info.me_last_pgno + 1
  }

  /// The data file's descriptor, which the engine still owns.
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
    // SAFETY: every transaction retains the environment, so none is open now.
    unsafe mdb_env_close(handle)
    numbers.free()
  }

  /// Opens or creates the file at `path` and returns the engine's handle.
  ///
  /// - Parameters:
  ///   - path: The data file; the reader table is the file beside it that ends in `-lock`.
  ///   - mapBytes: The size that documents may fill.
  ///   - pageBytes: The file's page size.
  ///   - flags: Additional flags for the engine. A draft that nothing depends on yet may be written without
  ///     syncs. A read-only file may be opened without a reader table.
  /// - Returns: The handle, and the number of pages that documents may fill.
  /// - Throws: What the engine reports.
  static func openEngine(
    _ path: String, mapBytes: Int, pageBytes: Int = PageSize.made, flags: Int32 = 0
  ) throws(StoreError) -> (handle: OpaquePointer, pageLimit: Int) {
    if flags & MDB_NOLOCK == 0 { try ReaderTable.reserve(beside: path) }
    var handle: OpaquePointer?
    // SAFETY: each call fills locals only; after a failure the incomplete environment is closed.
    try StoreError.check(unsafe mdb_env_create(&handle), "mdb_env_create")
    guard let handle = unsafe handle else { throw StoreError(engine: EINVAL, "mdb_env_create") }
    let size = mapSize(for: mapBytes, pageBytes: pageBytes)
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

  /// The number of pages that documents may fill, and the map's bytes including the reserve.
  ///
  /// The map is a multiple of the system's pages, which may be larger than the file's.
  static func mapSize(for mapBytes: Int, pageBytes: Int) -> (limit: Int, bytes: Int) {
    let limit = max(min(mapBytes, greatestMapBytes) / pageBytes, 32)
    let reserve = min(max(limit / 16, reservePages.lowerBound), reservePages.upperBound)
    let pages = ((limit + reserve) * pageBytes + PageSize.system - 1) / PageSize.system
    return (limit, pages * PageSize.system)
  }

  /// The largest map; no system has more address space.
  static let greatestMapBytes = 1 << 56
}
