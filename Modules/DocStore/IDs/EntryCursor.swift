import CLMDB
import CRDTCore

/// A cursor over the entries of a table, in key order.
@safe struct EntryCursor: ~Copyable {
  // SAFETY: the owner releases a cursor before its transaction ends. The entry's bytes stay in place until
  // the cursor moves or the transaction writes.
  private var engine: OpaquePointer?
  private var tree: TreeCursor?
  private let access: PageAccess
  private let table: MDB_dbi
  private var name = unsafe MDB_val()
  private var stored = unsafe MDB_val()
  private(set) var isAtEnd = false

  /// Decides what to do about a damaged page, see ``TreeCursor/passOver(after:_:)``.
  typealias Missed = (StoreError) throws(StoreError) -> Bool

  /// Begins at the first entry whose key is not below `start`.
  init(
    _ access: PageAccess, _ table: MDB_dbi, from start: RawSpan,
    missed: Missed = { (failure) throws(StoreError) in throw failure }
  ) throws(StoreError) {
    self.access = access
    self.table = table
    unsafe engine = nil
    tree = nil
    if let snapshot = access.unchanged(table) {
      var cursor = TreeCursor(snapshot, StoreTable(table))
      do throws(StoreError) {
        if start.byteCount == 0 { try cursor.go() } else { _ = try cursor.seek(start) }
      } catch {
        try cursor.passOver(after: error, missed)
      }
      tree = consume cursor
      settle()
    } else {
      try open(from: start)
    }
  }

  /// Opens one of the engine's cursors.
  private mutating func open(from start: RawSpan) throws(StoreError) {
    try access.prepare(table, start, for: .readingForward)
    let cursor = try unsafe access.openCursor(table)
    unsafe engine = cursor
    let rc = unsafe start.withUnsafeBytes { bytes in
      unsafe name = MDB_val(
        mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
      return unsafe mdb_cursor_get(
        cursor, &name, &stored, bytes.isEmpty ? MDB_FIRST : MDB_SET_RANGE)
    }
    isAtEnd = rc != MDB_SUCCESS
    if rc != MDB_SUCCESS, rc != MDB_NOTFOUND { throw StoreError(engine: rc, "mdb_cursor_get") }
  }

  deinit { if let engine = unsafe engine { unsafe mdb_cursor_close(engine) } }

  /// The entry's key; like ``value``, it has no meaning at the end.
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

  mutating func advance(
    missed: Missed = { (failure) throws(StoreError) in throw failure }
  ) throws(StoreError) {
    guard let engine = unsafe engine else {
      do throws(StoreError) { try tree?.advance() } catch { try tree?.passOver(after: error, missed) }
      return settle()
    }
    let here = unsafe RawSpan(_unsafeStart: UnsafeRawPointer(name.mv_data), byteCount: name.mv_size)
    try access.prepare(table, here, for: .readingForward)
    let rc = unsafe mdb_cursor_get(engine, &name, &stored, MDB_NEXT)
    isAtEnd = rc == MDB_NOTFOUND
    if !isAtEnd { try StoreError.check(rc, "mdb_cursor_get") }
  }

  /// Copies the location of the current entry on the verified pages.
  private mutating func settle() {
    guard tree?.isAtEnd == false, let (key, value) = tree?.entryBytes else {
      isAtEnd = true
      return
    }
    unsafe name = MDB_val(mv_size: key.count, mv_data: UnsafeMutableRawPointer(mutating: key.start))
    unsafe stored = MDB_val(
      mv_size: value.count, mv_data: UnsafeMutableRawPointer(mutating: value.start))
  }
}
