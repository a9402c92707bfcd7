import CLMDB
import CRDTCore

/// A cursor for looking up keys: those near the last one are found without a search from the root.
@safe struct PointCursor: ~Copyable {
  // SAFETY: whoever makes a cursor lets it go before its transaction ends.
  private let handle: OpaquePointer

  init(_ access: PageAccess, _ table: MDB_dbi) throws(StoreError) {
    unsafe handle = try access.openCursor(table)
  }

  /// Visits the keys and values on the page where `key`, which must be there, stands.
  ///
  /// Where the page ends is told by addresses; in a transaction that has written, it may be more or less.
  borrowing func forEachOnPage(of key: RawSpan, _ body: (RawSpan, RawSpan) throws -> Void) throws {
    for step in [MDB_PREV, MDB_NEXT] {
      // SAFETY: the engine reads the key during the call only; what it points to stays in place until the
      // transaction ends or writes again, and neither happens while `body` runs.
      try unsafe key.withUnsafeBytes { bytes in
        var name = unsafe MDB_val(
          mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
        var value = unsafe MDB_val()
        // From here on `name` points to the page.
        var rc = unsafe mdb_cursor_get(handle, &name, &value, MDB_SET_KEY)
        let page = unsafe UInt(bitPattern: name.mv_data) / UInt(Environment.pageBytes)
        while rc == MDB_SUCCESS {
          guard unsafe UInt(bitPattern: name.mv_data) / UInt(Environment.pageBytes) == page else { break }
          try unsafe body(
            RawSpan(_unsafeStart: UnsafeRawPointer(name.mv_data), byteCount: name.mv_size),
            RawSpan(_unsafeStart: UnsafeRawPointer(value.mv_data), byteCount: value.mv_size))
          rc = unsafe mdb_cursor_get(handle, &name, &value, step)
        }
        if rc != MDB_SUCCESS, rc != MDB_NOTFOUND { throw StoreError(engine: rc, "mdb_cursor_get") }
      }
    }
  }

  deinit { unsafe mdb_cursor_close(handle) }

  /// Hands the bytes at `key` to `body`; nothing happens when there are none.
  @inline(__always)
  borrowing func withValue<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R? {
    try unsafe PageAccess.withValue(handle, key, body)
  }
}
