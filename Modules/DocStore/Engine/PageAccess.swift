import CLMDB
import CRDTCore

/// Reads and writes pages under a transaction that another object keeps open.
///
/// Values are passed in place, to closures only: a span of mapped memory cannot outlive the call. A read
/// transaction walks the verified pages itself. A write transaction verifies pages before the engine walks
/// them.
@safe struct PageAccess {
  // SAFETY: the code that creates a PageAccess does not use it after its transaction has ended.
  let handle: OpaquePointer
  /// Records which pages are verified; `nil` for a draft that this process writes.
  // SAFETY: the object that keeps the transaction open owns it.
  private let owned: Unmanaged<VerifiedSnapshot>?

  init(_ handle: OpaquePointer, _ snapshot: VerifiedSnapshot?) {
    unsafe self.handle = handle
    unsafe owned = snapshot.map { unsafe Unmanaged.passUnretained($0) }
  }

  @inline(__always)
  private var snapshot: VerifiedSnapshot? { unsafe owned?.takeUnretainedValue() }

  /// The access of a transaction that is nested in this one.
  func nested(_ handle: OpaquePointer) -> PageAccess { unsafe PageAccess(handle, snapshot) }

  /// The snapshot of a read-only transaction; `nil` in a write transaction.
  @inline(__always)
  var reading: VerifiedSnapshot? {
    guard let snapshot = snapshot, snapshot.preparation == nil else { return nil }
    return snapshot
  }

  /// The snapshot through which a table can be read without the engine.
  ///
  /// A write transaction has one too, as long as it has not changed the table.
  @inline(__always)
  func unchanged(_ table: MDB_dbi) -> VerifiedSnapshot? {
    guard let snapshot = snapshot, let preparation = snapshot.preparation else { return snapshot }
    return preparation.isChanged(StoreTable(table)) ? nil : snapshot
  }

  /// The commit on which a write transaction builds.
  var writing: VerifiedSnapshot? {
    guard let snapshot = snapshot, snapshot.preparation != nil else { return nil }
    return snapshot
  }

  /// Verifies the pages that the engine needs to look up or write `key`.
  ///
  /// - Returns: Whether the entry at the key must be checked before the caller relies on it.
  @discardableResult
  @inline(__always)
  func prepare(
    _ table: MDB_dbi, _ key: RawSpan, for use: WriteUse = .path
  ) throws(StoreError) -> Bool {
    guard let snapshot = snapshot, let preparation = snapshot.preparation else { return false }
    return try preparation.prepare(snapshot, StoreTable(table), key, for: use)
  }

  /// The file's page size; a draft has the size of the files that this system makes.
  var pageBytes: Int { snapshot?.pageBytes ?? PageSize.made }

  /// The engine's number of the transaction, or of the commit that it reads.
  var transactionNumber: UInt64 { unsafe UInt64(mdb_txn_id(handle)) }

  /// Passes the bytes at `key` to `body`, which is not called if there are none.
  func withValue<R>(_ table: MDB_dbi, _ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R? {
    if let snapshot = unchanged(table) {
      var cursor = TreeCursor(snapshot, StoreTable(table))
      let isThere = try cursor.find(key)
      snapshot.preparation?.note(cursor.page, of: cursor.table)
      guard isThere else {
        try cursor.checkAbsence()
        return nil
      }
      return try body(cursor.value)
    }
    let isSuspect = try prepare(table, key, for: .looking)
    // SAFETY: mdb_get reads the key during the call only and never writes through it. The value stays in
    // place until the transaction ends or writes again, and neither happens while `body` runs.
    return try unsafe key.withUnsafeBytes { bytes in
      var name = unsafe MDB_val(
        mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      var found = unsafe MDB_val()
      let rc = unsafe mdb_get(handle, table, &name, &found)
      if rc == MDB_NOTFOUND {
        if isSuspect { throw StoreError.damagedEntry(StoreTable(table)) }
        return nil
      }
      try StoreError.check(rc, "mdb_get")
      return try unsafe body(
        RawSpan(_unsafeStart: UnsafeRawPointer(found.mv_data), byteCount: found.mv_size))
    }
  }

  /// Whether there is an entry at `key`.
  func contains(_ table: MDB_dbi, _ key: RawSpan) throws(StoreError) -> Bool {
    if let snapshot = unchanged(table) {
      // The value is not read.
      var cursor = TreeCursor(snapshot, StoreTable(table), readsEntries: snapshot.preparation == nil)
      let isThere = try cursor.find(key)
      snapshot.preparation?.note(cursor.page, of: cursor.table)
      if !isThere { try cursor.checkAbsence() }
      return isThere
    }
    let isSuspect = try prepare(table, key, for: .looking)
    // SAFETY: mdb_get reads the key during the call only; the value is not read.
    let rc = unsafe key.withUnsafeBytes { bytes in
      var name = unsafe MDB_val(
        mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      var found = unsafe MDB_val()
      return unsafe mdb_get(handle, table, &name, &found)
    }
    if rc == MDB_NOTFOUND {
      if isSuspect { throw StoreError.damagedEntry(StoreTable(table)) }
      return false
    }
    try StoreError.check(rc, "mdb_get")
    return true
  }

  /// How a value is put where other entries may exist.
  enum Putting {
    /// Replaces an existing entry.
    case replacing
    /// Only if no entry exists.
    case ifAbsent
    /// Only behind all other entries of the table, whose pages are left full.
    case behindAll
  }

  /// Stores `byteCount` bytes at `key`, which `fill` writes in place.
  ///
  /// - Returns: `false` if there is an entry at the key, or behind it, that `putting` forbids.
  @discardableResult
  func put(
    _ table: MDB_dbi, _ key: RawSpan, byteCount: Int, _ putting: Putting = .replacing,
    fill: (UnsafeMutableRawBufferPointer) -> Void
  ) throws(StoreError) -> Bool {
    try prepare(table, key, for: putting == .replacing ? .replacing : .adding)
    if putting == .behindAll { try prepareEnd(table) }
    let flags =
      switch putting {
      case .replacing: UInt32(MDB_RESERVE)
      case .ifAbsent: UInt32(MDB_RESERVE | MDB_NOOVERWRITE)
      case .behindAll: UInt32(MDB_RESERVE | MDB_APPEND)
      }
    // SAFETY: with MDB_RESERVE the engine returns `byteCount` writable bytes, valid until the next update.
    let rc = unsafe key.withUnsafeBytes { bytes in
      var name = unsafe MDB_val(
        mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      var room = unsafe MDB_val(mv_size: byteCount, mv_data: nil)
      let rc = unsafe mdb_put(handle, table, &name, &room, flags)
      if rc == MDB_SUCCESS {
        unsafe fill(UnsafeMutableRawBufferPointer(start: room.mv_data, count: byteCount))
      }
      return rc
    }
    if rc == MDB_KEYEXIST { return false }
    try StoreError.check(rc, "mdb_put")
    return true
  }

  /// Stores a value behind all other entries of the table, whose keys must be smaller.
  func append(_ table: MDB_dbi, _ key: RawSpan, _ value: RawSpan) throws(StoreError) {
    try prepareEnd(table)
    // SAFETY: mdb_put reads key and value during the call only.
    let rc = unsafe key.withUnsafeBytes { key in
      unsafe value.withUnsafeBytes { value in
        var name = unsafe MDB_val(
          mv_size: key.count, mv_data: UnsafeMutableRawPointer(mutating: key.baseAddress))
        var bytes = unsafe MDB_val(
          mv_size: value.count, mv_data: UnsafeMutableRawPointer(mutating: value.baseAddress))
        return unsafe mdb_put(handle, table, &name, &bytes, UInt32(MDB_APPEND))
      }
    }
    if rc == MDB_KEYEXIST {
      throw StoreError(
        .corrupt, "The keys of a table are out of order", operation: "mdb_put", underlying: rc)
    }
    try StoreError.check(rc, "mdb_put")
  }

  /// Removes the entry at `key`.
  ///
  /// - Returns: `false` if there was none.
  @discardableResult
  func delete(_ table: MDB_dbi, _ key: RawSpan) throws(StoreError) -> Bool {
    try prepare(table, key, for: .neighbours)
    // SAFETY: mdb_del reads the key during the call only.
    let rc = unsafe key.withUnsafeBytes { bytes in
      var name = unsafe MDB_val(
        mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      return unsafe mdb_del(handle, table, &name, nil)
    }
    if rc == MDB_NOTFOUND { return false }
    try StoreError.check(rc, "mdb_del")
    return true
  }

  /// Verifies the pages on the engine's path to the last entry of a table.
  private func prepareEnd(_ table: MDB_dbi) throws(StoreError) {
    guard let snapshot = writing else { return }
    try snapshot.preparation?.prepareEnd(snapshot, StoreTable(table))
  }

  /// Visits pairs in the order of their keys, from `start` on, until `body` returns `false`.
  @inline(__always)
  func scan(_ table: MDB_dbi, from start: RawSpan, _ body: (RawSpan, RawSpan) throws -> Bool) throws {
    try scan(table, from: start, ahead: 0) { key, value, _ in try body(key, value) }
  }

  /// Visits pairs in key order and prefetches the values on the next page meanwhile.
  ///
  /// Of each value, `ahead` bytes are likely to be read. `body` also gets whether the entry must be checked
  /// before the caller relies on it.
  @inline(__always)
  func scan(
    _ table: MDB_dbi, from start: RawSpan, ahead: Int,
    _ body: (_ key: RawSpan, _ value: RawSpan, _ isSuspect: Bool) throws -> Bool
  ) throws {
    guard let snapshot = unchanged(table) else { return try scanByEngine(table, from: start, body) }
    var cursor = TreeCursor(snapshot, StoreTable(table))
    if start.byteCount == 0 { try cursor.go() } else { _ = try cursor.seek(start) }
    while !cursor.isAtEnd {
      if ahead > 0 { Self.prefetch(cursor.value, ahead, pageBytes: snapshot.pageBytes) }
      guard try body(cursor.key, cursor.value, cursor.isSuspect) else { return }
      try cursor.advance()
    }
  }

  /// Visits pairs in key order and continues behind damaged pages, see ``TreeCursor/passOver(after:_:)``.
  @inline(__always)
  func scan(
    _ table: MDB_dbi, from start: RawSpan, missed: (StoreError) throws(StoreError) -> Bool,
    _ body: (RawSpan, RawSpan) throws -> Bool
  ) throws {
    guard let snapshot = unchanged(table) else { return try scan(table, from: start, body) }
    var cursor = TreeCursor(snapshot, StoreTable(table))
    do throws(StoreError) { _ = try cursor.seek(start) } catch {
      try cursor.passOver(after: error, missed)
    }
    while !cursor.isAtEnd {
      guard try body(cursor.key, cursor.value) else { return }
      do throws(StoreError) { try cursor.advance() } catch { try cursor.passOver(after: error, missed) }
    }
  }

  /// Visits pairs through the engine, for a table that the transaction has changed, or a draft.
  private func scanByEngine(
    _ table: MDB_dbi, from start: RawSpan, _ body: (RawSpan, RawSpan, Bool) throws -> Bool
  ) throws {
    var isSuspect = try prepare(table, start, for: .readingForward)
    var cursor: OpaquePointer?
    // SAFETY: the cursor is closed before its transaction ends; spans of keys and values are valid until the
    // cursor moves on or the transaction writes, and `body` has returned by then.
    try StoreError.check(unsafe mdb_cursor_open(handle, table, &cursor), "mdb_cursor_open")
    defer { unsafe mdb_cursor_close(cursor) }
    var key = unsafe MDB_val()
    var value = unsafe MDB_val()
    var rc = unsafe start.withUnsafeBytes { bytes in
      unsafe key = MDB_val(
        mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      let operation = unsafe bytes.isEmpty ? MDB_FIRST : MDB_SET_RANGE
      return unsafe mdb_cursor_get(cursor, &key, &value, operation)
    }
    while rc == MDB_SUCCESS {
      let name = unsafe RawSpan(_unsafeStart: UnsafeRawPointer(key.mv_data), byteCount: key.mv_size)
      let bytes = unsafe RawSpan(
        _unsafeStart: UnsafeRawPointer(value.mv_data), byteCount: value.mv_size)
      isSuspect = try prepare(table, name, for: .readingForward) || bytes.byteCount > Self.inlineBytes
      guard try body(name, bytes, isSuspect) else { return }
      rc = unsafe mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
    }
    if rc != MDB_NOTFOUND { throw StoreError(engine: rc, "mdb_cursor_get") }
  }

  /// A longer value may be on overflow pages, which are checked when the value is read.
  static let inlineBytes = 1_024

  /// Prefetches the value at the same offset in the next page, which is likely to be read soon.
  ///
  /// Pages that were filled one after the other are adjacent. Fetching one takes as long as processing one.
  @inline(__always)
  private static func prefetch(_ value: RawSpan, _ byteCount: Int, pageBytes: Int) {
    unsafe value.withUnsafeBytes { bytes in
      let address = UInt(bitPattern: bytes.baseAddress) &+ UInt(pageBytes)
      dunlin_prefetch(address, min(bytes.count, byteCount))
      dunlin_prefetch(address & ~UInt(pageBytes - 1), 1)
    }
  }

  /// The longest value that is prefetched whole; for longer ones the processor detects the access pattern.
  private static let prefetchedBytes = 512

  /// Prefetches a value that is about to be read whole, so that its cache lines load in parallel.
  @inline(__always)
  static func prefetch(_ value: RawSpan) {
    unsafe value.withUnsafeBytes { bytes in
      dunlin_prefetch(UInt(bitPattern: bytes.baseAddress), min(bytes.count, prefetchedBytes))
    }
  }

  /// Opens a cursor in a table; the caller closes it before the transaction ends.
  func openCursor(_ table: MDB_dbi) throws(StoreError) -> OpaquePointer {
    var cursor: OpaquePointer?
    // SAFETY: the call fills the local handle.
    try StoreError.check(unsafe mdb_cursor_open(handle, table, &cursor), "mdb_cursor_open")
    guard let cursor = unsafe cursor else {
      throw StoreError(.io, "The engine gave no cursor", operation: "mdb_cursor_open")
    }
    return unsafe cursor
  }

  /// Passes the bytes at `key` to `body` and leaves the engine's cursor there.
  ///
  /// `body` is not called if there are none.
  @inline(__always)
  static func withValue<R>(
    _ cursor: OpaquePointer, _ key: RawSpan, _ body: (RawSpan) throws -> R
  ) throws -> R? {
    // SAFETY: the engine reads the key during the call only; the value stays in place until the
    // transaction ends or writes again, and neither happens while `body` runs.
    try unsafe key.withUnsafeBytes { bytes in
      var name = unsafe MDB_val(
        mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      var found = unsafe MDB_val()
      let rc = unsafe mdb_cursor_get(cursor, &name, &found, MDB_SET)
      if rc == MDB_NOTFOUND { return nil }
      try StoreError.check(rc, "mdb_cursor_get")
      return try unsafe body(
        RawSpan(_unsafeStart: UnsafeRawPointer(found.mv_data), byteCount: found.mv_size))
    }
  }

  /// Opens a named table, making it if `create` is set.
  func open(_ name: String, create: Bool) throws(StoreError) -> MDB_dbi {
    var table: MDB_dbi = 0
    // SAFETY: the name is read during the call only.
    let rc = unsafe mdb_dbi_open(handle, name, create ? UInt32(MDB_CREATE) : 0, &table)
    if rc == MDB_NOTFOUND {
      throw StoreError(
        .corrupt, "The store lacks its table \(name)", operation: "mdb_dbi_open", underlying: rc)
    }
    try StoreError.check(rc, "mdb_dbi_open")
    return table
  }

  /// Pages in use by `table`.
  func pageCount(_ table: MDB_dbi) throws(StoreError) -> Int {
    if let snapshot = unchanged(table) { return snapshot.roots[StoreTable(table)].pages }
    if StoreTable(table) == .side, !knowsSide { return 0 }
    var stat = MDB_stat()
    // SAFETY: the call fills the local structure.
    try StoreError.check(unsafe mdb_stat(handle, table, &stat), "mdb_stat")
    return stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages
  }
}
