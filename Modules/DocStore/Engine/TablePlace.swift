import CLMDB
import CRDTCore

/// A position in a table.
///
/// It is in the verified pages as long as the transaction has not changed the table. After that it is one of
/// the engine's cursors, which only reads pages that ``PageAccess/prepare(_:_:)`` has verified.
// SAFETY: the owner releases it before its transaction ends; one thread at a time uses it.
@safe final class TablePlace {
  private let access: PageAccess
  private let table: MDB_dbi
  @exclusivity(unchecked) private var engine: OpaquePointer?
  @exclusivity(unchecked) private var tree: TreeCursor?

  init(_ access: PageAccess, _ table: MDB_dbi) throws(StoreError) {
    self.access = access
    self.table = table
    if let snapshot = access.unchanged(table) {
      unsafe engine = nil
      unsafe tree = TreeCursor(snapshot, StoreTable(table))
    } else {
      unsafe engine = try access.openCursor(table)
      unsafe tree = nil
    }
  }

  deinit { if let engine = unsafe engine { unsafe mdb_cursor_close(engine) } }

  /// The engine's cursor, for writing.
  func writing(_ key: RawSpan, for use: WriteUse) throws(StoreError) -> OpaquePointer {
    try access.prepare(table, key, for: use)
    if let engine = unsafe engine { return unsafe engine }
    return try unsafe openEngine()
  }

  private func openEngine() throws(StoreError) -> OpaquePointer {
    guard access.reading == nil else {
      throw StoreError(.closed, "A snapshot cannot be written to", operation: "write")
    }
    let cursor = try unsafe access.openCursor(table)
    unsafe engine = cursor
    unsafe tree = nil
    return unsafe cursor
  }

  /// The engine's cursor for reading, if the table has changed.
  @inline(__always)
  private func changed() throws(StoreError) -> OpaquePointer? {
    if let engine = unsafe engine { return unsafe engine }
    if access.unchanged(table) != nil { return nil }
    return try unsafe openEngine()
  }

  /// Passes `body` the bytes at `key`, and whether they must be checked before the caller relies on them.
  @inline(__always)
  func withValue<R>(_ key: RawSpan, _ body: (RawSpan, Bool) throws -> R) throws -> R? {
    guard let engine = try unsafe changed() else {
      guard try unsafe tree?.find(key) == true else {
        try unsafe tree?.checkAbsence()
        return nil
      }
      let isSuspect = unsafe tree?.isSuspect ?? true
      guard let value = unsafe tree?.valueBytes else { return nil }
      return try unsafe body(RawSpan(_unsafeStart: value.start, byteCount: value.count), isSuspect)
    }
    let isSuspect = try access.prepare(table, key, for: .looking)
    let result: R? = try unsafe PageAccess.withValue(engine, key) { value in
      try body(value, isSuspect || value.byteCount > PageAccess.inlineBytes)
    }
    if result == nil, isSuspect { throw StoreError.damagedEntry(StoreTable(table)) }
    return result
  }

  /// See ``PointCursor/forEachOnPage(of:_:)``.
  func forEachOnPage(of key: RawSpan, _ body: (RawSpan, RawSpan) throws -> Bool) throws {
    guard let engine = try unsafe changed() else {
      guard try unsafe tree?.find(key) == true, let count = unsafe tree?.count else { return }
      for index in 0..<count {
        guard let (name, value) = unsafe tree?.entryBytes(index) else { return }
        let goesOn = try unsafe body(
          RawSpan(_unsafeStart: name.start, byteCount: name.count),
          RawSpan(_unsafeStart: value.start, byteCount: value.count))
        guard goesOn else { return }
      }
      return
    }
    let pageBytes = access.pageBytes
    var goesOn = true
    for step in [MDB_PREV, MDB_NEXT] where goesOn {
      try access.prepare(table, key, for: .reading)
      // SAFETY: the engine reads the key during the call only; its target stays in place until the
      // transaction ends or writes again, and neither happens while `body` runs.
      try unsafe key.withUnsafeBytes { bytes in
        var name = unsafe MDB_val(
          mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
        var value = unsafe MDB_val()
        // From here on `name` points to the page.
        var rc = unsafe mdb_cursor_get(engine, &name, &value, MDB_SET_KEY)
        let page = unsafe UInt(bitPattern: name.mv_data) / UInt(pageBytes)
        while rc == MDB_SUCCESS, goesOn {
          guard unsafe UInt(bitPattern: name.mv_data) / UInt(pageBytes) == page else {
            break
          }
          let found = unsafe RawSpan(
            _unsafeStart: UnsafeRawPointer(name.mv_data), byteCount: name.mv_size)
          goesOn = try unsafe body(
            found, RawSpan(_unsafeStart: UnsafeRawPointer(value.mv_data), byteCount: value.mv_size))
          try access.prepare(table, found, for: .reading)
          rc = unsafe mdb_cursor_get(engine, &name, &value, step)
        }
        if rc != MDB_SUCCESS, rc != MDB_NOTFOUND { throw StoreError(engine: rc, "mdb_cursor_get") }
      }
    }
  }

  /// Visits entries from one end of `start..<end` to the other until `body` returns `false`.
  func scan(
    from start: RawSpan, to end: RawSpan, reversed: Bool,
    _ body: (RawSpan, RawSpan, Bool) throws -> Bool
  ) throws {
    guard let engine = try unsafe changed() else {
      return try scanTree(from: start, to: end, reversed: reversed, body)
    }
    try access.prepare(table, reversed ? end : start, for: .reading)
    var key = unsafe MDB_val()
    var value = unsafe MDB_val()
    // SAFETY: keys and values stay in place until the cursor moves or the transaction writes, and `body`
    // has returned by then.
    var rc = unsafe (reversed ? end : start).withUnsafeBytes { bytes in
      unsafe key = MDB_val(
        mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      let found = unsafe mdb_cursor_get(engine, &key, &value, MDB_SET_RANGE)
      guard reversed else { return found }
      if found == MDB_NOTFOUND { return unsafe mdb_cursor_get(engine, &key, &value, MDB_LAST) }
      return found == MDB_SUCCESS ? unsafe mdb_cursor_get(engine, &key, &value, MDB_PREV) : found
    }
    while rc == MDB_SUCCESS {
      let name = unsafe RawSpan(_unsafeStart: UnsafeRawPointer(key.mv_data), byteCount: key.mv_size)
      let bytes = unsafe RawSpan(
        _unsafeStart: UnsafeRawPointer(value.mv_data), byteCount: value.mv_size)
      guard reversed ? name.compare(start) >= 0 : name.compare(end) < 0 else { return }
      guard try body(name, bytes, access.prepare(table, name, for: .reading)) else { return }
      rc = unsafe mdb_cursor_get(engine, &key, &value, reversed ? MDB_PREV : MDB_NEXT)
    }
    if rc != MDB_NOTFOUND { throw StoreError(engine: rc, "mdb_cursor_get") }
  }

  private func scanTree(
    from start: RawSpan, to end: RawSpan, reversed: Bool,
    _ body: (RawSpan, RawSpan, Bool) throws -> Bool
  ) throws {
    guard let snapshot = access.unchanged(table) else { return }
    var cursor = TreeCursor(snapshot, StoreTable(table))
    _ = try cursor.seek(reversed ? end : start)
    if reversed {
      if cursor.isAtEnd { try cursor.go(toLast: true) } else { try cursor.retreat() }
    }
    while !cursor.isAtEnd {
      guard reversed ? cursor.key.compare(start) >= 0 : cursor.key.compare(end) < 0 else { return }
      guard try body(cursor.key, cursor.value, cursor.hasDamagedEntries) else { return }
      if reversed { try cursor.retreat() } else { try cursor.advance() }
    }
  }
}
