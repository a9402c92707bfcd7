import CLMDB
import Platform

extension Environment {
  /// Returns a snapshot of the last commit, which the caller gives back with `recycle`.
  ///
  /// - Parameters:
  ///   - place: The source location of the request.
  ///   - isExempt: Whether the snapshot may outlive the deadline for readers.
  ///   - isNested: Whether an open snapshot waits for this one. This one then begins even while new snapshots
  ///     are paused.
  /// - Returns: The slot. Only one thread at a time may use it.
  /// - Throws: `tooManyReaders`, or what the engine reports.
  func beginRead(
    at place: SourcePlace = .store, isExempt: Bool = true, isNested: Bool = false
  ) throws(StoreError) -> ReaderSlot {
    // Runs under the lock, so that a change of the map finds the snapshot either in the list or not begun.
    func begin(_ board: inout ReaderBoard) -> Result<ReaderSlot, StoreError>? {
      if let failure = board.failure { return .failure(failure) }
      guard !board.isPaused || isNested && !board.active.isEmpty else { return nil }
      do throws(StoreError) {
        let slot = try beginSlot(&board)
        board.begin(slot, at: place, now: monotonic(), isExempt: isExempt)
        return .success(slot)
      } catch {
        return .failure(error)
      }
    }
    if let result = readers.withLock(begin) { return try result.get() }
    // This ends: the thread that paused the readers resumes them after its own deadline.
    while true {
      if let result = readers.wait(until: begin) { return try result.get() }
    }
  }

  /// Begins a slot on the last commit.
  private func beginSlot(_ board: inout ReaderBoard) throws(StoreError) -> ReaderSlot {
    let slot = if let idle = board.takeIdle() { try renew(idle) } else { try makeReader(&board) }
    while true {
      let roots: TreeRoots?
      do {
        roots = try self.roots(of: slot.access.transactionNumber, &board)
      } catch {
        // SAFETY: the slot is in no list, so no other code has the handle.
        unsafe mdb_txn_abort(slot.handle)
        throw error
      }
      if let roots, let verifier = board.verifier {
        slot.snapshot.begin(verifier, roots)
        return slot
      }
      // Two commits have ended meanwhile and overwritten the meta page of this one.
      unsafe mdb_txn_reset(slot.handle)
      _ = try renew(slot)
    }
  }

  /// Sets the catalogue of all later snapshots; call it before the commit that needs it.
  func publish(_ catalogue: Catalogue) { readers.withLock { $0.catalogue = catalogue } }

  /// Stores the log's state for snapshots of the last commit, so that they need not read it.
  ///
  /// Only the writer calls this, because only the writer knows which commit is the last.
  func publish(_ log: LogState) {
    var info = unsafe MDB_envinfo()
    // SAFETY: the call fills the local structure.
    guard unsafe mdb_env_info(handle, &info) == MDB_SUCCESS else { return }
    let number = unsafe UInt64(info.me_last_txnid)
    let known = KnownLog(number, log)
    readers.withLock { $0.last = known }
  }

  private func renew(_ slot: ReaderSlot) throws(StoreError) -> ReaderSlot {
    let rc = unsafe mdb_txn_renew(slot.handle)
    if rc != MDB_SUCCESS {
      // SAFETY: the slot was removed from the list, so no other code has the handle.
      unsafe mdb_txn_abort(slot.handle)
      throw StoreError(engine: rc, "mdb_txn_renew")
    }
    return slot
  }

  private func makeReader(_ board: inout ReaderBoard) throws(StoreError) -> ReaderSlot {
    guard let verifier = board.verifier else {
      throw StoreError(.closed, "The store is closed", operation: "read")
    }
    var transaction: OpaquePointer?
    // SAFETY: the call only fills the local handle.
    let rc = unsafe mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
    try StoreError.check(rc, "mdb_txn_begin")
    guard let transaction = unsafe transaction else { throw StoreError(engine: EINVAL, "mdb_txn_begin") }
    let roots = board.roots ?? TreeRoots.none
    return unsafe ReaderSlot(transaction, VerifiedSnapshot(verifier, roots, isWriting: false))
  }

  /// Ends a snapshot and keeps its slot for the next one.
  func recycle(_ slot: ReaderSlot) {
    // SAFETY: the caller gives up the slot, which stays in the list until the engine has released the pages.
    unsafe mdb_txn_reset(slot.handle)
    let isKept = readers.withLock(wake: true) { board in
      board.end(slot)
      return board.keep(slot)
    }
    if !isKept { unsafe mdb_txn_abort(slot.handle) }
  }

  /// Changes the size of the map while no transaction reads or writes.
  ///
  /// The caller is the writer, so no other thread writes.
  /// - Parameters:
  ///   - mapBytes: The size that documents may fill.
  ///   - deadline: How long to wait for open readers; new readers wait meanwhile.
  /// - Throws: `argument`; `deadline` if readers do not end in time; `limit` if the store uses more pages;
  ///   `noMemory` if the process cannot reserve that much, and then nothing changes; what the engine reports.
  func resize(to mapBytes: Int, deadline: Duration) throws(StoreError) {
    guard mapBytes > 0 else {
      throw StoreError(.argument, "mapBytes is \(mapBytes) and must be above 0", operation: "resize")
    }
    readers.withLock { $0.isPaused = true }
    defer { readers.withLock(wake: true) { $0.isPaused = false } }
    let idle = readers.wait(for: deadline) { board in board.active.isEmpty ? board.takeAllIdle() : nil }
    guard let idle else {
      let place = readers.withLock { $0.oldest?.place.text } ?? "an unknown place"
      throw StoreError(
        .deadline, "The store cannot be resized while the snapshot taken at \(place) is open",
        operation: "resize")
    }
    // SAFETY: idle slots have no user, and new snapshots wait.
    for slot in idle { unsafe mdb_txn_abort(slot.handle) }
    let size = Self.mapSize(for: mapBytes, pageBytes: pageBytes)
    var info = unsafe MDB_envinfo()
    try StoreError.check(unsafe mdb_env_info(handle, &info), "mdb_env_info")
    guard unsafe size.limit > info.me_last_pgno else {
      throw StoreError(.limit, "The store has more pages than the new size has room for", operation: "resize")
    }
    // The engine first unmaps the old map, and has no map if it cannot create the new one.
    guard space.canReserve(max(unsafe size.bytes - Int(info.me_mapsize), 0), pageBytes: pageBytes) else {
      throw StoreError(
        .noMemory, "The process cannot have \(AddressSpace.text(mapBytes)) of address space for the store",
        operation: "resize")
    }
    do throws(StoreError) {
      // The map may be at another address afterwards, so all verification results are dropped.
      readers.withLock { ($0.verifier, $0.roots) = (nil, nil) }
      try StoreError.check(unsafe mdb_env_set_mapsize(handle, size.bytes), "mdb_env_set_mapsize")
      let verifier = try unsafe Self.makeVerifier(handle, pageBytes: pageBytes, options, damagedIndexes)
      let roots = try verifier.open()
      readers.withLock { ($0.verifier, $0.roots) = (verifier, roots) }
    } catch {
      readers.withLock { $0.failure = error }
      throw error
    }
    limit.withLock { $0 = size.limit }
  }
}
