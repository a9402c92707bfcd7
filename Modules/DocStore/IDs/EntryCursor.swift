import CLMDB
import CRDTCore

/// A place among the entries of a table, which moves from one to the next.
@safe struct EntryCursor: ~Copyable {
  // SAFETY: whoever makes a cursor lets it go before its transaction ends. The entry's bytes stay in place
  // until the cursor moves or the transaction writes.
  private let handle: OpaquePointer
  private var name: MDB_val
  private var stored: MDB_val
  private(set) var isAtEnd: Bool

  /// Stands at the first entry whose key is not below `start`.
  init(_ access: PageAccess, _ table: MDB_dbi, from start: RawSpan) throws(StoreError) {
    var handle: OpaquePointer?
    try StoreError.check(unsafe mdb_cursor_open(access.handle, table, &handle), "mdb_cursor_open")
    guard let handle = unsafe handle else {
      throw StoreError(.io, "The engine gave no cursor", operation: "mdb_cursor_open")
    }
    var name = unsafe MDB_val()
    var stored = unsafe MDB_val()
    let rc = unsafe start.withUnsafeBytes { bytes in
      unsafe name = MDB_val(
        mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      return unsafe mdb_cursor_get(handle, &name, &stored, bytes.isEmpty ? MDB_FIRST : MDB_SET_RANGE)
    }
    if rc != MDB_SUCCESS, rc != MDB_NOTFOUND {
      unsafe mdb_cursor_close(handle)
      throw StoreError(engine: rc, "mdb_cursor_get")
    }
    unsafe self.handle = handle
    unsafe self.name = name
    unsafe self.stored = stored
    isAtEnd = rc == MDB_NOTFOUND
  }

  deinit { unsafe mdb_cursor_close(handle) }

  /// Of no meaning at the end, like ``value``.
  var key: RawSpan {
    @_lifetime(borrow self)
    borrowing get { unsafe Self.span(name, of: self) }
  }

  var value: RawSpan {
    @_lifetime(borrow self)
    borrowing get { unsafe Self.span(stored, of: self) }
  }

  @_lifetime(borrow cursor)
  private static func span(_ bytes: MDB_val, of cursor: borrowing EntryCursor) -> RawSpan {
    guard let start = unsafe bytes.mv_data else { return RawSpan() }
    let span = unsafe RawSpan(_unsafeStart: UnsafeRawPointer(start), byteCount: bytes.mv_size)
    return unsafe _overrideLifetime(span, borrowing: cursor)
  }

  mutating func advance() throws(StoreError) {
    let rc = unsafe mdb_cursor_get(handle, &name, &stored, MDB_NEXT)
    isAtEnd = rc == MDB_NOTFOUND
    if !isAtEnd { try StoreError.check(rc, "mdb_cursor_get") }
  }
}
