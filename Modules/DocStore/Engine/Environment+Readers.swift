import CLMDB
import Platform

extension Environment {
  /// A snapshot of the last commit; give it back with `recycle`.
  ///
  /// - Parameters:
  ///   - place: Where it was asked for.
  ///   - isExempt: Whether it may outlive the deadline for readers.
  ///   - isNested: Whether a snapshot that others may wait for waits for this one: it then begins beside that.
  /// - Returns: The slot, to be used by one thread at a time.
  /// - Throws: `tooManyReaders`, or what the engine reports.
  func beginRead(
    at place: SourcePlace = .store, isExempt: Bool = true, isNested: Bool = false
  ) throws(StoreError) -> ReaderSlot {
    // Under the lock, so that a change of the map sees either a snapshot in the list or none at all.
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
    // Never without an end: whoever paused the readers lets them go on after a deadline of its own.
    while true {
      if let result = readers.wait(until: begin) { return try result.get() }
    }
  }

  /// Begins on the last commit.
  private func beginSlot(_ board: inout ReaderBoard) throws(StoreError) -> ReaderSlot {
    let slot = if let idle = board.takeIdle() { try renew(idle) } else { try makeReader(&board) }
    while true {
      let roots: TreeRoots?
      do {
        roots = try self.roots(of: slot.access.transactionNumber, &board)
      } catch {
        // SAFETY: the slot is on no list, so nobody else has the handle.
        unsafe mdb_txn_abort(slot.handle)
        throw error
      }
      if let roots, let verifier = board.verifier {
        slot.snapshot.begin(verifier, roots)
        return slot
      }
      // Two commits have come meanwhile, and taken the place that told of this one.
      unsafe mdb_txn_reset(slot.handle)
      _ = try renew(slot)
    }
  }

  /// Gives snapshots from now on a catalogue: before the commit that needs it.
  func publish(_ catalogue: Catalogue) { readers.withLock { $0.catalogue = catalogue } }

  /// Spares the snapshots of the last commit to read where it left the log; for the writer, who alone knows which
  /// the last one is.
  func publish(_ log: LogState) {
    var info = unsafe MDB_envinfo()
    // SAFETY: the call fills the local structure.
    guard unsafe mdb_env_info(handle, &info) == MDB_SUCCESS else { return }
    let number = unsafe UInt64(info.me_last_txnid)
    readers.withLock { $0.last = (number, log) }
  }

  private func renew(_ slot: ReaderSlot) throws(StoreError) -> ReaderSlot {
    let rc = unsafe mdb_txn_renew(slot.handle)
    if rc != MDB_SUCCESS {
      // SAFETY: the slot was taken off the list, so nobody else has the handle.
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

  /// Ends a snapshot, keeping its slot for the next one.
  func recycle(_ slot: ReaderSlot) {
    // SAFETY: the caller gives up its loan, and is on the list until the engine has let go of the pages.
    unsafe mdb_txn_reset(slot.handle)
    let isKept = readers.withLock(wake: true) { board in
      board.end(slot)
      return board.keep(slot)
    }
    if !isKept { unsafe mdb_txn_abort(slot.handle) }
  }

  /// Gives the environment another size, at a moment when nobody reads and, since the caller is the
  /// writer, nobody writes.
  ///
  /// - Parameters:
  ///   - mapBytes: The size that documents may fill.
  ///   - deadline: How long to wait for readers, while new ones wait too.
  /// - Throws: `argument`; `deadline` when readers stay; `limit` when more is in use; `noMemory` when the process cannot
  ///   have so much, and all is as before; what the engine reports.
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
    // SAFETY: idle slots belong to nobody, and new snapshots wait.
    for slot in idle { unsafe mdb_txn_abort(slot.handle) }
    let size = Self.mapSize(for: mapBytes)
    var info = unsafe MDB_envinfo()
    try StoreError.check(unsafe mdb_env_info(handle, &info), "mdb_env_info")
    guard unsafe size.limit > info.me_last_pgno else {
      throw StoreError(.limit, "The store has more pages than the new size has room for", operation: "resize")
    }
    // The engine gives its map up first, and has none if it cannot have the new one.
    guard space.canReserve(max(unsafe size.bytes - Int(info.me_mapsize), 0)) else {
      throw StoreError(
        .noMemory, "The process cannot have \(AddressSpace.text(mapBytes)) of address space for the store",
        operation: "resize")
    }
    do throws(StoreError) {
      // The map may be elsewhere afterwards, and nothing is known of its pages then.
      readers.withLock { ($0.verifier, $0.roots) = (nil, nil) }
      try StoreError.check(unsafe mdb_env_set_mapsize(handle, size.bytes), "mdb_env_set_mapsize")
      let verifier = try unsafe Self.makeVerifier(handle, options, damagedIndexes)
      let roots = try verifier.open()
      readers.withLock { ($0.verifier, $0.roots) = (verifier, roots) }
    } catch {
      readers.withLock { $0.failure = error }
      throw error
    }
    limit.withLock { $0 = size.limit }
  }
}
