import CLMDB
import CRDTCore
import Platform

extension Environment {
  /// Makes what looks at the pages of the engine's map.
  ///
  /// Nobody writes meanwhile.
  static func makeVerifier(
    _ engine: OpaquePointer, _ options: StoreOptions, _ damagedIndexes: DamagedIndexes
  ) throws(StoreError) -> PageVerifier {
    var info = unsafe MDB_envinfo()
    var descriptor: Int32 = -1
    // SAFETY: the calls fill the local values.
    try StoreError.check(unsafe mdb_env_info(engine, &info), "mdb_env_info")
    try StoreError.check(unsafe mdb_env_get_fd(engine, &descriptor), "mdb_env_get_fd")
    guard let file = PageFile(descriptor, damaged: { _ in }),
      let first = file.firstEntry(of: file.meta.tables)
    else {
      throw StoreError(.corrupt, "The store's file does not say where its tables are", operation: "open")
    }
    let address = try unsafe addressOfFirstTable(engine)
    let base = unsafe address - (first.page * pageBytes + first.keyOffset)
    guard UInt(bitPattern: base) % UInt(pageBytes) == 0 else {
      throw StoreError(.io, "The engine's map is not where its tables are", operation: "open")
    }
    return unsafe PageVerifier(
      base: base, mapPages: info.me_mapsize / pageBytes, openedPages: info.me_last_pgno + 1,
      trustsPages: options.trustsPages
    ) { damaged, isTold in
      if damaged.table.isSame(as: StoreTable.rows.name) {
        damagedIndexes.note(from: damaged.from, to: damaged.to)
      }
      if isTold { options.write(.error, StoreError(damaged, operation: "read").message) }
    }
  }

  /// Where in memory the name of the first table stands, which tells where the engine's map begins.
  private static func addressOfFirstTable(_ engine: OpaquePointer) throws(StoreError) -> UnsafeRawPointer {
    let listOfTables: MDB_dbi = 1
    var transaction: OpaquePointer?
    var cursor: OpaquePointer?
    var key = unsafe MDB_val()
    var value = unsafe MDB_val()
    // SAFETY: the calls fill locals only; what was opened is given back below. The way to the first table was
    // looked at before.
    try StoreError.check(unsafe mdb_txn_begin(engine, nil, UInt32(MDB_RDONLY), &transaction), "mdb_txn_begin")
    defer { unsafe mdb_txn_abort(transaction) }
    try StoreError.check(unsafe mdb_cursor_open(transaction, listOfTables, &cursor), "mdb_cursor_open")
    defer { unsafe mdb_cursor_close(cursor) }
    try StoreError.check(unsafe mdb_cursor_get(cursor, &key, &value, MDB_FIRST), "mdb_cursor_get")
    guard let address = unsafe key.mv_data else { throw StoreError(engine: EINVAL, "mdb_cursor_get") }
    return UnsafeRawPointer(address)
  }

  // MARK: - Snapshots

  /// The trees of the commit that a reader of the engine's has begun on.
  ///
  /// Called under the readers' lock.
  /// - Returns: `nil` when the commit is no longer the last one, so that another one should be begun on.
  func roots(of number: UInt64, _ board: inout ReaderBoard) throws(StoreError) -> TreeRoots? {
    if let roots = board.roots, roots.number == number { return roots }
    guard let verifier = board.verifier else {
      throw StoreError(.closed, "The store is closed", operation: "read")
    }
    // Commits of this process are noted before the flag goes, and under this lock.
    if !board.isCommitting { verifier.forget(through: number - 1) }
    return try verifier.roots(of: number)
  }

  // MARK: - Commits

  /// The commit that a transaction with this number builds on, whose lists of tables and free pages are verified.
  func prepareWrite(_ number: UInt64) throws(StoreError) -> VerifiedSnapshot {
    let (verifier, known) = readers.withLock { ($0.verifier, $0.roots) }
    guard let verifier else { throw StoreError(.closed, "The store is closed", operation: "write") }
    if let known, known.number == number - 1 { return VerifiedSnapshot(verifier, known, isWriting: true) }
    // Somebody else has written, or what the last commit left could not be read.
    verifier.forget(through: number - 2)
    guard let roots = try verifier.roots(of: number - 1) else {
      throw StoreError(.corrupt, "The store's file does not say where its tables are", operation: "write")
    }
    try verifier.readFreePages(roots, all: true)
    readers.withLock { $0.roots = roots }
    return VerifiedSnapshot(verifier, roots, isWriting: true)
  }

  /// Lets readers know that a commit is under way.
  func willCommit() { readers.withLock { $0.isCommitting = true } }

  /// Takes note of what a commit freed, before the next one can use it again.
  func didCommit(_ number: UInt64, _ isDone: Bool) {
    let (verifier, known) = readers.withLock { ($0.verifier, $0.roots) }
    var roots = known
    // One that changed nothing has left no trace.
    if isDone, let verifier {
      do throws(StoreError) {
        if let new = try verifier.roots(of: number) {
          try verifier.readFreePages(new)
          roots = new
        }
      } catch {
        // The next transaction looks again, and fails if it must.
        roots = nil
      }
    }
    readers.withLock { board in
      board.roots = roots
      board.isCommitting = false
    }
  }
}

extension PageFile {
  /// Where the first entry of a tree stands; `nil` where the way there is damaged.
  func firstEntry(of tree: Tree) -> (page: Int, keyOffset: Int)? {
    var number = tree.root
    for _ in 0..<tree.depth {
      guard let bytes = pages(number) else { return nil }
      let offset = bytes.number16(Self.headerBytes)
      if bytes.number16(10) == TreePage.Flag.leaf { return (number, offset + MappedPage.nodeBytes) }
      number = bytes.number16(offset) | bytes.number16(offset + 2) << 16 | bytes.number16(offset + 4) << 32
    }
    return nil
  }
}
