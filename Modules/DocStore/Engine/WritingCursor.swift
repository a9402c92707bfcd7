import CLMDB
import CRDTCore

/// A cursor of a write transaction in one table.
///
/// It replaces the entry that was looked up last without another search through the table's inner pages: the
/// engine first examines the page of the cursor.
// SAFETY: the caller that opens a cursor closes it before its transaction ends, and does not use it or its
// copies after that.
@safe struct WritingCursor {
  private let handle: OpaquePointer
  private let access: PageAccess
  private let table: MDB_dbi

  init(_ access: PageAccess, _ table: MDB_dbi) throws(StoreError) {
    unsafe handle = try access.openCursor(table)
    self.access = access
    self.table = table
  }

  func close() { unsafe mdb_cursor_close(handle) }

  /// Passes the bytes at `key` to `body` and stays there; `body` is not called if there are none.
  @inline(__always)
  func withValue<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R? {
    let isSuspect = try access.prepare(table, key)
    let result: R? = try unsafe PageAccess.withValue(handle, key, body)
    if result == nil, isSuspect { throw StoreError.damagedEntry(StoreTable(table)) }
    return result
  }

  /// Stores `byteCount` bytes at `key`, replacing an existing entry; `fill` writes them in place.
  func put(
    _ key: RawSpan, byteCount: Int, fill: (UnsafeMutableRawBufferPointer) -> Void
  ) throws(StoreError) {
    try access.prepare(table, key, for: .replacing)
    // SAFETY: with MDB_RESERVE the engine returns `byteCount` writable bytes, valid until the next update.
    let rc = unsafe key.withUnsafeBytes { bytes in
      var name = unsafe MDB_val(
        mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      var room = unsafe MDB_val(mv_size: byteCount, mv_data: nil)
      let rc = unsafe mdb_cursor_put(handle, &name, &room, UInt32(MDB_RESERVE))
      if rc == MDB_SUCCESS {
        unsafe fill(UnsafeMutableRawBufferPointer(start: room.mv_data, count: byteCount))
      }
      return rc
    }
    try StoreError.check(rc, "mdb_cursor_put")
  }
}
