import CLMDB
import CRDTCore
import Platform

extension Environment {
  /// Creates the verifier that checks the pages of the engine's map.
  ///
  /// No transaction may write meanwhile.
  ///
  /// - Parameters:
  ///   - engine: The open environment.
  ///   - pageBytes: The file's page size.
  ///   - filePages: The number of pages of the file, if the file may be shorter than its last commit says.
  ///   - options: The store's options.
  ///   - damagedIndexes: Records damaged pages of rows.
  /// - Returns: The verifier.
  /// - Throws: `corrupt`; what the engine reports.
  static func makeVerifier(
    _ engine: OpaquePointer, pageBytes: Int, filePages: Int = .max, _ options: StoreOptions,
    _ damagedIndexes: DamagedIndexes
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
    // The system maps a file at its own pages, which may be smaller than the file's.
    guard UInt(bitPattern: base) % UInt(PageSize.smallest) == 0 else {
      throw StoreError(.io, "The engine's map is not where its tables are", operation: "open")
    }
    return unsafe PageVerifier(
      base: base, pageBytes: pageBytes, mapPages: info.me_mapsize / pageBytes,
      openedPages: info.me_last_pgno + 1, filePages: filePages,
      trustsPages: options.trustsPages
    ) { damaged, isTold in
      if damaged.table.isSame(as: StoreTable.rows.name) {
        damagedIndexes.note(from: damaged.from, to: damaged.to)
      }
      if isTold { options.write(.error, StoreError(damaged, operation: "read").message) }
    }
  }

  /// The memory address of the first table's name, from which the start of the engine's map follows.
  private static func addressOfFirstTable(_ engine: OpaquePointer) throws(StoreError) -> UnsafeRawPointer {
    let listOfTables: MDB_dbi = 1
    var transaction: OpaquePointer?
    var cursor: OpaquePointer?
    var key = unsafe MDB_val()
    var value = unsafe MDB_val()
    // SAFETY: the calls fill locals only; the cursor and the transaction are closed below. The path to the
    // first table was checked before.
    try StoreError.check(unsafe mdb_txn_begin(engine, nil, UInt32(MDB_RDONLY), &transaction), "mdb_txn_begin")
    defer { unsafe mdb_txn_abort(transaction) }
    try StoreError.check(unsafe mdb_cursor_open(transaction, listOfTables, &cursor), "mdb_cursor_open")
    defer { unsafe mdb_cursor_close(cursor) }
    try StoreError.check(unsafe mdb_cursor_get(cursor, &key, &value, MDB_FIRST), "mdb_cursor_get")
    guard let address = unsafe key.mv_data else { throw StoreError(engine: EINVAL, "mdb_cursor_get") }
    return UnsafeRawPointer(address)
  }

  // MARK: - Snapshots

  /// The trees of the commit on which one of the engine's readers has begun.
  ///
  /// Call it under the readers' lock.
  /// - Returns: `nil` if the commit is no longer the last one. The caller should then begin on the new one.
  func roots(of number: UInt64, _ board: inout ReaderBoard) throws(StoreError) -> TreeRoots? {
    if let roots = board.roots, roots.number == number { return roots }
    guard let verifier = board.verifier else {
      throw StoreError(.closed, "The store is closed", operation: "read")
    }
    // This process records its commits before it clears the flag, and under this lock.
    if !board.isCommitting { verifier.forget(through: number - 1) }
    return try verifier.roots(of: number)
  }

  // MARK: - Commits

  /// The commit on which the transaction with this number builds.
  ///
  /// Its lists of tables and of free pages are verified.
  func prepareWrite(_ number: UInt64) throws(StoreError) -> VerifiedSnapshot {
    let (verifier, known) = readers.withLock { ($0.verifier, $0.roots) }
    guard let verifier else { throw StoreError(.closed, "The store is closed", operation: "write") }
    if let known, known.number == number - 1 { return VerifiedSnapshot(verifier, known, isWriting: true) }
    // Another process has written, or the trees of the last commit could not be read.
    verifier.forget(through: number - 2)
    guard let roots = try verifier.roots(of: number - 1) else {
      throw StoreError(.corrupt, "The store's file does not say where its tables are", operation: "write")
    }
    try verifier.readFreePages(roots, all: true)
    readers.withLock { $0.roots = roots }
    return VerifiedSnapshot(verifier, roots, isWriting: true)
  }

  /// Informs readers that a commit is in progress.
  func willCommit() { readers.withLock { $0.isCommitting = true } }

  /// Records which pages a commit wrote and freed, before the next commit can reuse them.
  ///
  /// - Parameters:
  ///   - number: The commit's number.
  ///   - isDone: Whether the engine has committed.
  ///   - base: The commit on which it was built.
  func didCommit(_ number: UInt64, _ isDone: Bool, on base: VerifiedSnapshot) {
    let (verifier, known) = readers.withLock { ($0.verifier, $0.roots) }
    var roots = known
    // A commit that changed nothing has written no trees.
    if isDone, let verifier {
      do throws(StoreError) {
        if let new = try verifier.roots(of: number, on: base) {
          if let changed = base.preparation?.changedTables { verifier.noteWritten(new, on: base, changed) }
          try verifier.readFreePages(new)
          roots = new
        }
      } catch {
        // The next transaction reads them again, and fails if they are damaged.
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
  /// The location of a tree's first entry; `nil` if a page on the path to it is damaged.
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
