import CLMDB
import CRDTCore

/// A place in a table such as that of rows, from which the next row in order is found without a search from
/// the root.
@safe struct RowCursor: ~Copyable {
  // SAFETY: whoever makes a cursor lets it go before its transaction ends.
  private let handle: OpaquePointer

  init(_ access: PageAccess, _ table: MDB_dbi) throws(StoreError) {
    unsafe handle = try access.openCursor(table)
  }

  deinit { unsafe mdb_cursor_close(handle) }

  /// Puts a row, in place of one that stands there.
  func put(_ key: RawSpan, _ value: RowValue) throws(StoreError) {
    // SAFETY: with MDB_RESERVE the engine hands out room that is filled before the next update.
    let rc = unsafe key.withUnsafeBytes { bytes in
      var name = unsafe MDB_val(
        mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      var room = unsafe MDB_val(mv_size: value.byteCount, mv_data: nil)
      let rc = unsafe mdb_cursor_put(handle, &name, &room, UInt32(MDB_RESERVE))
      if rc == MDB_SUCCESS {
        unsafe value.write(key, to: UnsafeMutableRawBufferPointer(start: room.mv_data, count: room.mv_size))
      }
      return rc
    }
    try StoreError.check(rc, "mdb_cursor_put")
  }

  /// Puts a value, in place of one that stands there.
  func put(_ key: RawSpan, _ value: RawSpan) throws(StoreError) {
    // SAFETY: the engine reads key and value during the call only.
    let rc = unsafe key.withUnsafeBytes { key in
      unsafe value.withUnsafeBytes { value in
        var name = unsafe MDB_val(
          mv_size: key.count, mv_data: UnsafeMutableRawPointer(mutating: key.baseAddress))
        var bytes = unsafe MDB_val(
          mv_size: value.count, mv_data: UnsafeMutableRawPointer(mutating: value.baseAddress))
        return unsafe mdb_cursor_put(handle, &name, &bytes, 0)
      }
    }
    try StoreError.check(rc, "mdb_cursor_put")
  }

  /// Removes the row under a key, if there is one.
  func remove(_ key: RawSpan) throws(StoreError) {
    guard try seek(key, MDB_SET) else { return }
    try StoreError.check(unsafe mdb_cursor_del(handle, 0), "mdb_cursor_del")
  }

  /// Removes rows from `key` on that begin with `prefix`, for as long as `more` says.
  ///
  /// - Returns: Whether there are none left.
  func removeAll(beginningWith prefix: RawSpan, while more: () -> Bool) throws(StoreError) -> Bool {
    while try seek(prefix, MDB_SET_RANGE) {
      guard try current(beginsWith: prefix) else { return true }
      guard more() else { return false }
      try StoreError.check(unsafe mdb_cursor_del(handle, 0), "mdb_cursor_del")
    }
    return true
  }

  private func current(beginsWith prefix: RawSpan) throws(StoreError) -> Bool {
    var name = unsafe MDB_val()
    var value = unsafe MDB_val()
    try StoreError.check(unsafe mdb_cursor_get(handle, &name, &value, MDB_GET_CURRENT), "mdb_cursor_get")
    let key = unsafe RawSpan(_unsafeStart: UnsafeRawPointer(name.mv_data), byteCount: name.mv_size)
    return key.byteCount >= prefix.byteCount && key.extracting(0..<prefix.byteCount).isEqual(to: prefix)
  }

  private func seek(_ key: RawSpan, _ operation: MDB_cursor_op) throws(StoreError) -> Bool {
    // SAFETY: the engine reads the key during the call only.
    let rc = unsafe key.withUnsafeBytes { bytes in
      var name = unsafe MDB_val(
        mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      var value = unsafe MDB_val()
      return unsafe mdb_cursor_get(handle, &name, &value, operation)
    }
    if rc == MDB_NOTFOUND { return false }
    try StoreError.check(rc, "mdb_cursor_get")
    return true
  }

  /// Visits rows from one end of `start..<end` to the other until `body` returns `false`.
  func scan(
    from start: RawSpan, to end: RawSpan, reversed: Bool, _ body: (RawSpan, RawSpan) throws -> Bool
  ) throws {
    var key = unsafe MDB_val()
    var value = unsafe MDB_val()
    // SAFETY: keys and values stay in place until the cursor moves or the transaction writes, and `body`
    // has returned by then.
    var rc = unsafe (reversed ? end : start).withUnsafeBytes { bytes in
      unsafe key = MDB_val(
        mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      let found = unsafe mdb_cursor_get(handle, &key, &value, MDB_SET_RANGE)
      guard reversed else { return found }
      if found == MDB_NOTFOUND { return unsafe mdb_cursor_get(handle, &key, &value, MDB_LAST) }
      return found == MDB_SUCCESS ? unsafe mdb_cursor_get(handle, &key, &value, MDB_PREV) : found
    }
    while rc == MDB_SUCCESS {
      let name = unsafe RawSpan(_unsafeStart: UnsafeRawPointer(key.mv_data), byteCount: key.mv_size)
      let bytes = unsafe RawSpan(_unsafeStart: UnsafeRawPointer(value.mv_data), byteCount: value.mv_size)
      guard reversed ? name.compare(start) >= 0 : name.compare(end) < 0 else { return }
      guard try body(name, bytes) else { return }
      rc = unsafe mdb_cursor_get(handle, &key, &value, reversed ? MDB_PREV : MDB_NEXT)
    }
    if rc != MDB_NOTFOUND { throw StoreError(engine: rc, "mdb_cursor_get") }
  }
}
