import CLMDB
import CRDTCore

/// A cursor in a table such as that of rows; it finds the next row without a search from the root.
@safe struct RowCursor: ~Copyable {
  private let place: TablePlace

  init(_ access: PageAccess, _ table: MDB_dbi) throws(StoreError) {
    place = try TablePlace(access, table)
  }

  /// Stores a row, and replaces an existing one.
  func put(_ key: RawSpan, _ value: RowValue) throws(StoreError) {
    let handle = try unsafe place.writing(key, for: .replacing)
    // SAFETY: with MDB_RESERVE the engine returns room that is filled before the next update.
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

  /// Stores a value, and replaces an existing one.
  func put(_ key: RawSpan, _ value: RawSpan) throws(StoreError) {
    let handle = try unsafe place.writing(key, for: .replacing)
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
    let handle = try unsafe place.writing(key, for: .neighbours)
    guard try unsafe seek(handle, key, MDB_SET) else { return }
    try StoreError.check(unsafe mdb_cursor_del(handle, 0), "mdb_cursor_del")
  }

  /// Removes rows from `prefix` on that begin with it, as long as `more` returns `true`.
  ///
  /// - Returns: Whether none are left.
  func removeAll(beginningWith prefix: RawSpan, while more: () -> Bool) throws(StoreError) -> Bool {
    while true {
      let handle = try unsafe place.writing(prefix, for: .neighbours)
      guard try unsafe seek(handle, prefix, MDB_SET_RANGE) else { return true }
      guard try unsafe isReady(handle, beginningWith: prefix) else { return true }
      guard more() else { return false }
      try StoreError.check(unsafe mdb_cursor_del(handle, 0), "mdb_cursor_del")
    }
  }

  /// Whether the cursor's row begins with `prefix`; then prepares its removal.
  private func isReady(_ handle: OpaquePointer, beginningWith prefix: RawSpan) throws(StoreError) -> Bool {
    var name = unsafe MDB_val()
    var value = unsafe MDB_val()
    try StoreError.check(unsafe mdb_cursor_get(handle, &name, &value, MDB_GET_CURRENT), "mdb_cursor_get")
    let key = unsafe RawSpan(_unsafeStart: UnsafeRawPointer(name.mv_data), byteCount: name.mv_size)
    guard key.byteCount >= prefix.byteCount, key.extracting(0..<prefix.byteCount).isEqual(to: prefix) else {
      return false
    }
    _ = try unsafe place.writing(key, for: .neighbours)
    return true
  }

  private func seek(_ handle: OpaquePointer, _ key: RawSpan, _ operation: MDB_cursor_op) throws(StoreError)
    -> Bool
  {
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
    try place.scan(from: start, to: end, reversed: reversed) { key, value, isSuspect in
      // A row of the range may be missing on a page with damaged entries.
      if isSuspect { throw StoreError.damagedEntry(.rows) }
      return try body(key, value)
    }
  }
}
