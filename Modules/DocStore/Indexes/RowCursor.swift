import CLMDB
import CRDTCore

/// A place in a table such as that of rows, from which the next row in order is found without a search from
/// the root.
@safe struct RowCursor: ~Copyable {
  private let place: TablePlace

  init(_ access: PageAccess, _ table: MDB_dbi) throws(StoreError) {
    place = try TablePlace(access, table)
  }

  /// Puts a row, in place of one that stands there.
  func put(_ key: RawSpan, _ value: RowValue) throws(StoreError) {
    let handle = try unsafe place.writing(key, for: .replacing)
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

  /// Removes rows from `key` on that begin with `prefix`, for as long as `more` says.
  ///
  /// - Returns: Whether there are none left.
  func removeAll(beginningWith prefix: RawSpan, while more: () -> Bool) throws(StoreError) -> Bool {
    while true {
      let handle = try unsafe place.writing(prefix, for: .neighbours)
      guard try unsafe seek(handle, prefix, MDB_SET_RANGE) else { return true }
      guard try unsafe isReady(handle, beginningWith: prefix) else { return true }
      guard more() else { return false }
      try StoreError.check(unsafe mdb_cursor_del(handle, 0), "mdb_cursor_del")
    }
  }

  /// Whether the row where the cursor stands begins with `prefix`; then it may be removed.
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
      // On such a page a row may be missing from the range.
      if isSuspect { throw StoreError.damagedEntry(.rows) }
      return try body(key, value)
    }
  }
}
